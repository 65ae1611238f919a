"use strict";
// An animated GIF, written byte by byte: 256 colours for the whole film, LZW as the format wants it.
{
  const MOST_COLOURS = 256, MOST_CODES = 4096;

  // All that is drawn is a blend of two colours of the theme: as many shades between each pair as there is room for.
  function shades(pairs) {
    const steps = Math.floor(MOST_COLOURS / pairs.length);
    const colours = pairs.flatMap(([from, to]) => Array.from({ length: steps }, (_, step) => (
      from.map((value, channel) => Math.round(value + (to[channel] - value) * step / (steps - 1)))
    )));
    while (colours.length < MOST_COLOURS) colours.push([0, 0, 0]);
    return colours;
  }

  class Gif {
    // `pairs` are colours [red, green, blue] between which all others lie.
    constructor(width, height, pairs) {
      Object.assign(this, { width, height, bytes: [], nearest: new Map(), colours: shades(pairs) });
      this.#text("GIF89a");
      this.#short(width);
      this.#short(height);
      this.bytes.push(0xf7, 0, 0, ...this.colours.flat());
      this.bytes.push(0x21, 0xff, 11);
      this.#text("NETSCAPE2.0");
      this.bytes.push(3, 1, 0, 0, 0);
    }

    // One frame of RGBA pixels, to be seen for so many milliseconds.
    add(pixels, milliseconds) {
      this.bytes.push(0x21, 0xf9, 4, 0);
      this.#short(Math.max(2, Math.round(milliseconds / 10)));
      this.bytes.push(0, 0, 0x2c);
      for (const value of [0, 0, this.width, this.height]) this.#short(value);
      this.bytes.push(0, 8);
      const indices = new Uint8Array(this.width * this.height);
      for (let at = 0; at < indices.length; at += 1) indices[at] = this.#index(pixels[4 * at], pixels[4 * at + 1], pixels[4 * at + 2]);
      this.#blocks(lzw(indices));
    }

    end() {
      this.bytes.push(0x3b);
      return Uint8Array.from(this.bytes);
    }

    #index(r, g, b) {
      const key = r << 16 | g << 8 | b;
      if (!this.nearest.has(key)) {
        let best = 0, least = Infinity;
        this.colours.forEach(([red, green, blue], index) => {
          const distance = (red - r) ** 2 + (green - g) ** 2 + (blue - b) ** 2;
          if (distance < least) [best, least] = [index, distance];
        });
        this.nearest.set(key, best);
      }
      return this.nearest.get(key);
    }

    #text(letters) {
      for (const letter of letters) this.bytes.push(letter.charCodeAt(0));
    }

    #short(value) {
      this.bytes.push(value & 255, value >> 8);
    }

    #blocks(data) {
      for (let at = 0; at < data.length; at += 255) {
        const part = data.slice(at, at + 255);
        this.bytes.push(part.length);
        for (const byte of part) this.bytes.push(byte);
      }
      this.bytes.push(0);
    }
  }

  // Codes grow from 9 to 12 bits; when all are used, the table is cleared.
  function lzw(indices) {
    const CLEAR = 256, END = 257, out = [];
    let table = new Map(), size = 9, next = 258, buffer = 0, held = 0;
    const emit = (code) => {
      buffer |= code << held;
      held += size;
      while (held >= 8) {
        out.push(buffer & 255);
        buffer >>>= 8;
        held -= 8;
      }
    };
    emit(CLEAR);
    let prefix = indices[0];
    for (let at = 1; at < indices.length; at += 1) {
      const key = prefix << 8 | indices[at], known = table.get(key);
      if (known !== undefined) {
        prefix = known;
        continue;
      }
      emit(prefix);
      if (next === MOST_CODES) {
        emit(CLEAR);
        table = new Map();
        size = 9;
        next = 258;
      } else {
        if (next === 1 << size) size += 1;
        table.set(key, next);
        next += 1;
      }
      prefix = indices[at];
    }
    emit(prefix);
    emit(END);
    out.push(buffer & 255);
    return out;
  }

  Object.assign(gridsum, { Gif });
}
