"use strict";
// Figures of the rule: what it does with symbols, the wave of a carry, its states, one cell, why it stops, how it heals.
// Each figure may say `sum(computation)`, told of every new sum, and `moment(player)`, told of every moment of the hero.
{
  const { html, svg, theme, count, clamp, still, describe } = gridsum;
  const $ = (id) => document.getElementById(id);

  // ---- what placement does with each symbol -------------------------------------------------------------------

  const ACTIONS = ["written into the top row", "opens a new row", "skipped"];

  function actions({ rule }) {
    const letters = " 0123456789+=";
    const cards = ACTIONS.map((name, action) => {
      const those = [...letters].filter((letter, symbol) => letter !== " " && rule.actions[symbol] === action);
      const digits = those.filter((letter) => /[0-9]/.test(letter));
      const shown = digits.length === 10 ? ["0 … 9", ...those.filter((letter) => !/[0-9]/.test(letter))] : those;
      return html("div", {}, html("b", {}, shown.join(" ") || "none"), sketch(action), html("span", {}, name));
    });
    $("actions").replaceChildren(html("div", { class: "actions" }, ...cards));
    const player = new gridsum.Player($("writing"), { label: "A sum being written", most: 52, part: "writing" });
    player.show(new gridsum.RuleComputation(rule, gridsum.parse("58+4067+921")).completeNow(), still() ? 0 : null);
    playWhenSeen($("writing"), player);
    return { player };
  }

  // Plays once when it is first seen; what is out of sight does not move.
  function playWhenSeen(element, player) {
    let started = false;
    gridsum.watch(element, (visible) => {
      if (!visible) {
        player.pause();
      } else if (!started && !still()) {
        started = true;
        player.play();
      }
    });
  }

  // Two rows of cells: a row that moves left, rows that move down, nothing.
  function sketch(action) {
    const { line, quiet, accent } = theme(), picture = svg("svg", { width: 96, height: 60, viewBox: "9 0 96 60", "aria-hidden": "true" });
    const cell = (x, y, fill) => picture.append(svg("rect", { x, y, width: 18, height: 18, rx: 3, fill: fill ?? "none", stroke: fill ?? quiet }));
    const arrow = (path) => picture.append(svg("path", { d: path, fill: "none", stroke: accent, "stroke-width": 2, "stroke-linecap": "round" }));
    for (let column = 1; column < 4; column += 1) cell(4 + column * 22, 32, action === 2 ? line : undefined);
    if (action === 2) {
      arrow("M34 14l28 0M54 8l8 6-8 6");
      return picture;
    }
    if (action === 0) {
      cell(70, 32, accent);
      arrow("M58 20h-30M34 14l-6 6 6 6");
    } else {
      cell(70, 8, accent);
      arrow("M16 14v28M10 36l6 6 6-6");
    }
    return picture;
  }

  // ---- the wave of a carry ------------------------------------------------------------------------------------

  function wave({ rule }) {
    const player = new gridsum.Player($("wave"), {
      label: "A carry on its way. Arrow keys choose a cell.", most: 52, part: "steps", onMoment: () => draw(),
    });
    const canvas = html("canvas", { role: "img" });
    $("spacetime").append(canvas);
    let computation = null;

    function open(text) {
      computation = new gridsum.RuleComputation(rule, gridsum.parse(text)).completeNow();
      for (const button of $("carry-sums").children) button.setAttribute("aria-pressed", String(button.dataset.sum === text));
      player.show(computation, 0);
      const taken = takenBack(computation);
      $("wave-caption").textContent = taken
        ? `In the lower picture time runs down, a line for each step. ${taken} column${taken === 1 ? "" : "s"} guessed a carry that was not one. The truth comes from the right, one column per step, and takes every guess back.`
        : "In the lower picture time runs down, a line for each step. The carry moves one column per step, so its path is a slanted line.";
      canvas.setAttribute("aria-label", `The top row after each of ${computation.steps} steps`);
      draw();
    }

    function draw() {
      if (!computation) return;
      const { width: columns } = computation.size, lines = computation.steps + 1;
      const room = Math.min($("spacetime").clientWidth, 640), cell = clamp(Math.floor(Math.min(room / (columns + 4), 380 / lines)), 6, 24);
      const width = cell * (columns + 4), height = cell * lines + 2, ratio = Math.min(3, devicePixelRatio || 1);
      Object.assign(canvas, { width: width * ratio, height: height * ratio });
      Object.assign(canvas.style, { width: `${width}px`, height: `${height}px`, display: "block", margin: "18px auto 0", cursor: "pointer" });
      const pen = new gridsum.CanvasPen(canvas.getContext("2d"));
      pen.context.setTransform(ratio, 0, 0, ratio, 0, 0);
      drawLines(pen, computation, cell, player.step);
    }

    canvas.addEventListener("click", (event) => {
      player.pause();
      player.go(player.film.momentOf(Math.floor((event.clientY - canvas.getBoundingClientRect().top) / (canvas.clientHeight / (computation.steps + 1)))));
    });
    for (const button of $("carry-sums").children) {
      button.addEventListener("click", () => { open(button.dataset.sum); if (!still()) player.play(); });
    }
    gridsum.onTheme(draw);
    new ResizeObserver(draw).observe($("spacetime"));
    playWhenSeen($("wave"), player);
    open("999999999+1");
    return { player };
  }

  // In how many columns of the top row a carry stood that was taken back, while all below them was at rest.
  function takenBack(computation) {
    const { rule, size: { width, height }, steps, settled, final } = computation, found = new Set();
    const below = settled.subarray(width).reduce((last, step) => Math.max(last, step), 0);
    for (let n = below; n < steps && height > 1; n += 1) {
      const codes = computation.at(n);
      for (let column = 0; column < width; column += 1) {
        if (codes[column] && rule.carries[codes[column]] && !rule.carries[final[column]]) found.add(column);
      }
    }
    return found.size;
  }

  function drawLines(pen, computation, cell, now) {
    const { rule, size: { width }, settled, steps } = computation, { ink, quiet, accent, line, digits, words, paper } = theme();
    const left = cell * 2;
    pen.context.clearRect(0, 0, 4000, 4000);
    for (let n = 0; n <= steps; n += 1) {
      const codes = computation.at(n);
      if (n === now) pen.rect(left - 3, n * cell, width * cell + 6, cell, { fill: line });
      for (let column = 0; column < width; column += 1) {
        const code = codes[column], letter = rule.text(code), carry = code && rule.carries[code] === 1, stays = settled[column] <= n;
        const x = left + column * cell, y = n * cell;
        if (carry) pen.rect(x + 1, y + 1, cell - 2, cell - 2, { fill: accent, alpha: stays ? 1 : 0.18, radius: 2 });
        if (!letter) continue;
        if (cell < 18) pen.rect(x + 2, y + 2, cell - 4, cell - 4, { fill: carry && stays ? paper : stays ? ink : quiet, alpha: 0.35 });
        else pen.text(x + cell / 2, y + cell / 2, letter, { size: cell * 0.62, fill: carry && stays ? paper : stays ? ink : quiet, font: digits, weight: stays ? 600 : 400 });
      }
      if (cell >= 11 && (n === now || n === 0 || n === steps)) {
        pen.text(left - 8, n * cell + cell / 2, String(n), { size: 11, fill: n === now ? accent : quiet, font: words, anchor: "end" });
      }
    }
  }

  // ---- states and their bits ----------------------------------------------------------------------------------

  function states({ rule, hero }) {
    const carryBits = new Set(rule.carryBits.map(({ bit }) => bit));
    const dots = (code) => html("span", { class: "dots", "aria-hidden": "true" }, ...Array.from({ length: rule.bits }, (_, place) => {
      const bit = rule.bits - 1 - place;
      return html("i", { class: `${rule.codes[code] >> bit & 1 ? "on" : ""}${carryBits.has(bit) ? " carry" : ""}` });
    }));
    const caption = $("codes-caption");
    const pattern = (code) => rule.codes[code].toString(2).padStart(rule.bits, "0");
    const button = (code, letter) => html("button", {
      type: "button", "aria-label": `State ${describe(rule, code)}: bits ${pattern(code)}`,
      onclick: () => {
        const where = hero.film?.computation.rule ? hero.film.computation.final.reduce((sum, one) => sum + (one === code), 0) : 0;
        caption.textContent = `${describe(rule, code)} is ${pattern(code)}. In the sum above, ${count(where)} cell${where === 1 ? " ends" : "s end"} in this state.`;
      },
    }, html("b", {}, letter), dots(code));
    const of = (digit, carry) => rule.meanings.findIndex((one, code) => code && one.digit === digit && one.carry === carry);
    const others = rule.meanings.map((_, code) => code).filter((code) => code && rule.meanings[code].digit === null);
    const line = (carry) => Array.from({ length: 10 }, (_, digit) => button(of(digit, carry), String(digit)));
    $("codes").replaceChildren(html("div", { class: "states" },
      html("span", { class: "axis" }, "no carry"), ...line(0), ...others.slice(0, 1).map((code) => button(code, "␣")),
      html("span", { class: "axis" }, "carry"), ...line(1), ...(others.length > 1 ? others.slice(1) : []).map((code) => button(code, "␣"))));
    caption.textContent = carryBits.size
      ? `Eight dots are eight bits. The ringed one is the carry: it is ${rule.carryBits[0].on ? "on" : "off"} in every state with a carry and ${rule.carryBits[0].on ? "off" : "on"} in every digit without.`
      : "Eight dots are eight bits. Several of them together tell the carry.";
    return {};
  }

  // ---- one cell ---------------------------------------------------------------------------------------------

  function oneCell({ rule }) {
    const codes = rule.codes.map((_, code) => code).filter((code) => code)
      .sort((a, b) => order(rule, a) - order(rule, b));
    const names = [...codes, rule.outside].map((code) => [code, describe(rule, code)]);
    const symbols = [..."0123456789+"].map((letter, symbol) => [symbol, letter]).concat([[gridsum.EMPTY, "nothing"]]);
    const choice = (name, label, entries, value) => {
      const select = html("select", { onchange: tell }, ...entries.map(([key, text]) => html("option", { value: key, selected: key === value }, text)));
      choices[name] = select;
      return html("label", { class: name }, label, select);
    };
    const choices = {}, becomes = html("p", { class: "becomes", role: "status" });
    const code = (digit, carry) => rule.meanings.findIndex((one, index) => index && one.digit === digit && one.carry === carry);

    function tell() {
      const [x, left, right, below] = ["own", "left", "right", "below"].map((name) => Number(choices[name].value));
      const after = rule.after(x, left, right, below), digit = rule.letters[below] ?? "";
      const carry = right === rule.outside ? 0 : rule.carries[right];
      const own = x < 10 ? `${x}` : "0";
      const value = Number(own) + Number(digit || 0) + carry;
      becomes.replaceChildren("It becomes ", html("b", {}, describe(rule, after)), ". ",
        `${own} here, ${digit || 0} from below${carry ? ", 1 carried from the right" : ", no carry from the right"}: ${value}.`);
    }

    $("one-cell").replaceChildren(html("div", { class: "one-cell" },
      choice("left", "to the left", names, code(1, 0)), choice("own", "its own symbol", symbols, 7),
      choice("right", "to the right", names, code(2, 1)), choice("below", "below", names, code(5, 0))), becomes);
    tell();
    return {};
  }

  const order = (rule, code) => {
    const { digit, carry } = rule.meanings[code];
    return digit === null ? 99 : 10 * carry + digit;
  };

  // ---- why it stops -----------------------------------------------------------------------------------------

  function changes({ hero }) {
    const HEIGHT = 190, BOTTOM = 28;
    let mark = null, scale = null, newest = null;

    function sum(computation) {
      if (!computation?.rule) return;
      newest = computation;
      const WIDTH = Math.min(640, $("changes").clientWidth);
      const { changes: counts, steps } = computation, most = Math.max(...sampled(counts), 1);
      scale = (n) => 20 + (n - 0.5) / (steps + 1) * (WIDTH - 40);
      const y = (value) => HEIGHT - BOTTOM - value / most * (HEIGHT - BOTTOM - 18);
      const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, role: "img", "aria-label": `Cells that changed in each of ${steps} steps` });
      const shown = sampled([...counts, 0]), wide = (WIDTH - 40) / shown.length;
      const { accent, line } = theme();
      shown.forEach((value, index) => {
        picture.append(svg("rect", { x: 20 + index * wide + wide * 0.1, y: y(value), width: Math.max(0.6, wide * 0.8), height: y(0) - y(value), fill: accent, rx: Math.min(3, wide / 6) }));
        if (shown.length <= 14) picture.append(svg("text", { x: 20 + (index + 0.5) * wide, y: y(value) - 6, class: "quiet-text", "text-anchor": "middle" }, count(value)));
      });
      picture.append(svg("line", { x1: 20, x2: WIDTH - 20, y1: y(0), y2: y(0), stroke: line }));
      picture.append(svg("text", { x: 20, y: HEIGHT - 8, class: "quiet-text" }, "first step"), svg("text", { x: WIDTH - 20, y: HEIGHT - 8, class: "quiet-text", "text-anchor": "end" }, "none: it stops"));
      mark = svg("circle", { r: 4, cy: y(0), fill: accent });
      picture.append(mark);
      $("changes").replaceChildren(picture);
      $("changes-caption").textContent = `Cells that changed in each step of ${gridsum.shorten(computation.terms.join(" + "), 40)}: ${steps} step${steps === 1 ? "" : "s"}, then none.`;
      moment(hero);
    }

    function moment(player) {
      if (mark && player.film?.computation.rule) mark.setAttribute("cx", scale(Math.max(0.5, player.step)));
    }

    const again = () => sum(newest);
    gridsum.onTheme(again);
    window.addEventListener("resize", again);
    return { sum, moment };
  }

  // At most 200 bars: of many steps the largest count of each stretch.
  function sampled(counts) {
    const stretch = Math.ceil(counts.length / 200);
    if (stretch <= 1) return counts;
    const found = [];
    for (let low = 0; low < counts.length; low += stretch) found.push(counts.slice(low, low + stretch).reduce((a, b) => Math.max(a, b), 0));
    return found;
  }

  // ---- how it heals -------------------------------------------------------------------------------------------

  function healing({ rule }) {
    const terms = gridsum.parse("31415926+27182818+14142135");
    const player = new gridsum.Player($("healing"), { label: "A grid to disturb. Arrow keys choose a cell.", most: 52, part: "steps", onCell: () => card.show(), onMoment: () => { if (!player.playing && player.chosen) card.show(); } });
    const card = new gridsum.Inspector($("healing-cell"), player, disturb);

    function disturb(codes) {
      const { chosen } = player;
      player.show(new gridsum.RuleComputation(rule, terms, codes).completeNow(), 0);
      if (chosen) player.choose(chosen.row, chosen.column);
      if (!still()) player.play();
    }

    const any = () => 1 + Math.floor(Math.random() * (rule.outside - 1));
    $("scramble").addEventListener("click", () => disturb(player.film.computation.final.map(any)));
    $("scratch").addEventListener("click", () => {
      const codes = player.film.computation.at(Math.max(0, player.step)).slice(), { width } = player.film.scene.size;
      const index = Math.floor(Math.random() * 2 + 1) * width + width - 1 - Math.floor(Math.random() * 8);
      codes[index] = gridsum.flipped(rule, codes[index], Math.floor(Math.random() * rule.bits));
      player.chosen = { row: Math.floor(index / width), column: index % width };
      disturb(codes);
    });
    const calm = new gridsum.RuleComputation(rule, terms).completeNow();
    player.show(calm, calm.steps);
    return { player };
  }

  gridsum.figures = [actions, wave, states, oneCell, changes, healing];
}
