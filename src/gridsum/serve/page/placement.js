// How the input is written onto the grid: the actions' probabilities, and the grid symbol by symbol.

import { drawing, percent, svg } from "./dom.js";
import { Grid } from "./grid.js";

const ACTIONS = { write: "top row", push: "new row", skip: "skip" };
const FIELD = 22;
const MARGIN = 62;
// Beyond this many symbols only the start is drawn as fields; the grid below still shows all.
const MOST_SYMBOLS = 240;
const WRITE_MILLISECONDS = 220;
const MOST_FRAMES = 40;

export class Placement {
  constructor(panel, choose) {
    this.panel = panel;
    this.slider = panel.querySelector("input");
    this.count = panel.querySelector(".count");
    this.grid = new Grid(panel.querySelector(".written"), {
      label: "The grid as written so far", numbers: false, choose,
    });
    this.slider.addEventListener("input", () => { this.#stop(); this.#draw(); });
    panel.querySelector(".write").addEventListener("click", () => this.#write());
  }

  show(trace) {
    this.#stop();
    this.trace = trace;
    this.#drawActions();
    this.slider.max = trace.input.length;
    this.#go(trace.input.length);
  }

  #go(count) {
    this.slider.value = count;
    this.#draw();
  }

  // Writes the whole input from its first symbol on, however long, in about the same time.
  #write() {
    this.#stop();
    const { length } = this.trace.input, stride = Math.ceil(length / MOST_FRAMES);
    this.#go(0);
    this.writing = setInterval(() => {
      this.#go(Math.min(length, Number(this.slider.value) + stride));
      if (Number(this.slider.value) === length) this.#stop();
    }, WRITE_MILLISECONDS);
  }

  #stop() {
    clearInterval(this.writing);
  }

  #drawActions() {
    const { input, actions } = this.trace;
    const shown = Math.min(input.length, MOST_SYMBOLS);
    const picture = drawing(MARGIN + shown * FIELD + 2, 4 * FIELD + 4, `Action probabilities of ${input}`, 0.7);
    Object.values(ACTIONS).forEach((name, action) => {
      picture.append(svg("text", { class: "small", x: 0, y: (action + 1.65) * FIELD }, name));
    });
    this.columns = [];
    for (let index = 0; index < shown; index += 1) {
      const x = MARGIN + index * FIELD;
      const column = svg("g", { class: "column" });
      column.append(svg("text", { class: "symbol", x: x + FIELD / 2, y: FIELD * 0.75, "font-size": 14 }, input[index]));
      Object.entries(ACTIONS).forEach(([key, name], action) => {
        const share = actions[index][key];
        const field = svg("rect", {
          class: "probable", x, y: (action + 1) * FIELD, width: FIELD, height: FIELD, "fill-opacity": share,
        });
        field.append(svg("title", {}, `${input[index]}: ${name} ${percent(share)}`));
        column.append(field);
      });
      column.addEventListener("click", () => { this.#stop(); this.#go(index + 1); });
      picture.append(column);
    }
    this.passed = svg("rect", { class: "passed", y: 1, width: FIELD, height: 4 * FIELD });
    picture.append(this.passed);
    this.panel.querySelector(".actions").replaceChildren(picture);
  }

  #draw() {
    const { input, placed } = this.trace;
    const count = Number(this.slider.value);
    const before = count > 0 ? this.#written(count - 1).symbols : null;
    this.grid.show(count === input.length ? placed : this.#written(count), count === input.length ? null : before);
    this.count.textContent = `${count} of ${input.length} symbols`;
    this.passed.setAttribute("x", MARGIN + (count - 1) * FIELD);
    this.passed.setAttribute("visibility", count > 0 && count <= this.columns.length ? "visible" : "hidden");
  }

  // The grid after `count` symbols if each takes its most probable action, with that action's probability.
  #written(count) {
    const { input, actions, rows, columns } = this.trace;
    const lists = [[]];
    for (let index = 0; index < count; index += 1) {
      const [best, share] = Object.entries(actions[index]).reduce((one, other) => (other[1] > one[1] ? other : one));
      if (best === "push") lists.unshift([]);
      if (best !== "skip") lists[0].push({ symbol: input[index], sure: Math.round(100 * share) });
    }
    const symbols = [], confidence = [];
    for (let row = 0; row < rows; row += 1) {
      const cells = (lists[row] ?? []).slice(-columns);
      const blank = columns - cells.length;
      symbols.push(" ".repeat(blank) + cells.map((cell) => cell.symbol).join(""));
      confidence.push([...Array(blank).fill(0), ...cells.map((cell) => cell.sure)]);
    }
    return { symbols, confidence };
  }
}
