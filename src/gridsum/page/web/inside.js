"use strict";
// Inside a network of the paper: where the heads of a cell look, when it stops, the ring of its digits.
{
  const { html, svg, theme, clamp, t } = gridsum;
  const $ = (id) => document.getElementById(id);
  const TERMS = ["Q·K", "s·K", "Q·r", "s·r"];

  function inside() {
    let measured = null, head = 0, opened = false;
    const note = (text) => { $("inside-note").textContent = text; };

    async function open() {
      if (opened) return;
      opened = true;
      const { name } = shared();
      note(t("inside.loading"));
      try {
        await gridsum.network(name);
        measured = await gridsum.inside(name);
        note("");
      } catch (error) {
        opened = false;
        note(error.message);
        return;
      }
      head = measured.heads.reduce((best, { position }, index, all) => (position > all[best].position ? index : best), 0);
      draw();
    }

    const shared = () => gridsum.app.figures.find((figure) => figure.watchers);

    function draw() {
      if (!measured || !$("inside").open) return;
      const { right } = shared(), computation = right.film?.computation;
      if (!computation) return;
      const cell = right.chosen ?? { row: 0, column: computation.size.width - 1 };
      const step = clamp(right.step, 0, computation.steps);
      drawAttention(computation, cell, step);
      drawHalting(computation, step);
      drawRing(computation, cell, step);
    }

    function drawAttention(computation, { row, column }, step) {
      const { network, grids, size } = computation, { heads, kernel } = network.model;
      const from = clamp(step - 1, 0, Math.max(0, computation.steps - 1));
      const [q, k] = network.project(grids[from]), weights = network.weights(q, k, size, row, column);
      const choose = (index) => { head = index; drawAttention(computation, { row, column }, step); };
      const tiles = Array.from({ length: heads }, (_, index) => {
        const of = Array.from({ length: kernel * kernel }, (_, place) => weights[place * heads + index]);
        return html("button", { type: "button", "aria-label": t("inside.head", { head: index }), "aria-pressed": String(index === head), onclick: () => choose(index) }, tile(of, kernel));
      });
      const focused = $("attention").contains(document.activeElement);
      $("attention").replaceChildren(html("div", { class: "heads" }, ...tiles), drawTerms(computation, q, k, row, column));
      if (focused) tiles[head].focus();
      const of = Array.from({ length: kernel * kernel }, (_, place) => weights[place * heads + head]);
      const best = of.indexOf(Math.max(...of)), { label } = measured.heads[head];
      $("attention-caption").textContent = t("inside.attention", {
        heads, row: row + 1, column: size.width - column, step: from + 1, head, share: Math.round(100 * of[best]),
        place: t(`inside.place-${best}`), kind: t(`inside.${label}`),
      });
    }

    // The score of a head for each neighbour is a sum of four terms (Eq. 8): what cells hold, and where they stand.
    function drawTerms(computation, q, k, row, column) {
      const { network, size } = computation, { width, heads, kernel } = network.model, part = width / heads, { height, width: columns } = size;
      const s = network.part("step.attention.query"), relative = network.part("step.attention.relative");
      const terms = TERMS.map(() => Array(kernel * kernel).fill(0)), own = (row * columns + column) * width;
      for (let place = 0; place < kernel * kernel; place += 1) {
        const r = row + Math.floor(place / kernel) - (kernel >> 1), c = column + (place % kernel) - (kernel >> 1);
        const outside = r < 0 || r >= height || c < 0 || c >= columns, other = (r * columns + c) * width;
        for (let e = head * part; e < (head + 1) * part; e += 1) {
          const bias = s ? s[e] : 0, query = q[own + e] - bias, key = outside ? 0 : k[other + e], position = relative[place * width + e];
          [query * key, bias * key, query * position, bias * position].forEach((value, term) => { terms[term][place] += value; });
        }
      }
      return html("div", { class: "terms" }, ...terms.map((values, term) => {
        const least = Math.min(...values), span = Math.max(...terms.map((one) => Math.max(...one) - Math.min(...one)), 1e-9);
        return html("figure", { title: values.map((value) => value.toFixed(2)).join("  ") },
          tile(values.map((value) => (value - least) / span), kernel), html("figcaption", {}, TERMS[term]));
      }));
    }

    function tile(weights, kernel) {
      const canvas = html("canvas", { width: kernel, height: kernel, "aria-hidden": "true" }), context = canvas.getContext("2d");
      context.fillStyle = theme().accent;
      weights.forEach((weight, place) => {
        context.globalAlpha = weight;
        context.fillRect(place % kernel, Math.floor(place / kernel), 1, 1);
      });
      return canvas;
    }

    function drawHalting(computation, step) {
      const WIDTH = 320, HEIGHT = 200, { halting, steps } = computation, { accent, line, ink } = theme();
      const caption = $("halting-caption");
      if (!halting.length) {
        $("halting").replaceChildren();
        caption.textContent = t("inside.fixed", { count: steps });
        return;
      }
      const x = (n) => 30 + (n + 0.5) / (steps + 1) * (WIDTH - 40), y = (share) => HEIGHT - 28 - share * (HEIGHT - 48);
      const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, role: "img", "aria-label": t("inside.chance") });
      for (const share of [0, 0.5, 1]) {
        picture.append(svg("line", { x1: 30, x2: WIDTH - 10, y1: y(share), y2: y(share), stroke: line }), svg("text", { x: 25, y: y(share) + 4, class: "quiet-text", "text-anchor": "end" }, share));
      }
      halting.forEach((chance, n) => {
        const wide = (WIDTH - 40) / (steps + 1) * 0.7;
        picture.append(svg("rect", { x: x(n) - wide / 2, y: y(chance), width: wide, height: y(0) - y(chance), fill: accent, "fill-opacity": n === step ? 1 : 0.45 }));
        if (steps < 16 || n % 5 === 0) picture.append(svg("text", { x: x(n), y: HEIGHT - 10, class: "quiet-text", "text-anchor": "middle" }, n));
      });
      picture.append(svg("line", { x1: x(steps), x2: x(steps), y1: y(1), y2: y(0), stroke: ink, "stroke-dasharray": "2 3" }));
      $("halting").replaceChildren(picture);
      caption.textContent = t(computation.capped ? "inside.capped" : "inside.stopped", { step: steps });
    }

    function drawRing(computation, { row, column }, step) {
      const SIZE = 300, { plane } = measured, { accent, faint, ink, card, quiet } = theme();
      const all = [...plane.points, ...plane.centroids], reach = Math.max(...all.map(({ x, y }) => Math.max(Math.abs(x), Math.abs(y)))) * 1.12;
      const put = (x, y) => [SIZE / 2 + x / reach * SIZE / 2, SIZE / 2 - y / reach * SIZE / 2];
      const picture = svg("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, width: SIZE, role: "img", "aria-label": t("inside.plane") });
      for (const point of plane.points) {
        const [cx, cy] = put(point.x, point.y);
        picture.append(svg("circle", { cx, cy, r: 1.8, fill: faint }));
      }
      const ring = [...plane.centroids, plane.centroids[0]].map(({ x, y }) => put(x, y).join());
      picture.append(svg("polyline", { points: ring.join(" "), fill: "none", stroke: quiet }));
      for (const { x, y, digit } of plane.centroids) {
        const [cx, cy] = put(x, y);
        picture.append(svg("circle", { cx, cy, r: 10, fill: card, stroke: quiet }), svg("text", { x: cx, y: cy + 4.5, "text-anchor": "middle", "font-size": 13 }, digit));
      }
      const path = computation.grids.map((grid) => onPlane(grid, row * computation.size.width + column));
      picture.append(svg("polyline", { points: path.slice(0, step + 1).map(([x, y]) => put(x, y).join()).join(" "), fill: "none", stroke: accent, "stroke-width": 2 }));
      const [cx, cy] = put(...path[step]);
      picture.append(svg("circle", { cx, cy, r: 6, fill: accent, stroke: ink }));
      $("ring").replaceChildren(picture);
      const { adjacent, winding } = plane;
      $("ring-caption").textContent = `${adjacent === null ? "" : `${t(winding === 1 ? "inside.ring" : "inside.pairs", { pairs: Math.round(10 * adjacent) })} `}${t("inside.path")}`;
    }

    function onPlane(grid, index) {
      const { mean, axes } = measured.plane, width = mean.length;
      return axes.map((axis) => axis.reduce((sum, weight, e) => sum + weight * (grid[index * width + e] - mean[e]), 0));
    }

    $("inside").addEventListener("toggle", () => { open().then(draw); });
    gridsum.onTheme(draw);
    queueMicrotask(() => shared().watchers.push(draw));
    return { draw };
  }

  gridsum.figures.push(inside);
}
