"use strict";
// The card of one cell: what it adds, its bits, its line of the rule, its square in the map of the proof. It follows the
// film, and each bit can be flipped.
{
  const { html, t } = gridsum;

  function describe(rule, state, short = false, carry = rule.hands[state]) {
    if (state === rule.outside) return t("state.border");
    const digit = rule.text(state);
    if (!digit) return t(state === 0 ? "state.start" : carry ? "state.blank-carry" : "state.blank");
    return carry ? rule.t(short ? "state.carry-short" : "state.carry", { digit, carry }) : digit;
  }

  const symbolName = (rule, symbol) => (symbol === rule.empty ? t("state.nothing") : symbol === rule.signCell ? gridsum.shown(rule.sign) : gridsum.DIGITS[symbol]);

  // The state nearest to one with that bit the other way: a cell can only be in the states of the table.
  function flipped(rule, state, bit) {
    const wanted = rule.states[state] ^ (1 << bit);
    const distance = (other) => {
      let rest = rule.states[other] ^ wanted, bits = 0;
      for (; rest; rest &= rest - 1) bits += 1;
      return bits;
    };
    const able = rule.states.map((_, other) => other).filter((other) => ((rule.states[other] ^ wanted) >> bit & 1) === 0);
    return able.reduce((best, other) => (distance(other) < distance(best) ? other : best));
  }

  // What a cell sees at a step: its symbol, and the states around it.
  function contextOf({ symbols, rule, size: { height, width } }, states, { row, column }) {
    const near = (down, across) => {
      const r = row + down, c = column + across;
      return r >= height || c < 0 || c >= width ? rule.outside : states[r * width + c];
    };
    const index = row * width + column;
    return { x: symbols[index], left: near(0, -1), right: near(0, 1), below: near(1, 0), own: states[index] };
  }

  class Inspector {
    // `shown(context, rule)` is told what the chosen cell sees, so that it lights up elsewhere; null where none is chosen.
    constructor(element, player, shown = () => {}) {
      Object.assign(this, { element, player, shown });
      this.title = html("p", { class: "cell-title" });
      this.sum = html("p", { class: "cell-sum" });
      this.line = html("p");
      this.bits = html("div", { class: "bits", role: "group", "aria-label": t("cell.bits") });
      this.map = html("canvas", { width: 1, height: 1, "aria-hidden": "true" });
      this.way = html("a", { href: "#proof", class: "cell-map" }, this.map, t("cell.proof"));
      this.card = html("div", { class: "cell-card", hidden: true }, html("div", {}, this.title, this.sum, this.line, this.bits), this.way);
      element.append(this.card);
    }

    show() {
      const { player: { film, chosen, step } } = this;
      this.card.hidden = !chosen || !film;
      if (this.card.hidden) return this.shown(null);
      const { row, column } = chosen, { scene, computation } = film;
      this.title.textContent = t("cell.title", { row: row + 1, column: scene.size.width - column });
      this.bits.hidden = !computation.rule;
      this.way.hidden = computation.rule?.kind !== "add";
      return computation.rule ? this.#ofRule(computation, Math.max(0, step)) : this.#ofNetwork(scene, Math.max(0, step));
    }

    #ofRule(computation, step) {
      const { rule, size: { width, height } } = computation, { chosen } = this.player, states = computation.at(step);
      const seen = contextOf(computation, states, chosen), { x, left, right, below, own } = seen, index = chosen.row * width + chosen.column;
      const ground = chosen.row === height - 1, name = (state) => describe(rule, state);
      this.sum.textContent = ground ? t("cell.ground") : gridsum.sentenceOf(rule, gridsum.columnAt(computation, states, index));
      this.line.textContent = `${t("cell.state", { state: describe(rule, own, false, rule.name(computation.carryAt(states, index))) })} ${t("cell.line", {
        symbol: symbolName(rule, x), left: name(left), right: name(right), below: name(below), after: name(rule.after(x, left, right, below)),
      })}`;
      this.#drawBits(rule, own, (bit) => this.player.damageAndHeal([index], [flipped(rule, own, bit)]));
      this.shown(seen, rule);
    }

    // The buttons stay the same ones, so that the focus stays where it is.
    #drawBits(rule, state, flip) {
      const carry = new Set(rule.carryBits.map(({ bit }) => bit));
      if (this.bits.children.length !== rule.bits + 1) {
        const buttons = Array.from({ length: rule.bits }, (_, place) => html("button", { type: "button", onclick: () => this.flip(rule.bits - 1 - place) }));
        this.bits.replaceChildren(...buttons, html("span", { class: "quiet" }, t("cell.flip")));
      }
      this.flip = flip;
      for (let place = 0; place < rule.bits; place += 1) {
        const bit = rule.bits - 1 - place, on = rule.states[state] >> bit & 1, button = this.bits.children[place];
        button.textContent = on;
        button.classList.toggle("on", on === 1);
        button.classList.toggle("carry-bit", carry.has(bit));
        button.setAttribute("aria-label", t(carry.has(bit) ? "cell.carry-bit" : "cell.bit", { bit, on }));
      }
    }

    #ofNetwork(scene, step) {
      const { chosen: { row, column } } = this.player, { symbols, confidence } = scene.at(step), index = row * scene.size.width + column;
      const reads = " 0123456789+="[symbols[index]].trim() || t("film.nothing");
      this.sum.textContent = t("cell.reads", { symbol: symbolName(scene.rule, scene.symbols[index]), reads, share: Math.round(100 * confidence[index]) });
      this.line.textContent = "";
      this.shown(null);
    }
  }

  Object.assign(gridsum, { Inspector, describe, symbolName, flipped });
}
