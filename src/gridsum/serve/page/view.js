// One model at work on the sum: its panels, and what they fetch when they need it.

import { get, post, Refusal } from "./api.js";
import { Attention } from "./attention.js";
import { html } from "./dom.js";
import { Grid } from "./grid.js";
import { Halting } from "./halting.js";
import { Placement } from "./placement.js";
import { Plane } from "./plane.js";

const LONG = 40;
// Attention is fetched for steps that somebody rests at, not for all that are scrubbed over.
const REST_MILLISECONDS = 50;

export class View {
  constructor(model, actions) {
    this.model = model;
    this.element = html("div", { class: "view" });
    this.element.append(document.getElementById("view").content.cloneNode(true));
    const panel = (name) => this.element.querySelector(`.${name}`);
    this.answer = panel("answer");
    this.computation = panel("computation");
    this.grid = new Grid(this.computation.querySelector(".grid"), { label: "The grid", choose: actions.choose });
    this.placement = new Placement(panel("placement"), actions.choose);
    this.halting = new Halting(panel("halting"), actions.goTo);
    this.attention = new Attention(panel("attention"), actions.chooseHead);
    this.plane = new Plane(panel("representation"));
    for (const one of this.element.querySelectorAll(".panel:not(.answer)")) {
      one.setAttribute("aria-label", `${one.getAttribute("aria-label")}, ${model}`);
      one.querySelector("h2").append(html("span", { class: "of" }, ` of ${model}`));
    }
    this.#measure();
  }

  // Shows a computation from its first picture on; attention and path follow when they arrive.
  show(trace, request) {
    Object.assign(this, { trace, request, seen: new Map(), path: null });
    this.#tellAnswer();
    this.placement.show(trace);
    this.halting.show(trace);
  }

  at({ step, row, column, head }) {
    const n = Math.min(step, this.trace.steps);
    const reading = this.trace.readings[n];
    this.grid.show(reading, n > 0 ? this.trace.readings[n - 1].symbols : null);
    for (const grid of [this.grid, this.placement.grid]) grid.select(row, column);
    this.halting.at(n);
    this.#tellCell(reading, row, column);
    this.now = { n, row, column };
    this.attention.choose(head);
    this.#look();
    this.#walk();
  }

  close() {
    this.fetching?.abort();
    this.element.remove();
  }

  #tellAnswer() {
    const { answer, exact, correct, steps, capped, halting } = this.trace;
    this.answer.querySelector("h2").textContent = this.model;
    const said = this.answer.querySelector(".said"), mark = this.answer.querySelector(".mark");
    said.textContent = answer || "(nothing)";
    for (const line of this.element.querySelectorAll(".verdict, .forming")) line.classList.toggle("long", exact.length > LONG);
    mark.textContent = correct ? "✓ right" : `✗ wrong: the sum is ${exact}`;
    mark.className = `mark ${correct ? "right" : "wrong"}`;
    const ended = capped ? "stopped by the limit on steps" : `stopped by the rule ‘${halting}’`;
    this.answer.querySelector(".facts").textContent =
      `${steps} ${steps === 1 ? "step" : "steps"}, ${ended}; ${this.trace.milliseconds.toFixed(0)} ms of computation.`;
  }

  #tellCell(reading, row, column) {
    const symbol = reading.symbols[row][column];
    const read = symbol === " " ? "blank" : `‘${symbol}’`;
    this.computation.querySelector(".chosen").textContent =
      `After ${reading.n} ${reading.n === 1 ? "step" : "steps"}${reading.n === this.trace.steps ? " (the last)" : ""}. Chosen: `
      + `row ${row + 1}, column ${column + 1}, reads ${read} with ${reading.confidence[row][column]} %.`;
    this.computation.querySelector(".forming output").textContent = reading.symbols[0].trim() || "(nothing)";
  }

  async #measure() {
    try {
      this.attention.label(await get("/heads", { model: this.model }));
      this.#look();
      this.plane.show(await get("/plane", { model: this.model }));
      this.#walk();
    } catch (error) {
      this.plane.fail(error.message);
    }
  }

  // The attention of the step that follows the reading, or of the last step.
  async #look() {
    if (!this.trace || !this.now) return;
    const { n, row, column } = this.now, trace = this.trace;
    if (this.trace.steps === 0) {
      this.attention.show(null, null);
      return;
    }
    const step = Math.min(n, this.trace.steps - 1), key = `${step},${row},${column}`;
    const draw = (view) => this.attention.show(view, this.trace.readings[step].symbols);
    if (this.seen.has(key)) {
      draw(this.seen.get(key));
      return;
    }
    this.fetching?.abort();
    this.fetching = new AbortController();
    const { signal } = this.fetching;
    await new Promise((resolve) => { setTimeout(resolve, REST_MILLISECONDS); });
    if (signal.aborted) return;
    const view = await this.#ask("/attention", { step, row, column }, signal);
    if (!view || trace !== this.trace) return;
    this.seen.set(key, view);
    if (this.now.row === row && this.now.column === column && Math.min(this.now.n, this.trace.steps - 1) === step) {
      draw(view);
    }
  }

  async #walk() {
    if (!this.trace || !this.now) return;
    const { row, column } = this.now, trace = this.trace;
    if (this.path?.row !== row || this.path?.column !== column) {
      // The cell's way is under way already if only the step has changed since it was asked for.
      this.path = { row, column, points: null };
      const path = await this.#ask("/path", { row, column });
      if (trace !== this.trace || this.now.row !== row || this.now.column !== column) return;
      this.path = path;
      if (!path) return;
    }
    if (this.path?.points) this.plane.move(this.path.points, this.now.n);
  }

  async #ask(address, more, signal = undefined) {
    try {
      return await post(address, { ...this.request, ...more }, signal);
    } catch (error) {
      if (error.name !== "AbortError" && !(error instanceof Refusal)) throw error;
      return null;
    }
  }
}
