"use strict";
// The proof as a picture: every case that a cell can meet, looked up while one watches.
{
  const { html, theme, count, still, describe } = gridsum;
  const $ = (id) => document.getElementById(id);
  const CHECK_MS = 3500;
  const NAMES = [..."0123456789", "+", "nothing"];

  class Cases {
    constructor(rule) {
      this.rule = rule;
      // The states by their meaning, so that equal digits stand beside each other; the border comes last.
      const order = (code) => {
        const { digit, carry } = rule.meanings[code];
        return code === 0 ? 100 : digit === null ? 50 : 2 * digit + carry;
      };
      this.states = [...rule.codes.map((_, code) => code).sort((a, b) => order(a) - order(b)).filter((code) => code), rule.outside];
      this.canvases = NAMES.map((name, x) => this.#canvas(name, x));
      this.checked = 0;
    }

    #canvas(name, x) {
      const side = this.states.length;
      const canvas = html("canvas", { width: 4 * side, height: 4 * side, role: "img", "aria-label": `Cases of a cell with ${name}` });
      canvas.addEventListener("pointermove", (event) => this.#pick(event, x));
      canvas.addEventListener("click", (event) => this.#pick(event, x));
      this.element ??= html("div", { class: "cases" });
      this.element.append(html("figure", {}, canvas, html("figcaption", {}, name === "nothing" ? "no symbol" : `symbol ${name}`)));
      return canvas;
    }

    // Only what is looked at has to be proved: this takes a moment.
    get proof() {
      this.found ??= new gridsum.Proof(this.rule);
      this.list ??= [...this.found.contexts.values()];
      return this.found;
    }

    #pick(event, x) {
      const box = event.target.getBoundingClientRect(), side = this.states.length;
      const at = (offset, whole) => this.states[Math.min(side - 1, Math.max(0, Math.floor(offset / whole * side)))];
      const right = at(event.clientX - box.left, box.width), below = at(event.clientY - box.top, box.height);
      const found = this.proof.contexts.get(this.proof.key(x, right, below));
      if (found) this.tell(found);
    }

    tell(context) {
      const { rule } = this, { x, right, below, value, after } = context;
      const own = x < 10 ? `${x}` : "0", digit = Number(rule.letters[below] || 0), carry = value - Number(own) - digit;
      const where = (code, name) => (code === rule.outside ? `the border ${name}` : `${describe(rule, code)} ${name}`);
      const became = [...new Set(after)].map((code) => describe(rule, code));
      this.current = context;
      $("case").replaceChildren(
        `A cell with ${x === gridsum.EMPTY ? "no symbol" : NAMES[x]}, ${where(right, "on its right")}, ${where(below, "below")}: `,
        `${own} + ${digit} + ${carry} = ${value}. It becomes ${became.join(" or ")}, with each of ${count(after.length)} left neighbours. `,
        html("span", { class: "tick" }, "✓ right"));
      this.draw();
    }

    draw() {
      const { accent, line, ink } = theme(), side = this.states.length, place = new Map(this.states.map((code, index) => [code, index]));
      const contexts = this.canvases.map((canvas) => {
        const context = canvas.getContext("2d");
        context.clearRect(0, 0, canvas.width, canvas.height);
        return context;
      });
      if (!this.list) return;
      this.list.forEach(({ x, right, below }, index) => {
        contexts[x].fillStyle = index < this.checked ? accent : line;
        contexts[x].fillRect(4 * place.get(right), 4 * place.get(below), 3, 3);
      });
      if (this.current) {
        const { x, right, below } = this.current;
        contexts[x].strokeStyle = ink;
        contexts[x].strokeRect(4 * place.get(right) - 0.5, 4 * place.get(below) - 0.5, 4, 4);
      }
      return side;
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
    const map = new Cases(rule);
    $("cases").replaceChildren(map.element);
    gridsum.onTheme(() => map.draw());
    const prepared = () => {
      if (map.list) return;
      if (!map.proof.proved) throw new Error(map.proof.failures[0]);
      map.draw();
    };
    gridsum.watch($("cases"), (seen) => { if (seen) prepared(); }, 0.1);

    $("check").addEventListener("click", () => {
      prepared();
      map.checked = 0;
      let looked = 0;
      const start = performance.now();
      $("check").disabled = true;
      const go = (time) => {
        const share = still() ? 1 : Math.min(1, (time - start) / CHECK_MS);
        looked += map.check(Math.ceil(share * map.list.length));
        $("checked").textContent = `${count(looked)} looked up, 0 wrong`;
        if (share < 1) {
          requestAnimationFrame(go);
          return;
        }
        $("check").disabled = false;
        $("checked").replaceChildren(`${count(looked)} looked up, 0 wrong. `, html("span", { class: "tick" }, "Proved ✓"));
      };
      requestAnimationFrame(go);
    });
    $("any-case").addEventListener("click", () => {
      prepared();
      map.tell(map.list[Math.floor(Math.random() * map.list.length)]);
    });
    return { map };
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
      const { accent, line } = theme(), picture = svg("svg", { width: COLUMNS * CELL, height: ROWS * CELL, viewBox: `0 0 ${COLUMNS * CELL} ${ROWS * CELL}`, "aria-hidden": "true" });
      for (let row = 0; row < ROWS; row += 1) {
        for (let column = 0; column < COLUMNS; column += 1) {
          const place = orders[index](row, column), most = index === 2 ? ROWS : index === 1 ? 3 : COLUMNS;
          picture.append(svg("rect", {
            x: column * CELL + 1, y: row * CELL + 1, width: CELL - 3, height: CELL - 3, rx: 3, stroke: place === null ? line : accent,
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
