// The plane of the digits, and the chosen cell's way across it.

import { drawing, percent, svg } from "./dom.js";

const SIZE = 420, MARGIN = 24;

export class Plane {
  constructor(panel) {
    this.panel = panel;
    this.place = panel.querySelector(".plane");
    this.note = panel.querySelector(".roundness");
  }

  fail(message) {
    this.plane = null;
    this.place.replaceChildren();
    this.note.textContent = message;
  }

  show(plane) {
    this.plane = plane;
    this.path = null;
    this.#describe();
  }

  // `path` is the chosen cell's points at every reading; only a new path needs a new drawing.
  move(path, step) {
    if (!this.plane) return;
    if (path !== this.path) this.#draw(path);
    const past = path.slice(0, step + 1).map(({ x, y }) => this.toPicture(x, y));
    this.line.setAttribute("points", past.map((point) => point.join(",")).join(" "));
    const [x, y] = past.at(-1);
    this.here.setAttribute("cx", x);
    this.here.setAttribute("cy", y);
  }

  #draw(path) {
    this.path = path;
    const { points, centroids } = this.plane;
    this.toPicture = fitted([...points, ...centroids, ...path]);
    const picture = drawing(SIZE, SIZE, "The plane of the digits, with the chosen cell’s path", 0.7);
    for (const { digit, x, y } of points) {
      const [cx, cy] = this.toPicture(x, y);
      picture.append(svg("circle", { class: "dot", cx, cy, r: 3, fill: `hsl(${digit * 36} 65% 55%)` }));
    }
    const middles = centroids.map(({ x, y }) => this.toPicture(x, y));
    picture.append(svg("polygon", { class: "ring", points: middles.map((point) => point.join(",")).join(" ") }));
    centroids.forEach(({ digit }, index) => {
      const [cx, cy] = middles[index];
      const name = svg("text", { class: "symbol", x: cx, y: Number(cy) + 4.5, "font-size": 13 }, `${digit}`);
      picture.append(svg("g", { class: "centroid" }, svg("circle", { cx, cy, r: 9 }), name));
    });
    this.line = svg("polyline", { class: "path" });
    this.here = svg("circle", { class: "here", r: 7 });
    picture.append(this.line, this.here);
    this.place.replaceChildren(picture);
  }

  #describe() {
    const { explained, adjacent, p_value: pValue, winding, phase } = this.plane;
    const kept = `The plane keeps ${percent(explained[0] + explained[1])} of their variance. `;
    if (adjacent === null) {
      this.note.textContent = `${kept}Not every digit occurs, so there is no ring to measure.`;
      return;
    }
    const times = winding === 1 ? "once" : `${winding} times`;
    const chance = pValue < 0.001 ? "less than 0.1 %" : percent(pValue);
    this.note.textContent = `${kept}From 0 to 9 and back, the digits go around ${times} (fit ${phase.toFixed(2)}, at best 1); `
      + `${Math.round(10 * adjacent)} of the 10 pairs 0–1, 1–2 … 9–0 are neighbours (by chance as many or more: ${chance}).`;
  }
}

// The map from the plane to the picture that shows all `points`, with the same scale along both axes.
function fitted(points) {
  const along = (axis) => points.map((point) => point[axis]);
  const [left, right] = [Math.min(...along("x")), Math.max(...along("x"))];
  const [low, high] = [Math.min(...along("y")), Math.max(...along("y"))];
  const scale = (SIZE - 2 * MARGIN) / Math.max(right - left, high - low, 1e-9);
  return (x, y) => [
    (SIZE / 2 + (x - (left + right) / 2) * scale).toFixed(1), (SIZE / 2 - (y - (low + high) / 2) * scale).toFixed(1),
  ];
}
