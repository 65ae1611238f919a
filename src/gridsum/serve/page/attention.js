// Where the chosen cell looks: all heads small, the chosen head large, and the four terms of its score.

import { drawing, html, onArrows, percent, svg } from "./dom.js";

const TILE = 30;
const FIELD = 38;
// Below this width of the window, half as many heads stand in a row, so that a finger meets one.
const NARROW = 640;
const TERMS = [
  ["query_key", "Q·K", "what the cell holds with what the neighbour holds"],
  ["bias_key", "s·K", "what the neighbour holds alone"],
  ["query_position", "Q·r", "what the cell holds with the neighbour’s direction"],
  ["bias_position", "s·r", "the direction alone: the same for all cells"],
];
const LETTERS = { "position-based": "P", "content-based": "C", mixed: "M", unselective: "–" };

export class Attention {
  constructor(panel, chooseHead) {
    Object.assign(this, { panel, chooseHead, tiles: [] });
    this.select = panel.querySelector("select");
    this.select.addEventListener("change", () => chooseHead(Number(this.select.value)));
  }

  // The heads' labels, once for a model.
  label(heads) {
    this.heads = heads.heads;
    this.panel.querySelector(".criterion").textContent =
      `${heads.criterion} Measured on ${heads.reference.join(", ")}.`;
    const kernel = Math.round(Math.sqrt(this.heads[0].mean_attention.length));
    const across = Math.min(window.innerWidth < NARROW ? 8 : 16, this.heads.length), down = Math.ceil(this.heads.length / across);
    const pitch = TILE + 8;
    const picture = drawing(across * pitch, down * (pitch + 12), "All heads; the arrow keys choose one", 0.62);
    this.tiles = this.heads.map((head, index) => {
      const x = (index % across) * pitch + 3, y = Math.floor(index / across) * (pitch + 12) + 3;
      const tile = svg("g", { class: `tile ${head.label}` });
      const fields = head.mean_attention.map((_, place) => svg("rect", {
        class: "weight", x: x + (place % kernel) * TILE / kernel, y: y + Math.floor(place / kernel) * TILE / kernel,
        width: TILE / kernel, height: TILE / kernel, "fill-opacity": 0,
      }));
      tile.append(
        svg("title", {}, `head ${index}: ${head.label}`),
        svg("rect", { class: "frame", x: x - 3, y: y - 3, width: TILE + 6, height: TILE + 17, rx: 3 }),
        ...fields,
        svg("rect", { class: "edge", x, y, width: TILE, height: TILE }),
        svg("text", { class: "small middle", x: x + TILE / 2, y: y + TILE + 11 }, `${LETTERS[head.label] ?? ""}${index}`),
      );
      tile.addEventListener("click", () => this.chooseHead(index));
      picture.append(tile);
      return { tile, fields };
    });
    onArrows(picture, (rows, columns) => {
      const next = this.head + rows * across + columns;
      this.chooseHead(Math.max(0, Math.min(this.heads.length - 1, next)));
    });
    picture.setAttribute("role", "application");
    this.panel.querySelector(".heads").replaceChildren(picture);
    this.select.replaceChildren(...this.heads.map((head, index) =>
      html("option", { value: index }, `${index} · ${head.label}`)));
  }

  // The head that is chosen, known before what it looks at has arrived.
  choose(head) {
    this.head = head;
  }

  // `view` is the server's answer for the cell, `symbols` what the grid read when it looked; null where no step was taken.
  show(view, symbols) {
    if (!this.heads) return;
    const chosen = Math.max(0, Math.min(this.head, this.heads.length - 1));
    this.select.value = chosen;
    this.tiles.forEach(({ tile, fields }, index) => {
      tile.setAttribute("class", `tile ${this.heads[index].label}${index === chosen ? " current" : ""}`);
      const weights = view?.heads[index].weights ?? this.heads[index].mean_attention;
      fields.forEach((field, place) => field.setAttribute("fill-opacity", weights[place]));
    });
    this.#explain(view, chosen);
    const terms = this.panel.querySelector(".terms");
    if (!view) {
      terms.replaceChildren();
      return;
    }
    const around = neighbours(view, symbols);
    const { weights, terms: scores } = view.heads[chosen];
    const largest = Math.max(1e-9, ...TERMS.flatMap(([key]) => scores[key].map(Math.abs)));
    terms.replaceChildren(
      figure("Attention", "where the head looks", weights.map((weight) => ({ share: weight, text: percent(weight) })), around),
      ...TERMS.map(([key, name, meaning]) => figure(name, meaning, scores[key].map((value) => ({
        share: Math.abs(value) / largest, text: value.toFixed(2), negative: value < 0,
      })), around)),
    );
  }

  #explain(view, chosen) {
    const { label, position, border, content } = this.heads[chosen];
    const where = view ? `Cell in row ${view.row + 1}, column ${view.column + 1}, step ${view.step + 1}. `
      : "This computation stopped before any step: these are the heads’ mean attentions. ";
    const name = html("span", { class: `name ${label}` }, label);
    const bits = `: ${position.toFixed(2)} bits of position, ${border.toFixed(2)} of border, ${content.toFixed(2)} of content`;
    this.panel.querySelector(".label").replaceChildren(`${where}Head ${chosen} is `, name, bits);
  }
}

// The symbols around the cell, null outside the grid.
function neighbours({ row, column, kernel }, symbols) {
  const reach = (kernel - 1) / 2, found = [];
  for (let down = -reach; down <= reach; down += 1) {
    for (let right = -reach; right <= reach; right += 1) found.push(symbols[row + down]?.[column + right] ?? null);
  }
  return found;
}

function figure(name, meaning, values, around) {
  const kernel = Math.round(Math.sqrt(values.length));
  const picture = drawing(kernel * FIELD + 4, kernel * FIELD + 4, `${name}: ${meaning}`);
  values.forEach(({ share, text, negative }, place) => {
    const x = 2 + (place % kernel) * FIELD, y = 2 + Math.floor(place / kernel) * FIELD;
    const inside = around[place] !== null;
    picture.append(
      svg("rect", { class: negative ? "negative" : "positive", x, y, width: FIELD, height: FIELD, "fill-opacity": (0.65 * share).toFixed(3) }),
      svg("rect", { class: inside ? "hollow" : "hollow outside", x: x + 0.5, y: y + 0.5, width: FIELD - 1, height: FIELD - 1 }),
      svg("text", { class: "symbol", x: x + FIELD / 2, y: y + 17, "font-size": 14 }, inside ? around[place].replace(" ", "·") : ""),
      svg("text", { class: "small middle", x: x + FIELD / 2, y: y + FIELD - 6 }, text),
    );
  });
  return html("figure", {}, picture, html("figcaption", {}, html("b", {}, name), ` ${meaning}`));
}
