"use strict";
// Figures of the rule: what it does with symbols, the wave of a carry, its states, one cell, why it stops, how it heals.
// Each figure may say `sum(computation)`, told of every new sum, `moment(player)`, told of every moment of the hero,
// `cell(context)`, told what the chosen cell of any grid sees, and `follow(rule)`, told of the rule that this cell follows.
{
  const { html, svg, theme, t, clamp, still, describe } = gridsum;
  const $ = (id) => document.getElementById(id);

  // ---- what placement does with each symbol -------------------------------------------------------------------

  function actions({ rule }) {
    const letters = " 0123456789+=";
    const cards = ["write.writes", "write.opens", "write.skips"].map((name, action) => {
      const those = [...letters].filter((letter, symbol) => letter !== " " && rule.actions[symbol] === action);
      const digits = those.filter((letter) => /[0-9]/.test(letter));
      const shown = digits.length === 10 ? ["0 … 9", ...those.filter((letter) => !/[0-9]/.test(letter))] : those;
      return html("div", {}, html("b", {}, shown.join(" ")), sketch(action), html("span", {}, t(name)));
    });
    $("actions").replaceChildren(html("div", { class: "actions" }, ...cards));
    const player = new gridsum.Player($("writing"), { label: t("write.label"), most: 52, part: "writing" });
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
    const { edge, quiet, accent } = theme(), picture = svg("svg", { width: 96, height: 60, viewBox: "9 0 96 60", "aria-hidden": "true" });
    const cell = (x, y, fill) => picture.append(svg("rect", { x, y, width: 18, height: 18, rx: 3, fill: fill ?? "none", stroke: fill ?? quiet }));
    const arrow = (path) => picture.append(svg("path", { d: path, fill: "none", stroke: accent, "stroke-width": 2, "stroke-linecap": "round" }));
    for (let column = 1; column < 4; column += 1) cell(4 + column * 22, 32, action === 2 ? edge : undefined);
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
      label: t("carry.label"), most: 52, part: "steps", onMoment: () => draw(),
    });
    const canvas = html("canvas", { role: "img" });
    $("spacetime").append(canvas);
    let computation = null;

    function open(text) {
      computation = new gridsum.RuleComputation(rule, gridsum.parse(text)).completeNow();
      for (const button of $("carry-sums").children) button.setAttribute("aria-pressed", String(button.dataset.sum === text));
      player.show(computation, 0);
      const taken = takenBack(computation);
      $("wave-caption").textContent = `${t("carry.time")} ${taken ? t("carry.taken", { count: taken }) : t("carry.kept")}`;
      canvas.setAttribute("aria-label", t("carry.rows", { count: computation.steps }));
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
    open("0+999999999");
    return { player };
  }

  // In how many columns of the top row a carry was believed in that did not come.
  function takenBack(computation) {
    const { rule, size: { width }, steps, final } = computation, found = new Set();
    for (let n = 1; n < steps; n += 1) {
      const states = computation.at(n);
      for (let column = 0; column < width; column += 1) {
        if (rule.hands[states[column]] && !rule.hands[final[column]]) found.add(column);
      }
    }
    return found.size;
  }

  function drawLines(pen, computation, cell, now) {
    const { rule, size: { width }, settled, steps } = computation, { ink, quiet, accent, accentSoft, line, digits, words, paper } = theme();
    const left = cell * 2;
    pen.context.clearRect(0, 0, 4000, 4000);
    for (let n = 0; n <= steps; n += 1) {
      const states = computation.at(n);
      if (n === now) pen.rect(left - 3, n * cell, width * cell + 6, cell, { fill: line });
      for (let column = 0; column < width; column += 1) {
        const state = states[column], letter = rule.text(state), carry = rule.hands[state], stays = settled[column] <= n;
        const x = left + column * cell, y = n * cell;
        if (carry) pen.rect(x + 1, y + 1, cell - 2, cell - 2, { fill: stays ? accent : accentSoft, stroke: accent, radius: 2 });
        if (!letter) continue;
        if (cell < 18) pen.rect(x + 2, y + 2, cell - 4, cell - 4, { fill: carry && stays ? paper : stays ? ink : quiet, alpha: 0.35 });
        else pen.text(x + cell / 2, y + cell / 2, letter, { size: cell * 0.62, fill: carry && stays ? paper : stays ? ink : quiet, font: digits, weight: stays ? 600 : 400 });
      }
      if (cell >= 11 && (n === now || n === 0 || n === steps)) {
        pen.text(left - 8, n * cell + cell / 2, String(n), { size: 11, fill: n === now ? accent : quiet, font: words, anchor: "end" });
      }
    }
  }

  // A figure of one rule, made anew for another.
  const following = (make) => (page) => {
    let made = make(page);
    return { follow: (rule) => { made = make({ ...page, rule }); }, cell: (seen) => made.cell(seen) };
  };

  // ---- states and their bits ----------------------------------------------------------------------------------

  function bits({ rule, hero }) {
    const carryBits = new Set(rule.carryBits.map(({ bit }) => bit)), buttons = new Map();
    const dots = (state) => html("span", { class: "dots", "aria-hidden": "true" }, ...Array.from({ length: rule.bits }, (_, place) => {
      const bit = rule.bits - 1 - place;
      return html("i", { class: `${rule.states[state] >> bit & 1 ? "on" : ""}${carryBits.has(bit) ? " carry" : ""}` });
    }));
    const pattern = (state) => rule.states[state].toString(2).padStart(rule.bits, "0");
    const tell = (state) => {
      const { computation } = hero.film ?? {};
      const where = computation?.rule ? computation.final.reduce((sum, one) => sum + (one === state), 0) : 0;
      $("state-caption").textContent = t("states.one", { state: describe(rule, state), bits: pattern(state), count: where });
    };
    const button = (state, letter) => {
      const made = html("button", { type: "button", "aria-label": t("states.label", { state: describe(rule, state), bits: pattern(state) }), onclick: () => tell(state) }, html("b", {}, letter), dots(state));
      buttons.set(state, made);
      return made;
    };
    const known = inOrder(rule).filter((state) => rule.text(state) || rule.meanings[state].carry !== null);
    const of = (letter, carry) => known.filter((state) => rule.text(state) === letter && rule.hands[state] === carry);
    const line = (carry) => [html("span", { class: "axis" }, rule.t(carry ? "states.carry" : "states.no-carry", { carry })),
      ...[...gridsum.DIGITS.slice(0, rule.base), ""].map((letter) => html("div", {}, ...of(letter, carry).map((state) => button(state, letter || "␣"))))];
    $("state-list").style.setProperty("--columns", rule.base + 1);
    $("state-list").replaceChildren(html("div", { class: "states" }, ...[...new Set(known.map((state) => rule.hands[state]))].flatMap(line)));
    $("state-caption").textContent = carryBits.size ? t(rule.carryBits[0].on ? "states.bit-on" : "states.bit-off") : rule.t("states.bits", { bits: rule.bits });
    return {
      cell(seen) {
        for (const [state, made] of buttons) made.classList.toggle("lit", seen?.own === state);
      },
    };
  }

  // ---- one cell ---------------------------------------------------------------------------------------------

  function oneCell({ rule }) {
    const names = [...inOrder(rule), rule.outside].map((state) => [state, describe(rule, state, true)]);
    const symbols = Array.from({ length: rule.empty + 1 }, (_, symbol) => [symbol, gridsum.symbolName(rule, symbol)]);
    const choices = {}, becomes = html("p", { class: "becomes", role: "status" });
    const choice = (name, entries, value) => {
      const select = html("select", { onchange: tell }, ...entries.map(([key, text]) => html("option", { value: key, selected: key === value }, text)));
      choices[name] = select;
      return html("label", { class: name }, t(`rule.${name}`), select);
    };
    const ones = inOrder(rule).filter((state) => rule.text(state) === "1");

    function tell() {
      const [x, left, right, below] = ["own", "left", "right", "below"].map((name) => Number(choices[name].value));
      const from = rule.operation.rightward ? left : right, carry = from === rule.outside ? 0 : rule.meanings[from].carry ?? 0;
      const added = rule.hands[from] === "?" ? null : gridsum.columnOf(rule, x, below === rule.outside ? "" : rule.text(below), carry);
      becomes.replaceChildren(`${t("rule.becomes")} `, html("b", {}, describe(rule, rule.after(x, left, right, below))), ". ",
        added?.says || !added ? gridsum.sentenceOf(rule, added) : rule.t(added.carry ? "rule.carried" : "rule.plain", { ...added, digit: added.below }));
    }

    $("one-cell").replaceChildren(html("div", { class: "one-cell" },
      choice("left", names, ones[0]), choice("own", symbols, rule.operation.wide ? rule.empty : 1),
      choice("right", names, ones[1]), choice("below", names, ones[0])), becomes);
    document.querySelector("#rule figcaption").textContent = rule.t("rule.caption");
    tell();
    return {
      cell(seen) {
        $("one-cell").classList.toggle("lit", seen !== null);
        if (!seen) return;
        for (const [name, value] of Object.entries({ own: seen.x, left: seen.left, right: seen.right, below: seen.below })) choices[name].value = value;
        tell();
      },
    };
  }

  // All states by what they hand on, then by their digits; the blank ones last, and the start after them.
  function inOrder(rule) {
    const order = rule.states.map((_, state) => (rule.text(state) ? rule.base * (rule.meanings[state].carry ?? 99) + gridsum.DIGITS.indexOf(rule.text(state)) : state ? 9998 : 9999));
    return rule.states.map((_, state) => state).sort((a, b) => order[a] - order[b]);
  }

  // ---- why it stops -----------------------------------------------------------------------------------------

  function changes({ hero }) {
    const HEIGHT = 190, BOTTOM = 28;
    let mark = null, scale = null, newest = null;

    function sum(computation) {
      const WIDTH = Math.min(640, $("changes").clientWidth);
      if (!computation?.rule || WIDTH < 100) return;
      newest = computation;
      const { changes: counts, steps } = computation, most = Math.max(...sampled(counts), 1);
      scale = (n) => 20 + (n - 0.5) / (steps + 1) * (WIDTH - 40);
      const y = (value) => HEIGHT - BOTTOM - value / most * (HEIGHT - BOTTOM - 18);
      const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, role: "img", "aria-label": t("stop.label", { count: steps }) });
      const shown = sampled([...counts, 0]), wide = (WIDTH - 40) / shown.length;
      const { accent, line } = theme();
      shown.forEach((value, index) => {
        picture.append(svg("rect", { x: 20 + index * wide + wide * 0.1, y: y(value), width: Math.max(0.6, wide * 0.8), height: y(0) - y(value), fill: accent, rx: Math.min(3, wide / 6) }));
        if (shown.length <= 14) picture.append(svg("text", { x: 20 + (index + 0.5) * wide, y: y(value) - 6, class: "quiet-text", "text-anchor": "middle" }, gridsum.count(value)));
      });
      picture.append(svg("line", { x1: 20, x2: WIDTH - 20, y1: y(0), y2: y(0), stroke: line }));
      picture.append(svg("text", { x: 20, y: HEIGHT - 8, class: "quiet-text" }, t("stop.first")), svg("text", { x: WIDTH - 20, y: HEIGHT - 8, class: "quiet-text", "text-anchor": "end" }, t("stop.none")));
      mark = svg("circle", { r: 4, cy: y(0), fill: accent });
      picture.append(mark);
      $("changes").replaceChildren(picture);
      $("changes-caption").textContent = t("stop.caption", { sum: gridsum.shorten(computation.rule.joined(computation.terms), 40), count: steps });
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

  function healing({ rule, cell }) {
    const terms = gridsum.parse("31415926+27182818+14142135");
    const player = new gridsum.Player($("healing"), {
      label: t("player.grid"), most: 52, part: "steps", onCell: () => card.show(), onMoment: () => card.show(),
    });
    const card = new gridsum.Inspector($("healing-cell"), player, (...seen) => cell(card, ...seen));
    const calm = new gridsum.RuleComputation(rule, terms).completeNow();
    player.show(calm, calm.steps);
    $("scramble").addEventListener("click", () => player.scramble());
    $("scratch").addEventListener("click", () => {
      const { width } = player.film.scene.size, row = 1 + Math.floor(2 * Math.random()), column = width - 1 - Math.floor(8 * Math.random());
      player.choose(row, column);
      player.damageAndHeal([row * width + column]);
    });
    return { player };
  }

  gridsum.playWhenSeen = playWhenSeen;
  gridsum.figures = [actions, wave, following(bits), following(oneCell), changes, healing];
}
