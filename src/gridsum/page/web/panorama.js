"use strict";
// Grids that are too large to show whole: an overview of all cells, and a window on some of them that follows the action.
{
  const { clamp, theme } = gridsum;
  const STRIP = 26, GAP = 18;
  const tallest = () => clamp(0.42 * innerHeight, 240, 480); // so that the sentence stays in sight
  const SAMPLES = 4; // cells that are looked at for one pixel of the overview

  class Panorama {
    constructor(film) {
      this.film = film;
      this.follow = true;
      this.corner = null; // the first row and column in the window
      this.overview = document.createElement("canvas");
    }

    layOut(width) {
      const { height: rows, width: columns } = this.film.scene.size;
      const cell = width < 520 ? 30 : 40, tall = tallest();
      const upright = rows * cell > tall && rows > columns; // then the overview stands beside the window
      const side = upright ? clamp(columns * 2, 40, width / 4) : 0;
      const strip = upright ? tall : clamp(rows, STRIP, 160);
      const seen = { columns: Math.min(columns, Math.floor((width - side - (side && GAP)) / cell)), rows: Math.min(rows, Math.floor(tall / cell)) };
      const margin = Math.floor((width - (side && side + GAP) - seen.columns * cell) / 2);
      const map = upright ? { x: margin, y: 4, width: side, height: tall } : { x: 0, y: 4, width, height: strip };
      const left = upright ? margin + side + GAP : margin, top = upright ? 4 : strip + 4 + GAP;
      this.place = {
        cell, left, top, rows: seen.rows, columns: seen.columns, width, map, labels: false, panorama: true,
        height: Math.max(top + seen.rows * cell, map.y + map.height) + 6,
      };
      this.corner ??= { row: Math.max(0, rows - seen.rows), column: columns - seen.columns };
      this.#keepInside();
      return this.place;
    }

    #keepInside() {
      const { height, width } = this.film.scene.size, { rows, columns } = this.place;
      this.corner = { row: clamp(this.corner.row, 0, height - rows), column: clamp(this.corner.column, 0, width - columns) };
    }

    move(rows, columns) {
      this.follow = false;
      this.corner = { row: this.corner.row + rows, column: this.corner.column + columns };
      this.#keepInside();
    }

    // Puts the window where a point of the overview is.
    jump(x, y) {
      const { map, rows, columns } = this.place, { height, width } = this.film.scene.size;
      this.follow = false;
      this.corner = { row: (y - map.y) / map.height * height - rows / 2, column: (x - map.x) / map.width * width - columns / 2 };
      this.#keepInside();
    }

    inMap(x, y) {
      const { map } = this.place;
      return x >= map.x && x < map.x + map.width && y >= map.y && y < map.y + map.height;
    }

    // The window goes towards the lowest row that still changes, and in it towards the right end of what changes.
    chase(step) {
      if (!this.follow || step < 1) return;
      const { scene } = this.film, { width } = scene.size, { rows, columns } = this.place;
      const focus = lastDifference(scene.at(step - 1), scene.at(step));
      if (focus < 0) return;
      const row = Math.floor(focus / width), column = focus % width;
      const wanted = { row: row - rows * 0.7, column: column - columns * 0.6 };
      const inside = Math.abs(wanted.column - this.corner.column) < columns / 3 && Math.abs(wanted.row - this.corner.row) < rows / 2;
      const pull = inside ? 0.15 : 1;
      this.corner = {
        row: this.corner.row + pull * (wanted.row - this.corner.row), column: this.corner.column + pull * (wanted.column - this.corner.column),
      };
      this.#keepInside();
    }

    draw(pen, moment) {
      const { film, place } = this, step = Math.max(0, film.stepAt(moment)), state = film.scene.at(step);
      this.#drawOverview(pen, state, step);
      const { rightward } = gridsum.operations[film.scene.rule.sign], { width } = film.scene.size, first = { row: Math.round(this.corner.row), column: Math.round(this.corner.column) };
      for (let row = 0; row < place.rows; row += 1) {
        for (let count = 0; count < place.columns; count += 1) {
          const column = rightward ? place.columns - 1 - count : count;
          const index = (first.row + row) * width + first.column + column;
          const cell = film.scene.cell(state, index, step);
          gridsum.drawCell(pen, place, {
            row, column, t: 1, top: first.row + row === 0, symbol: gridsum.symbolOf(film.scene, index), begun: step > 0 || film.computation.disturbed ? 1 : 0,
            old: cell, now: cell, rightward,
          });
        }
      }
      this.first = first;
    }

    #drawOverview(pen, state, step) {
      const { film: { scene }, place: { map, rows, columns } } = this, { height, width } = scene.size, colours = theme();
      const across = Math.round(map.width), down = Math.round(map.height);
      Object.assign(this.overview, { width: across, height: down });
      const context = this.overview.getContext("2d"), image = context.createImageData(across, down);
      const paint = [colours.paper, colours.faint, colours.quiet, colours.accent].map(pixel), pixels = new Uint32Array(image.data.buffer);
      for (let y = 0, before = -1; y < down; y += 1) {
        const row = Math.floor(y / down * height);
        if (row === before) {
          pixels.copyWithin(y * across, (y - 1) * across, y * across);
          continue;
        }
        before = row;
        for (let x = 0; x < across; x += 1) {
          pixels[y * across + x] = paint[kindAt(scene, state, step, row, x / across * width, width / across)];
        }
      }
      context.putImageData(image, 0, 0);
      pen.image(this.overview, map.x, map.y, map.width, map.height);
      pen.rect(map.x, map.y, map.width, map.height, { stroke: colours.line });
      const frame = {
        x: map.x + this.corner.column / width * map.width, y: map.y + this.corner.row / height * map.height,
        width: Math.max(5, columns / width * map.width), height: Math.max(5, rows / height * map.height),
      };
      pen.rect(frame.x - 1, frame.y - 1, frame.width + 2, frame.height + 2, { stroke: colours.ink, thick: 2, radius: 3 });
    }
  }

  // The most telling of the cells of one pixel.
  function kindAt(scene, state, step, row, start, span) {
    const { width } = scene.size, end = Math.min(width, start + Math.max(1, span));
    let kind = 0;
    for (let column = start, seen = 0; column < end && seen < SAMPLES; column += Math.max(1, span / SAMPLES), seen += 1) {
      kind = Math.max(kind, scene.kind(state, row * width + Math.floor(column), step));
    }
    return kind;
  }

  function lastDifference(before, after) {
    if (!(before instanceof Uint8Array) || before === after) return -1;
    for (let index = after.length - 1; index >= 0; index -= 1) if (before[index] !== after[index]) return index;
    return -1;
  }

  const known = new Map();
  // A colour as the four bytes of a pixel.
  function pixel(colour) {
    if (!known.has(colour)) {
      const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
      known.set(colour, new Uint32Array(context.getImageData(0, 0, 1, 1).data.buffer)[0]);
    }
    return known.get(colour);
  }

  Object.assign(gridsum, { Panorama });
}
