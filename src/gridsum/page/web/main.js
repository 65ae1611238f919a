"use strict";
// The page: which sum is shown by whom, what the address says, and which figures there are.
{
  const { html, still, shorten } = gridsum;
  const $ = (id) => document.getElementById(id);
  const DEFAULT_SUM = "523+102+9416";
  const PATIENCE_MS = 250;
  const rule = gridsum.makeRule(gridsum.data.rule);
  let working = 0; // the number of the newest computation; older ones give up

  const hero = new gridsum.Player($("hero"), {
    label: "The grid of the sum. Arrow keys choose a cell.", onCell: () => card.show(), onMoment: () => told(),
  });
  const card = new gridsum.Inspector($("hero-cell"), hero, (codes) => disturb(codes));
  const state = { sum: DEFAULT_SUM, model: "exact", step: null, view: "" };

  // Works a sum out with a model, a little at a time; null if something newer was asked meanwhile.
  async function compute(terms, model) {
    working += 1;
    const mine = working;
    const cancelled = () => mine !== working;
    const made = model === "exact" ? new gridsum.RuleComputation(rule, terms)
      : new gridsum.PaperComputation(await gridsum.network(model), terms);
    return !cancelled() && await made.complete(cancelled) && !cancelled() ? made : null;
  }

  function complain(message) {
    $("message").textContent = message;
    $("message").hidden = !message;
    $("sum").setAttribute("aria-invalid", message ? "true" : "false");
  }

  // Shows a sum. What stands there stays, and stays in the address, until the new one is worked out.
  async function show(text, { model = state.model, step = null, play = !still(), remember = true } = {}) {
    try {
      const terms = gridsum.parse(text);
      $("hero").setAttribute("aria-busy", "true");
      const patience = setTimeout(() => { hero.sentence.textContent = "Working it out …"; }, PATIENCE_MS);
      const made = await compute(terms, model).finally(() => clearTimeout(patience));
      if (!made) return;
      complain("");
      Object.assign(state, { sum: gridsum.brief(terms), model, step });
      if (document.activeElement !== $("sum")) $("sum").value = state.sum;
      $("model").value = model;
      hero.show(made, step ?? (play ? null : made.steps));
      card.show();
      figures.forEach((figure) => figure.sum?.(made));
      if (remember) gridsum.remember(state);
      if (play && step === null) hero.play();
    } catch (error) {
      if (!(error instanceof gridsum.SumError)) throw error;
      complain(error.message);
      hero.go(hero.moment); // what was there before still stands there
    } finally {
      $("hero").removeAttribute("aria-busy");
    }
  }

  function disturb(codes) {
    const made = new gridsum.RuleComputation(rule, hero.film.computation.terms, codes).completeNow();
    const { chosen } = hero;
    hero.show(made, 0);
    if (chosen) hero.choose(chosen.row, chosen.column);
    if (!still()) hero.play();
  }

  function told() {
    state.step = hero.playing ? null : hero.step;
    if (!hero.playing) gridsum.refresh(state);
    if (hero.chosen && !hero.playing) card.show();
    figures.forEach((figure) => figure.moment?.(hero));
  }

  // A thousand numbers of up to eight digits, the same each time.
  function thousand() {
    let seed = 1;
    const next = () => { seed = seed * 48271 % 2147483647; return seed; };
    return Array.from({ length: 1000 }, () => String(next() % 10 ** (1 + next() % 8))).join("+");
  }

  function listen() {
    $("ask").addEventListener("submit", (event) => {
      event.preventDefault();
      show($("sum").value);
    });
    for (const button of $("ask").querySelectorAll("[data-sum], [data-make]")) {
      button.addEventListener("click", () => {
        const text = button.dataset.sum ?? thousand();
        $("sum").value = shorten(text, 2000);
        show(text);
      });
    }
    $("model").append(...[{ name: "exact", use: "proved to add any sum" }, ...gridsum.data.models].map(({ name, use }) =>
      html("option", { value: name }, use ? `${name}: ${shorten(use.split(":").pop().trim(), 60)}` : name)));
    $("model").addEventListener("change", () => show(state.sum, { model: $("model").value }));
    window.addEventListener("popstate", () => openAddress());
  }

  // What the address says; a link to a section says nothing of the sum, which then stays.
  function openAddress(first = false) {
    const wanted = gridsum.recall(), section = wanted.view && document.getElementById(wanted.view);
    if (section) {
      section.scrollIntoView({ behavior: first ? "instant" : "auto" });
      state.view = wanted.view;
    }
    if (wanted.sum === null && !first) return gridsum.refresh(state);
    const known = wanted.model === "exact" || gridsum.data.models.some(({ name }) => name === wanted.model);
    const play = !still() && !section;
    return show(wanted.sum ?? DEFAULT_SUM, { model: known ? wanted.model : "exact", step: wanted.step, play, remember: false })
      .then(() => (hero.film ? null : instead()));
  }

  // An address that cannot be shown is explained, and another sum stands there.
  async function instead() {
    const why = $("message").textContent;
    await show(DEFAULT_SUM, { model: "exact", remember: false });
    complain(why);
  }

  function facts() {
    const { proof } = gridsum.data;
    const known = { ...proof, entries: rule.steps.length };
    for (const element of document.querySelectorAll("[data-fact]")) {
      element.textContent = known[element.dataset.fact].toLocaleString("en");
    }
    document.querySelector(".version").textContent = `gridsum ${gridsum.data.version}.`;
    if (gridsum.data.api) $("api-link").append(html("a", { href: "docs" }, "The API of this server"), ".");
  }

  const figures = gridsum.figures.map((make) => make({ rule, hero, show, state }));
  facts();
  listen();
  gridsum.share({ hero, state });
  gridsum.app = { hero, state, show, figures, rule };
  openAddress(true);
}
