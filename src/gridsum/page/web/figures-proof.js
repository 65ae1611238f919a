"use strict";
// The proof as a picture: every case that a cell can meet, looked up while one watches.
{
  const { html, theme, t, clamp, count, still, describe, symbolName } = gridsum;
  const $ = (id) => document.getElementById(id);
  const CHECK_MS = 3500;
  const DOT = 6; // pixels of a case in a small map
  const MARGIN = 44; // pixels of the large map beside its squares, for its axes

  // A map for each symbol: the state to the right across, the state below down. One of them is seen large, with its axes.
  class Cases {
    constructor(rule) {
      this.rule = rule;
      // The states by their meaning, so that equal digits stand beside each other; the border comes last.
      const order = (state) => {
        const { digit, carry } = rule.meanings[state];
        return digit === null ? 999 : 2 * digit + carry;
      };
      this.ordered = [...rule.states.map((_, state) => state).filter((state) => state).sort((a, b) => order(a) - order(b)), rule.outside];
      this.place = new Map(this.ordered.map((state, index) => [state, index]));
      this.checked = 0;
      this.symbol = 7 % rule.base;
      this.small = Array.from({ length: rule.empty + 1 }, (_, x) => this.#button(x));
      this.large = html("canvas", { tabindex: 0, role: "application", "aria-label": t("proof.map"), "aria-describedby": "case" });
      this.title = html("h3");
      this.large.addEventListener("pointermove", (event) => this.#point(event));
      this.large.addEventListener("click", (event) => this.#point(event));
      this.large.addEventListener("keydown", (event) => this.#key(event));
      this.element = html("div", { class: "proof-map" }, html("div", {}, this.title, this.large), html("div", {},
        html("div", { class: "cases", role: "group", "aria-label": t("proof.symbols") }, ...this.small.map(({ button }) => button)),
        html("ul", { class: "key" }, ...["checked", "waiting", "never"].map((kind) => html("li", { class: kind }, t(`proof.${kind}`))))));
    }

    #button(x) {
      const side = DOT * this.ordered.length, canvas = html("canvas", { width: side, height: side, "aria-hidden": "true" });
      const name = symbolName(this.rule, x), text = x === this.rule.empty ? t("proof.none") : name;
      const button = html("button", { type: "button", "aria-pressed": "false", "aria-label": t("proof.cell", { symbol: text }), onclick: () => this.see(x) }, canvas, html("span", {}, text));
      return { canvas, button };
    }

    // Only what is looked at has to be proved: this takes a moment.
    get proof() {
      this.found ??= new gridsum.Proof(this.rule);
      this.list ??= [...this.found.contexts.values()];
      return this.found;
    }

    see(x) {
      this.symbol = x;
      if (this.current?.x !== x) this.current = null;
      this.draw();
    }

    #point(event) {
      const box = this.large.getBoundingClientRect(), side = this.ordered.length, size = (box.width - MARGIN) / side;
      const at = (offset) => this.ordered[Math.floor((offset - MARGIN) / size)];
      const right = at(event.clientX - box.left), below = at(event.clientY - box.top);
      const found = this.proof.contexts.get(this.proof.key(this.symbol, right, below));
      if (found) this.tell(found);
    }

    // Arrow keys go to the next case that can occur.
    #key(event) {
      const [across, down] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [0, 0];
      if (!across && !down) return;
      event.preventDefault();
      event.stopPropagation();
      const { proof, ordered, place, symbol } = this, first = this.list.find(({ x }) => x === symbol);
      let [i, j] = this.current ? [place.get(this.current.right) + across, place.get(this.current.below) + down] : [place.get(first.right), place.get(first.below)];
      for (; ordered[i] !== undefined && ordered[j] !== undefined; i += across, j += down) {
        const found = proof.contexts.get(proof.key(symbol, ordered[i], ordered[j]));
        if (found) return this.tell(found);
        if (!this.current) return;
      }
    }

    // Says what a case is, and shows where it stands.
    tell(context) {
      const { rule } = this, { x, right, below, value, after } = context;
      const own = x < rule.base ? gridsum.DIGITS[x] : "0", digit = rule.letters[below] || "0";
      const carry = value - gridsum.DIGITS.indexOf(own) - gridsum.DIGITS.indexOf(digit);
      const became = [...new Set(after)].map((state) => describe(rule, state)).join(t("proof.or"));
      this.current = context;
      this.symbol = x;
      $("case").replaceChildren(t("proof.case", {
        symbol: symbolName(rule, x), right: describe(rule, right), below: describe(rule, below),
        own, digit, carry, sum: value.toString(rule.base), became, count: after.length,
      }), " ", html("span", { class: "tick" }, t("proof.right")));
      this.draw();
    }

    // Where the chosen cell of a grid stands; on the way to the answer its neighbours may still be wrong.
    cell({ x, right, below }) {
      const found = this.proof.contexts.get(this.proof.key(x, right, below));
      if (found) return this.tell(found);
      Object.assign(this, { symbol: x, current: { x, right, below } });
      $("case").textContent = t("proof.outside");
      return this.draw();
    }

    colourOf(index) {
      const { accent, faint } = theme();
      return index < this.checked ? accent : faint;
    }

    // A map of one symbol, a square of `size` pixels for each case; the current case has a frame.
    paint(context, x, size, left = 0, gap = size / 8) {
      const { place, current } = this, { ink } = theme();
      this.list?.forEach((one, index) => {
        if (one.x !== x) return;
        context.fillStyle = this.colourOf(index);
        context.fillRect(left + size * place.get(one.right), left + size * place.get(one.below), size - gap, size - gap);
      });
      if (current?.x !== x || !place.has(current.right) || !place.has(current.below)) return;
      context.strokeStyle = ink;
      context.lineWidth = clamp(size / 6, 1.5, 4);
      context.strokeRect(left + size * place.get(current.right) - gap / 2, left + size * place.get(current.below) - gap / 2, size, size);
    }

    draw() {
      this.small.forEach(({ canvas, button }, x) => {
        const context = canvas.getContext("2d");
        context.clearRect(0, 0, canvas.width, canvas.height);
        this.paint(context, x, DOT, 0, 0); // as it is scaled, gaps would make a pattern
        button.setAttribute("aria-pressed", String(x === this.symbol));
      });
      this.title.textContent = t("proof.cell", { symbol: symbolName(this.rule, this.symbol) });
      this.#drawLarge();
    }

    #drawLarge() {
      const width = this.large.parentElement?.clientWidth, ratio = Math.min(3, devicePixelRatio || 1), side = this.ordered.length;
      if (!width) return;
      const size = Math.floor((Math.min(width, 560) - MARGIN) / side), whole = MARGIN + size * side, { quiet, words, line } = theme();
      Object.assign(this.large, { width: whole * ratio, height: whole * ratio });
      Object.assign(this.large.style, { width: `${whole}px`, height: `${whole}px` });
      const pen = new gridsum.CanvasPen(this.large.getContext("2d"));
      pen.context.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.rect(MARGIN - 2, MARGIN - 2, size * side + 2, size * side + 2, { stroke: line });
      this.paint(pen.context, this.symbol, size, MARGIN);
      const style = { size: 12, fill: quiet, font: words };
      this.ordered.forEach((state, index) => {
        const { digit = null, carry = 0 } = this.rule.meanings[state] ?? {}, middle = MARGIN + size * (index + (digit === null ? 0.5 : 1));
        if (carry) return; // a digit stands before the two states that have it
        const label = digit !== null ? gridsum.DIGITS[digit] : state === this.rule.outside ? "▯" : "␣";
        pen.text(middle, MARGIN - 12, label, style);
        pen.text(MARGIN - 13, middle, label, style);
      });
      pen.text(MARGIN, 12, t("proof.across"), { ...style, size: 11, anchor: "start" });
      pen.context.save();
      pen.context.translate(12, MARGIN + size * side);
      pen.context.rotate(-Math.PI / 2);
      pen.text(size * side, 0, t("proof.down"), { ...style, size: 11, anchor: "end" });
      pen.context.restore();
    }

    // The map of the chosen cell's symbol on its card.
    drawOn(canvas, x) {
      const side = DOT * this.ordered.length, context = canvas.getContext("2d");
      Object.assign(canvas, { width: side, height: side });
      this.paint(context, x, DOT);
    }

    // Each case is looked up again as its square is coloured.
    check(now) {
      const { proof, rule } = this;
      let looked = 0;
      for (; this.checked < Math.min(now, this.list.length); this.checked += 1) {
        const context = this.list[this.checked], { x, right, below } = context;
        for (let left = 0; left < rule.side; left += 1) {
          if (!proof.agrees(context, rule.after(x, left, right, below))) throw new Error("a case is wrong");
          looked += 1;
        }
      }
      this.draw();
      return looked;
    }
  }

  function cases({ rule }) {
    let map = null, adds = true;
    // The check knows addition alone: of another rule the map stays as it is.
    const follow = (next) => {
      adds = next.kind === "add";
      if (!adds) return;
      map = new Cases(next);
      $("cases").replaceChildren(map.element);
      for (const name of ["checked", "case"]) $(name).replaceChildren();
      map.draw();
    };
    follow(rule);
    gridsum.onTheme(() => map.draw());
    new ResizeObserver(() => map.draw()).observe($("cases"));
    const prepared = () => {
      if (map.list) return;
      if (!map.proof.proved) throw new Error(map.proof.failures[0]);
      map.draw();
    };
    gridsum.watch($("cases"), (seen) => { if (seen) prepared(); }, 0.1);
    addEventListener("beforeprint", prepared);

    $("check").addEventListener("click", () => {
      prepared();
      const start = performance.now(), checking = map;
      let looked = 0;
      checking.checked = 0;
      $("check").setAttribute("aria-disabled", "true"); // it keeps the focus
      const go = (time) => {
        const share = still() ? 1 : clamp((time - start) / CHECK_MS, 0, 1);
        if (map !== checking) return $("check").removeAttribute("aria-disabled");
        looked += map.check(Math.ceil(share * map.list.length));
        $("checked").textContent = t("proof.looked", { count: looked });
        if (share < 1) return requestAnimationFrame(go);
        $("check").removeAttribute("aria-disabled");
        return $("checked").append(" ", html("span", { class: "tick" }, t("proof.proved")));
      };
      requestAnimationFrame(go);
    });
    $("any-case").addEventListener("click", () => {
      prepared();
      map.tell(map.list[Math.floor(Math.random() * map.list.length)]);
    });
    return {
      follow,
      cell(seen, card) {
        if (!seen || !adds) return;
        map.cell(seen);
        map.drawOn(card.map, seen.x);
      },
    };
  }

  // Three small grids: the order in which cells become certain.
  function induction() {
    const { svg } = gridsum, COLUMNS = 6, ROWS = 3, CELL = 20;
    const orders = [
      (row, column) => (row === 1 ? COLUMNS - 1 - column : null),
      (row, column) => (row === 1 && column < 3 ? column : row === 1 ? -1 : null),
      (row) => ROWS - 1 - row,
    ];
    const draw = () => [...$("induction").children].forEach((item, index) => {
      const { accent, edge } = theme(), picture = svg("svg", { width: COLUMNS * CELL, height: ROWS * CELL, viewBox: `0 0 ${COLUMNS * CELL} ${ROWS * CELL}`, "aria-hidden": "true" });
      for (let row = 0; row < ROWS; row += 1) {
        for (let column = 0; column < COLUMNS; column += 1) {
          const place = orders[index](row, column), most = index === 2 ? ROWS : index === 1 ? 3 : COLUMNS;
          picture.append(svg("rect", {
            x: column * CELL + 1, y: row * CELL + 1, width: CELL - 3, height: CELL - 3, rx: 3, stroke: place === null ? edge : accent,
            fill: place === null ? "none" : accent, "fill-opacity": place === null ? 0 : place < 0 ? 0.12 : 1 - place / most,
          }));
        }
      }
      item.querySelector("svg")?.remove();
      item.prepend(picture);
    });
    draw();
    gridsum.onTheme(draw);
    return {};
  }

  gridsum.figures.push(cases, induction);
}
