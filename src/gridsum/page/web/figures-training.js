"use strict";
// How a run learned: one sum, worked out by its network at a dozen moments of its training.
{
  const { html, svg, theme, t, still, count } = gridsum;
  const $ = (id) => document.getElementById(id);
  const HEIGHT = 170, TOP = 30, LEFT = 52, RIGHT = 12, BOTTOM = 22;
  const MOMENT_MS = 900;

  function training() {
    const player = new gridsum.Player($("learning"), { label: t("training.label"), most: 46, part: "steps" });
    const slider = html("input", { type: "range", min: 0, value: 0, "aria-label": t("training.slider") });
    const play = html("button", { type: "button", class: "primary", onclick: () => sweep() }, t("training.play"));
    const told = html("p", { class: "learned", role: "status" });
    let data = null, networks = [], terms = [], timer = null;
    $("training-curve").after(html("div", { class: "training-line" }, slider), told, html("div", { class: "chips" }, play));

    async function load() {
      if (data) return;
      told.textContent = t("training.loading");
      await gridsum.loadScript("learned.js");
      await gridsum.loadScript("training.js");
      data = gridsum.training;
      $("training").classList.add("open");
      slider.max = data.moments.length - 1;
      networks = await Promise.all(data.moments.map((moment) => gridsum.LearnedNetwork.from(moment, data.shape, t("training.network"))));
      terms = [58, 67].map((number) => number.toString(data.shape.base));
      $("training-sum").value = terms.join("+");
      // Broken between options alone.
      $("training-command").replaceChildren(...data.command.split(/ (?=--)/).flatMap((part) => [html("span", {}, part), " "]));
      draw();
      go(still() ? data.moments.length - 1 : 0);
    }

    const phaseAt = (step) => (step >= data.steps ? "" : data.phases.find(([, until]) => step < until)[0]);
    const nameOf = (index) => (index === data.at.length - 1 ? t("training.polished") : t("training.after", { step: data.at[index], steps: data.steps }));

    function go(index) {
      slider.value = index;
      const computation = new gridsum.LearnedComputation(networks[index], terms);
      player.show(computation, computation.steps);
      const phase = phaseAt(data.at[index]), seen = data.at[index] * data.batch;
      told.replaceChildren(html("b", {}, `${nameOf(index)}${phase ? ` · ${t(`training.phase-${phase}`)}` : ""}`), " ",
        t("training.told", { sums: seen, share: Math.round(100 * data.heldOut[index]) }));
      slider.setAttribute("aria-valuetext", nameOf(index));
      draw();
    }

    // From the first moment to the last, by itself.
    function sweep() {
      clearInterval(timer);
      let index = 0;
      go(0);
      timer = setInterval(() => {
        index += 1;
        go(index);
        if (index >= data.moments.length - 1) clearInterval(timer);
      }, MOMENT_MS);
    }

    // The share of held-out sums right, with the phases of training behind it; the slider below has the same moments.
    function draw() {
      const width = Math.min(720, $("training-curve").clientWidth);
      if (!data || !width) return;
      const last = data.at.length - 1, { accent, accentSoft, card, edge, ink } = theme();
      const x = (index) => LEFT + index / last * (width - LEFT - RIGHT), y = (share) => HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP);
      const where = (step) => x((last - 1) * step / data.steps);
      const picture = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, role: "img", "aria-label": t("training.curve") });
      let from = x(0);
      data.phases.concat([["polish", null]]).forEach(([name, until], place) => {
        const to = until === null ? x(last) : where(until);
        picture.append(svg("rect", { x: from, y: TOP - 6, width: to - from, height: HEIGHT - BOTTOM - TOP + 6, fill: place % 2 ? accentSoft : card }));
        const label = (at, anchor) => picture.append(svg("text", { x: at, y: TOP - 12, class: "quiet-text", "text-anchor": anchor }, t(`training.short-${name}`)));
        if (until === null) label(to, "end");
        else if (to - from > 44) label((from + to) / 2, "middle");
        from = to;
      });
      for (const share of [0, 0.5, 1]) {
        picture.append(svg("line", { x1: LEFT, x2: width - RIGHT, y1: y(share), y2: y(share), stroke: edge, "stroke-dasharray": share ? "2 4" : "none" }));
        picture.append(svg("text", { x: LEFT - 10, y: y(share) + 4, class: "quiet-text", "text-anchor": "end" }, `${count(100 * share)}%`));
      }
      picture.append(svg("polyline", { points: data.heldOut.map((share, index) => `${x(index)},${y(share)}`).join(" "), fill: "none", stroke: accent, "stroke-width": 2.5 }));
      data.heldOut.forEach((share, index) => picture.append(svg("circle", { cx: x(index), cy: y(share), r: index === Number(slider.value) ? 7 : 3, fill: accent, stroke: ink, "stroke-width": index === Number(slider.value) ? 2 : 0 })));
      $("training-curve").replaceChildren(picture);
    }

    slider.addEventListener("input", () => { clearInterval(timer); go(Number(slider.value)); });
    $("training-ask").addEventListener("submit", async (event) => {
      event.preventDefault();
      const before = terms, asked = $("training-sum").value;
      try {
        await load();
        terms = gridsum.parse(asked, data.shape);
        go(Number(slider.value));
      } catch (error) {
        if (!(error instanceof gridsum.SumError)) throw error;
        terms = before;
        told.textContent = error.message;
      }
    });
    gridsum.onTheme(draw);
    addEventListener("beforeprint", () => {
      clearInterval(timer);
      if (data) go(data.moments.length - 1);
    });
    new ResizeObserver(draw).observe($("training-curve"));
    let started = false;
    gridsum.watch($("training"), async (seen) => {
      if (!seen) clearInterval(timer);
      if (!seen || started) return;
      started = true;
      await load();
      if (!still()) sweep();
    }, 0.3);
    return { player, slider };
  }

  gridsum.figures.push(training);
}
