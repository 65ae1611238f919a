// When the network stops: its probabilities against the steps, or how much the grid still changes.

import { drawing, svg } from "./dom.js";

const WIDTH = 520, HEIGHT = 190, LEFT = 34, RIGHT = 12, TOP = 14, BOTTOM = 30;
const PONDERED = {
  caption: "How likely the network is to stop, after each step.",
  legend: "Line: λ, to stop now. Bars: p, to stop exactly here. Dashed: to have stopped by now. Red: where it did stop.",
};
const FIXED = {
  caption: "How much the grid still changes, with each step.",
  legend: "This model has no probability of stopping. Red: where its rule stopped it.",
};

export class Halting {
  constructor(panel, goTo) {
    Object.assign(this, { panel, goTo });
  }

  show(trace) {
    const { readings, steps, capped } = trace;
    const pondered = readings[0].halting !== null;
    for (const [name, text] of Object.entries(pondered ? PONDERED : FIXED)) {
      this.panel.querySelector(`.${name}`).textContent = text;
    }
    const changes = readings.map((reading) => reading.change ?? 0);
    const most = pondered ? 1 : Math.max(...changes, 1e-9);
    this.x = (n) => LEFT + (n + 0.5) * (WIDTH - LEFT - RIGHT) / (steps + 1);
    const y = (value) => HEIGHT - BOTTOM - value / most * (HEIGHT - TOP - BOTTOM);
    const picture = drawing(WIDTH, HEIGHT, `Halting against steps; stopped after ${steps}`, 0.6);
    this.#axes(picture, y, most, steps);
    const line = (name, value) => {
      const points = readings.map((reading, n) => `${this.x(n).toFixed(1)},${y(value(reading)).toFixed(1)}`);
      picture.append(svg("polyline", { class: name, points: points.join(" ") }));
    };
    const wide = (WIDTH - LEFT - RIGHT) / (steps + 1);
    readings.forEach((reading, n) => {
      const value = pondered ? reading.probability : 0;
      const hit = svg("g", { class: "column" });
      hit.append(
        svg("rect", { x: this.x(n) - wide / 2, y: TOP, width: wide, height: HEIGHT - TOP - BOTTOM, "fill-opacity": 0 }),
        svg("rect", { class: "p", x: this.x(n) - wide * 0.35, y: y(value), width: wide * 0.7, height: y(0) - y(value) }),
        svg("title", {}, pondered ? `step ${n}: λ ${reading.halting.toFixed(3)}, p ${reading.probability.toFixed(3)}`
          : `step ${n}: change ${changes[n].toFixed(3)}`),
      );
      hit.addEventListener("click", () => this.goTo(n));
      picture.append(hit);
    });
    if (pondered) {
      line("cumulated", (reading) => reading.cumulated);
      line("lambda", (reading) => reading.halting);
    } else {
      line("change", (reading) => reading.change ?? 0);
    }
    const end = this.x(steps);
    picture.append(
      svg("line", { class: "stop", x1: end, x2: end, y1: TOP, y2: y(0) }),
      svg("text", { class: "small end", x: end - 4, y: TOP - 4 }, capped ? "stopped by the limit" : "stopped"),
    );
    this.now = svg("line", { class: "now", y1: TOP, y2: y(0) });
    picture.append(this.now);
    this.panel.querySelector(".chart").replaceChildren(picture);
  }

  at(step) {
    for (const end of ["x1", "x2"]) this.now.setAttribute(end, this.x(step));
  }

  #axes(picture, y, most, steps) {
    for (const share of [0, 0.5, 1]) {
      const value = share * most;
      picture.append(
        svg("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value), "stroke-opacity": share ? 0.3 : 1 }),
        svg("text", { class: "small end", x: LEFT - 5, y: y(value) + 3 }, most === 1 ? `${share}` : value.toPrecision(2)),
      );
    }
    const every = steps > 25 ? 5 : steps > 12 ? 2 : 1;
    for (let n = 0; n <= steps; n += every) {
      picture.append(svg("text", { class: "small middle", x: this.x(n), y: HEIGHT - BOTTOM + 14 }, `${n}`));
    }
    picture.append(svg("text", { class: "small middle", x: (LEFT + WIDTH) / 2, y: HEIGHT - 3 }, "steps"));
  }
}
