"use strict";
// The card of one cell: what it holds, what it sees, its bits; each bit can be flipped.
{
  const { html, count } = gridsum;

  function describe(rule, code) {
    if (code === rule.outside) return "the border";
    if (code === 0) return "the start";
    const { digit, carry } = rule.meanings[code];
    if (digit === null) return "blank";
    return carry ? `${digit} with a carry` : `${digit}`;
  }

  // The code nearest to one with that bit the other way: a cell can only be in the states of the table.
  function flipped(rule, code, bit) {
    const wanted = rule.codes[code] ^ (1 << bit);
    const distance = (other) => {
      let rest = rule.codes[other] ^ wanted, bits = 0;
      for (; rest; rest &= rest - 1) bits += 1;
      return bits;
    };
    const able = rule.codes.map((_, other) => other).filter((other) => ((rule.codes[other] ^ wanted) >> bit & 1) === 0);
    return able.reduce((best, other) => (distance(other) < distance(best) ? other : best));
  }

  class Inspector {
    // `disturb(codes)` is told the codes of all cells once one of them is changed.
    constructor(element, player, disturb) {
      Object.assign(this, { element, player, disturb });
      element.setAttribute("aria-live", "polite");
    }

    show() {
      const { player: { film, chosen } } = this;
      if (!chosen || !film) {
        this.element.replaceChildren();
        return;
      }
      this.element.replaceChildren(film.computation.rule ? this.#ofRule() : this.#ofPaper());
    }

    #place() {
      const { chosen: { row, column }, film: { scene } } = this.player;
      const symbol = scene.symbols[row * scene.size.width + column];
      const holds = symbol === gridsum.EMPTY ? "no symbol" : `the symbol ${"0123456789+"[symbol]}`;
      return { title: `Row ${count(row + 1)}, column ${count(scene.size.width - column)} from the right`, holds };
    }

    #ofRule() {
      const { chosen: { row, column }, film, step } = this.player, { computation } = film, { rule, size } = computation;
      const codes = computation.at(Math.max(0, step)), index = row * size.width + column, code = codes[index];
      const near = (down, across) => {
        const r = row + down, c = column + across;
        return r >= size.height || c < 0 || c >= size.width ? rule.outside : codes[r * size.width + c];
      };
      const { title, holds } = this.#place();
      const sees = `It sees ${describe(rule, near(0, -1))} on its left, ${describe(rule, near(0, 1))} on its right, ${describe(rule, near(1, 0))} below.`;
      return html("div", { class: "cell-card" },
        html("h3", {}, title),
        html("p", {}, `It holds ${holds}. Its state is ${describe(rule, code)}. ${sees}`),
        html("div", { class: "bits" }, ...this.#bits(rule, code, (bit) => {
          const start = codes.slice();
          start[index] = flipped(rule, code, bit);
          this.disturb(start);
        }), html("span", { class: "quiet" }, "Flip a bit: it heals.")));
    }

    #bits(rule, code, flip) {
      const carry = new Set(rule.carryBits.map(({ bit }) => bit));
      return Array.from({ length: rule.bits }, (_, place) => {
        const bit = rule.bits - 1 - place, on = rule.codes[code] >> bit & 1;
        const what = carry.has(bit) ? `Bit ${bit}, the carry` : `Bit ${bit}`;
        return html("button", {
          type: "button", class: `${on ? "on" : ""}${carry.has(bit) ? " carry-bit" : ""}`, "aria-label": `${what}: ${on}. Flip it`, title: what,
          onclick: () => flip(bit),
        }, String(on));
      });
    }

    #ofPaper() {
      const { chosen: { row, column }, film: { scene }, step } = this.player;
      const { title, holds } = this.#place(), { symbols, confidence } = scene.at(Math.max(0, step));
      const index = row * scene.size.width + column, reads = " 0123456789+="[symbols[index]].trim() || "a blank";
      return html("div", { class: "cell-card" }, html("h3", {}, title),
        html("p", {}, `It holds ${holds} and reads as ${reads}, ${Math.round(100 * confidence[index])} % sure.`));
    }
  }

  Object.assign(gridsum, { Inspector, describe, flipped });
}
