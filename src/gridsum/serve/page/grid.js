// A grid of symbols, drawn once and then changed only where it changes. A grid too large to be drawn cell by cell
// becomes an overview, one small field a cell, and the part around the chosen cell.

import { drawing, onArrows, svg } from "./dom.js";

const MOST_CELLS = 720;
const MOST_ROWS = 24;
const CELL = 50;
const LEAST_CELL = 15;
const PER_CENT_CELL = 30;

export class Grid {
  constructor(place, { label, choose = null, numbers = true }) {
    Object.assign(this, { place, label, choose, numbers, rows: 0, columns: 0, chosen: null });
  }

  // `before` is what the grid read one step earlier, or null where nothing is to be marked as changed.
  show(cells, before = null) {
    const rows = cells.symbols.length, columns = cells.symbols[0].length;
    if (rows !== this.rows || columns !== this.columns) this.#begin(rows, columns);
    this.cells = cells;
    this.before = before;
    if (this.overview) this.#drawOverview();
    this.#fill();
  }

  select(row, column) {
    if (this.chosen?.row === row && this.chosen.column === column) return;
    this.chosen = { row, column };
    if (this.rows) this.#follow();
  }

  #begin(rows, columns) {
    Object.assign(this, { rows, columns, left: 0, top: 0 });
    this.shownRows = Math.min(rows, MOST_ROWS);
    this.shownColumns = Math.min(columns, Math.max(1, Math.floor(MOST_CELLS / this.shownRows)));
    this.whole = this.shownRows === rows && this.shownColumns === columns;
    this.size = Math.max(LEAST_CELL, Math.min(CELL, Math.floor(1200 / this.shownColumns)));
    this.place.replaceChildren();
    this.overview = null;
    if (!this.whole) this.#beginOverview();
    this.#beginCells();
    if (this.chosen) this.#follow();
  }

  #beginCells() {
    const { size, shownRows, shownColumns } = this;
    const height = size * 1.1;
    this.height = height;
    const least = Math.max(LEAST_CELL, Math.min(size, 22)) / size;
    this.picture = drawing(shownColumns * size + 4, shownRows * height + 4, this.label, least);
    this.drawn = [];
    for (let row = 0; row < shownRows; row += 1) {
      for (let column = 0; column < shownColumns; column += 1) this.drawn.push(this.#beginCell(row, column));
    }
    this.topRow = svg("rect", { class: "top", x: 1, y: 1, width: shownColumns * size + 2, height: height + 2 });
    this.mark = svg("rect", { class: "chosen-cell", width: size - 2, height: height - 2, visibility: "hidden" });
    this.picture.append(this.topRow, this.mark);
    this.place.append(this.picture);
    if (!this.choose) return;
    this.picture.setAttribute("role", "application");
    this.picture.setAttribute("aria-label", `${this.label}. The arrow keys choose a cell.`);
    onArrows(this.picture, (down, right) => {
      const { row, column } = this.chosen ?? { row: 0, column: 0 };
      this.choose(clamp(row + down, this.rows), clamp(column + right, this.columns));
    });
  }

  #beginCell(row, column) {
    const { size, height } = this;
    const x = 2 + column * size, y = 2 + row * height;
    const box = svg("rect", { class: "box", x, y, width: size, height, "fill-opacity": 0 });
    const fontSize = Math.round(size * 0.5);
    const symbol = svg("text", { class: "symbol", x: x + size / 2, y: y + height * 0.56, "font-size": fontSize });
    const sure = svg("rect", { class: "sure", x: x + 2, y: y + height - 4, width: 0, height: 2.5 });
    // Inside the cell, where its neighbours do not draw over it.
    const edge = svg("rect", { class: "edge", x: x + 2, y: y + 2, width: size - 4, height: height - 4 });
    const group = svg("g", { class: "cell" }, box, symbol, sure, edge);
    let perCent = null;
    if (this.numbers && size >= PER_CENT_CELL) {
      perCent = svg("text", { class: "per-cent", x: x + size / 2, y: y + height - 7 });
      group.append(perCent);
    }
    group.addEventListener("click", () => this.choose?.(this.top + row, this.left + column));
    this.picture.append(group);
    return { group, box, symbol, sure, perCent, row, column, shown: {} };
  }

  #fill() {
    const { symbols, confidence } = this.cells;
    for (const cell of this.drawn) {
      const row = this.top + cell.row, column = this.left + cell.column;
      const symbol = symbols[row][column], sure = confidence[row][column];
      const changed = this.before !== null && this.before[row][column] !== symbol;
      const { shown } = cell;
      if (symbol !== shown.symbol) cell.symbol.textContent = symbol;
      if (changed !== shown.changed) cell.group.setAttribute("class", changed ? "cell changed" : "cell");
      if (symbol !== shown.symbol || sure !== shown.sure) {
        cell.box.setAttribute("fill-opacity", symbol === " " ? 0 : (0.05 + 0.3 * sure / 100).toFixed(3));
        cell.sure.setAttribute("width", ((this.size - 4) * sure / 100).toFixed(1));
        if (cell.perCent) cell.perCent.textContent = symbol === " " ? "" : `${sure}`;
      }
      cell.shown = { symbol, sure, changed };
    }
    this.topRow.setAttribute("visibility", this.top === 0 ? "visible" : "hidden");
  }

  #follow() {
    const { row, column } = this.chosen;
    if (!this.whole) {
      this.top = around(row, this.shownRows, this.rows, this.top);
      this.left = around(column, this.shownColumns, this.columns, this.left);
      if (this.cells) this.#fill();
      for (const [name, value] of Object.entries({ x: this.left, y: this.top })) this.frame.setAttribute(name, value);
    }
    this.mark.setAttribute("x", 3 + (column - this.left) * this.size);
    this.mark.setAttribute("y", 3 + (row - this.top) * this.height);
    this.mark.setAttribute("visibility", "visible");
  }

  #beginOverview() {
    const { rows, columns } = this;
    this.canvas = document.createElement("canvas");
    Object.assign(this.canvas, { width: columns, height: rows });
    const label = `Overview of all ${rows} × ${columns} cells; the frame is what is drawn below`;
    this.overview = svg("svg", {
      viewBox: `0 0 ${columns} ${rows}`, preserveAspectRatio: "none", role: "img", "aria-label": label, class: "overview",
    });
    this.overview.style.width = "100%";
    this.overview.style.height = `${Math.min(160, Math.max(28, rows * 6))}px`;
    this.image = svg("image", { width: columns, height: rows, preserveAspectRatio: "none" });
    this.image.style.imageRendering = "pixelated";
    this.frame = svg("rect", { class: "window", width: this.shownColumns, height: this.shownRows, x: 0, y: 0 });
    this.overview.append(this.image, this.frame);
    this.overview.addEventListener("click", (event) => {
      const { left, top, width, height } = this.overview.getBoundingClientRect();
      const row = Math.floor((event.clientY - top) / height * rows);
      this.choose?.(clamp(row, rows), clamp(Math.floor((event.clientX - left) / width * columns), columns));
    });
    this.place.append(this.overview);
  }

  #drawOverview() {
    const context = this.canvas.getContext("2d");
    const image = context.createImageData(this.columns, this.rows);
    this.cells.symbols.forEach((line, row) => {
      for (let column = 0; column < this.columns; column += 1) {
        const changed = this.before !== null && this.before[row][column] !== line[column];
        image.data.set(colourOf(line[column], changed), 4 * (row * this.columns + column));
      }
    });
    context.putImageData(image, 0, 0);
    this.image.setAttribute("href", this.canvas.toDataURL());
  }
}

const clamp = (index, count) => Math.max(0, Math.min(count - 1, index));

// The first of `shown` out of `count`, moved only as far as needed for `index` to be among them with some room.
function around(index, shown, count, first) {
  const room = Math.min(3, Math.floor((shown - 1) / 2));
  if (index < first + room || index >= first + shown - room) first = index - Math.floor(shown / 2);
  return Math.max(0, Math.min(count - shown, first));
}

// Digits from dark blue to yellow, other symbols grey, blanks clear, what has just changed orange.
function colourOf(symbol, changed) {
  if (changed) return [230, 97, 1, 255];
  if (symbol === " ") return [127, 127, 127, 25];
  const digit = "0123456789".indexOf(symbol);
  if (digit < 0) return [127, 127, 127, 255];
  const share = digit / 9;
  return [30 + 215 * share, 60 + 150 * share, 140 - 90 * share, 255];
}
