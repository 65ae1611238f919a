"use strict";
// Draws one moment of a film: the sum being written, the cells, the carries, the answer.
{
  const { clamp, ease, mix, theme, t: text } = gridsum;
  const GAP = 0.08; // of a cell, between cells
  const LINE = 1.15; // height of the line of symbols above the grid, in cells
  const SMALLEST_TEXT = 11;
  const LABEL_SPACE = 190; // pixels beside the grid that the labels of rows want

  // How large cells are, and where they stand, in a picture `width` pixels wide.
  function layOut(film, width, most = 76) {
    const { height: rows, width: columns } = film.scene.size;
    const letters = film.letters.length;
    const cell = Math.floor(clamp(width / columns, 4, most));
    const top = letters ? Math.round(Math.min(cell, 64) * LINE) : 4;
    const left = Math.round((width - columns * cell) / 2);
    return { cell, left, top, columns, rows, width, height: top + rows * cell + 6, labels: left >= LABEL_SPACE };
  }

  function drawMoment(pen, film, place, moment, progress) {
    const from = Math.max(0, moment - 1), t = ease(progress);
    if (film.writing && moment <= film.writing) {
      drawLine(pen, film, place, moment, t);
      drawEmptyCells(pen, place);
      drawFlying(pen, film, place, from, moment, t);
    } else {
      if (film.letters.length) drawLine(pen, film, place, film.letters.length, 1);
      drawStep(pen, film, place, film.stepAt(from), film.stepAt(moment), t);
    }
  }

  const corner = (place, row, column) => [place.left + column * place.cell, place.top + row * place.cell];

  function box(pen, place, row, column, options) {
    const { cell } = place, [x, y] = corner(place, row, column), gap = cell * GAP / 2;
    pen.rect(x + gap, y + gap, cell - 2 * gap, cell - 2 * gap, { radius: cell > 16 ? cell * 0.12 : 0, ...options });
  }

  function drawEmptyCells(pen, place) {
    const { edge } = theme();
    for (let row = 0; row < place.rows; row += 1) {
      for (let column = 0; column < place.columns; column += 1) box(pen, place, row, column, { stroke: edge });
    }
  }

  function letterAt(film, place, index) {
    const size = letterSize(film, place), spread = size * 0.78;
    if (size < SMALLEST_TEXT) return [place.width - size, place.top / 2, SMALLEST_TEXT]; // no room for the line: from the corner
    return [place.width / 2 + (index - (film.letters.length - 1) / 2) * spread, place.top / 2 - 2, size];
  }

  function letterSize(film, place) {
    return Math.min(0.5 * Math.min(place.cell, 64), place.width / (0.82 * film.letters.length));
  }

  // The sum as it is given, above the grid; what has been read is faint.
  function drawLine(pen, film, place, moment, t) {
    const { ink, quiet, digits } = theme();
    if (letterSize(film, place) < SMALLEST_TEXT) return;
    film.letters.forEach((letter, index) => {
      const [x, y, size] = letterAt(film, place, index);
      const read = index < moment - 1 || (index === moment - 1 && t > 0);
      pen.text(x, y, letter, { size, fill: read ? quiet : ink, font: digits, weight: read ? 400 : 600 });
    });
  }

  function drawFlying(pen, film, place, from, to, t) {
    const { ink, digits, accent } = theme(), { cell, columns } = place;
    const before = new Map(film.places(from).map((spot) => [spot.index, spot]));
    for (const spot of film.places(to)) {
      const old = before.get(spot.index), [endX, endY] = corner(place, spot.row, columns - 1 - spot.right);
      const end = [endX + cell / 2, endY + cell / 2, 0.5 * cell];
      let [x, y, size] = end;
      if (t < 1) {
        const [startX, startY] = old ? corner(place, old.row, columns - 1 - old.right) : [];
        const start = old ? [startX + cell / 2, startY + cell / 2, 0.5 * cell] : letterAt(film, place, spot.index);
        [x, y, size] = start.map((value, index) => mix(value, end[index], t));
      }
      pen.text(x, y, spot.letter, { size, fill: old || t === 1 ? ink : accent, font: digits, weight: 500 });
    }
  }

  function drawStep(pen, film, place, from, to, t) {
    const begun = film.computation.disturbed || from > 0 ? 1 : to > 0 ? t : 0;
    const cells = changesOf(film, from, to), draw = (medium, some) => some.forEach((cell) => drawCell(medium, place, { ...cell, t, begun }));
    if (pen.keep && (begun === 1 || to <= 0)) {
      pen.keep([cells, place, theme(), begun], (layer) => draw(layer, cells.filter(({ moves }) => !moves)));
      draw(pen, cells.filter(({ moves }) => moves));
    } else {
      draw(pen, cells);
    }
    if (place.labels && film.computation.rule) drawLabels(pen, film, place, to);
  }

  // Every cell before and after a step, those later whose carries lie on others. A cell moves if it looks otherwise then,
  // or if its carry lies on one that moves.
  function changesOf(film, from, to) {
    if (film.changes?.from === from && film.changes.to === to) return film.changes.cells;
    const { scene } = film, { width, height } = scene.size, before = scene.at(from), after = scene.at(to);
    const differs = (old, now) => Object.keys(now).some((key) => old[key] !== now[key]);
    const { rightward } = gridsum.operations[scene.rule.sign];
    let beside = false;
    const cells = Array.from({ length: width * height }, (_, count) => {
      const row = Math.floor(count / width), column = rightward ? width - 1 - count % width : count % width, index = row * width + column;
      const old = scene.cell(before, index, from), now = scene.cell(after, index, to);
      const moves = differs(old, now) || (beside && count % width > 0 && now.carry !== "");
      beside = moves;
      return { row, column, top: row === 0, symbol: symbolOf(scene, index), old, now, moves, rightward };
    });
    film.changes = { from, to, cells };
    return cells;
  }

  // From `old` to `now`; `top`: whether its row is that of the answer; `begun`: how far its symbol has gone from the
  // middle of the cell into the corner.
  function drawCell(pen, place, { row, column, top, symbol, old, now, begun, t, rightward }) {
    const { cell } = place, colours = theme();
    const answer = top && now.stays && now.text !== "" && begun > 0;
    const lit = answer ? (old.stays && old.text === now.text ? 1 : t) : 0;
    box(pen, place, row, column, { stroke: colours.edge });
    if (now.hurt || old.hurt) {
      const alpha = now.hurt ? 1 : 1 - t;
      box(pen, place, row, column, { fill: colours.wrongSoft, stroke: colours.wrong, thick: Math.max(1, cell / 20), alpha });
    }
    if (lit) box(pen, place, row, column, { fill: now.wrong ? colours.wrong : colours.accent, alpha: lit });
    const [x, y] = corner(place, row, column);
    if (symbol) drawSymbol(pen, x, y, cell, symbol, begun, lit);
    if (begun > 0) drawReading(pen, x, y, cell, old, now, lit, begun, t);
    if (now.carry && begun === 1) drawCarry(pen, x, y, cell, old.carry ? 1 : t, now, rightward);
  }

  const symbolOf = ({ symbols, rule }, index) => (symbols[index] === rule.signCell ? gridsum.shown(rule.sign) : symbols[index] < rule.base ? gridsum.DIGITS[symbols[index]] : "");

  // The symbol that was written into a cell never leaves it. Once the cell is at work it stands in the corner.
  function drawSymbol(pen, x, y, cell, symbol, begun, lit) {
    const { ink, quiet, digits, accentInk } = theme();
    const small = Math.max(SMALLEST_TEXT, 0.2 * cell);
    if (begun >= 1 && cell < 26) return;
    pen.text(mix(x + cell / 2, x + cell * 0.8, begun), mix(y + cell / 2, y + cell * 0.22, begun), symbol, {
      size: mix(0.5 * cell, small, begun), fill: begun < 0.5 ? ink : lit > 0.5 ? accentInk : quiet, font: digits,
      weight: begun < 0.5 ? 500 : 400,
    });
  }

  function drawReading(pen, x, y, cell, old, now, lit, begun, t) {
    const { ink, quiet, digits, accentInk, card, wrong } = theme();
    const changed = old.text !== now.text, fade = changed ? t : 1;
    const options = (one) => ({
      size: Math.max(SMALLEST_TEXT, (one.stays ? 0.54 : 0.44) * cell), font: digits, weight: one.stays ? 600 : 400,
      fill: one.hurt ? wrong : lit > 0.5 ? (one.wrong ? card : accentInk) : one.firm ? ink : quiet,
    });
    const middle = x + cell * (cell < 34 ? 0.4 : 0.48), line = y + cell * (cell < 34 ? 0.6 : 0.55); // beside the symbol
    if (changed && fade < 1 && old.text && begun === 1) {
      pen.text(middle, line - 0.25 * cell * fade, old.text, { ...options(old), alpha: 0.5 * (1 - fade) });
    }
    if (now.text) {
      pen.text(middle, line + 0.2 * cell * (1 - fade), now.text, { ...options(now), alpha: fade });
    }
  }

  // What is handed to the cell beside it: a dot on the edge between them, as wide as its name where there is room for that.
  function drawCarry(pen, x, y, cell, t, { carry, stays }, rightward) {
    const { accent, paper, digits, accentInk } = theme(), named = stays && cell > 40, radius = Math.max(named ? 7 : 2.2, cell * 0.115);
    const middle = mix(x + cell * (rightward ? 0.7 : 0.3), x + (rightward ? cell : 0), t), line = y + cell * 0.5;
    const dot = (high, options) => {
      const half = high + (named ? 0.42 * radius * (carry.length - 1) : 0);
      pen.rect(middle - half, line - high, 2 * half, 2 * high, { radius: high, ...options });
    };
    dot(radius + Math.min(2, cell * 0.04), { fill: paper, alpha: t });
    dot(radius, { fill: accent, alpha: stays ? t : 0.35 * t });
    if (named) pen.text(middle, line, carry, { size: radius * (carry.length > 1 ? 1.25 : 1.5), fill: accentInk, font: digits, weight: 600, alpha: t });
  }

  // Beside each row that is done: what it holds.
  function drawLabels(pen, film, place, step) {
    const { quiet, accent, words } = theme(), { computation } = film, { terms, rule } = computation;
    const rows = gridsum.rowsOf(computation);
    for (let row = 0; row < terms.length; row += 1) {
      if (!rows.slice(row).every((last) => last <= step)) continue;
      const shown = terms.slice(0, terms.length - row);
      const many = shown.length > 3 || shown.join("").length > 14;
      const label = row === 0 ? text("stage.answer") : many ? rule.t("stage.first", { count: shown.length }) : rule.joined(shown);
      const [, y] = corner(place, row, 0);
      pen.text(place.left + place.columns * place.cell + 18, y + place.cell / 2, label, {
        size: 15, fill: row === 0 ? accent : quiet, font: words, anchor: "start",
      });
    }
  }

  function outline(pen, place, row, column) {
    box(pen, place, row, column, { stroke: theme().ink, thick: 2.5 });
  }

  Object.assign(gridsum, { layOut, drawMoment, drawCell, symbolOf, outline });
}
