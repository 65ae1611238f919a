"use strict";
// The page: which sum is shown by whom, what the address says, and which figures there are.
gridsum.spoken.then(async (language) => {
  gridsum.speak(language);
  const { html, still, t } = gridsum;
  const $ = (id) => document.getElementById(id);
  const PATIENCE_MS = 250;
  const { rules } = gridsum.data;
  const example = gridsum.exampleOf(rules.add);
  const state = { sum: example, model: "exact", task: "add", damage: "", view: "" };
  let working = 0; // the number of the newest computation; older ones give up
  let figures = [], owner = null; // the card whose cell is lit everywhere
  const adding = await gridsum.ruleOf("add");
  let rule = adding; // that of the sum or of the cell that was asked for last

  const hero = new gridsum.Player($("hero"), {
    label: t("player.grid"), onCell: () => card.show(), onMoment: () => told(), onDamage: () => hurt(),
  });
  const card = new gridsum.Inspector($("hero-cell"), hero, (...seen) => cell(card, ...seen));

  // One cell, everywhere: what it sees lights up in every figure.
  function cell(from, seen, of) {
    if (!seen && owner !== from) return;
    owner = seen ? from : null;
    if (seen) follow(of);
    figures.forEach((figure) => figure.cell?.(seen, from));
  }

  function follow(next) {
    if (next === rule) return;
    rule = next;
    figures.forEach((figure) => figure.follow?.(rule));
    for (const note of document.querySelectorAll(".of-rule")) {
      const key = note.closest("#proof") && rule.kind !== "add" ? "task.unproved" : "task.note";
      note.innerHTML = rule.task === "add" ? "" : t(key, { task: nameOf(rule), model: rule.model });
    }
  }

  const nameOf = ({ kind, base }) => t(`task.${kind}${base === 10 ? "" : "-base"}`, { base });

  // The sign says which operation is meant, in the base that is chosen.
  function meant(text, task) {
    const sign = gridsum.signIn(text), { base } = rules[task];
    if (!sign || rules[task].sign === sign) return task;
    return Object.keys(rules).find((other) => rules[other].base === base && rules[other].sign === sign) ?? task;
  }

  // Works a sum out with a model, a little at a time; null if something newer was asked meanwhile.
  async function compute(text, model, task) {
    working += 1;
    const mine = working, cancelled = () => mine !== working, terms = gridsum.parse(text, rules[task]);
    const computation = model === "exact" ? new gridsum.RuleComputation(await gridsum.ruleOf(task), terms)
      : new gridsum.PaperComputation(await gridsum.network(model), terms);
    return !cancelled() && await computation.complete(cancelled) && !cancelled() ? computation : null;
  }

  function complain(message) {
    $("message").textContent = message;
    $("message").hidden = !message;
    $("sum").setAttribute("aria-invalid", message ? "true" : "false");
  }

  // Shows a sum. What stands there stays, and stays in the address, until the new one is worked out.
  async function show(text, { model = state.model, task = state.task, damage = "", play = !still(), remember = true } = {}) {
    task = meant(text, task);
    if (task !== "add") model = "exact"; // the paper's networks do nothing else
    try {
      $("hero").setAttribute("aria-busy", "true");
      const patience = setTimeout(() => { hero.sentence.textContent = t("film.working"); }, PATIENCE_MS);
      const computation = await compute(text, model, task).finally(() => clearTimeout(patience));
      if (!computation) return;
      complain("");
      Object.assign(state, { sum: gridsum.brief(computation.terms, rules[task].sign), model, task, damage });
      $("sum").value = state.sum;
      $("model").value = model;
      $("model").parentElement.hidden = task !== "add";
      $("scores").textContent = task === "add" && gridsum.data.scores[model] ? t("model.scores", { model, ...gridsum.data.scores[model] }) : "";
      $("task").value = task;
      follow(computation.rule ?? adding);
      for (const [element, key] of [["label[for=sum]", "top.sum"], ["#ask button", "top.add"], ["#hint", "top.hint"]]) document.querySelector(element).innerHTML = rule.t(key, rule);
      $("sum").placeholder = gridsum.exampleOf(rules[task]);
      hero.show(computation, play ? null : computation.steps);
      figures.forEach((figure) => figure.sum?.(computation));
      if (remember) gridsum.remember(state);
      if (damage && computation.rule) restoreDamage(damage, play);
      else if (play) hero.play();
    } catch (error) {
      if (!(error instanceof gridsum.SumError)) throw error;
      complain(error.message);
      hero.go(hero.moment); // what was there before still stands there
    } finally {
      $("hero").removeAttribute("aria-busy");
    }
  }

  function restoreDamage(text, play) {
    hero.stepBy(Infinity);
    const pairs = gridsum.readDamage(text, hero.film.computation), [cells, states] = [0, 1].map((part) => pairs.map((pair) => pair[part]));
    if (!cells.length) return;
    if (play) hero.damageAndHeal(cells, states);
    else hero.damage(cells, states);
  }

  function hurt() {
    state.damage = gridsum.damageOf(hero.film.computation);
    gridsum.refresh(state);
  }

  function told() {
    if (hero.chosen) card.show();
    figures.forEach((figure) => figure.moment?.(hero));
  }

  // A thousand numbers of up to eight digits, the same each time.
  function thousand() {
    let seed = 1;
    const next = () => { seed = seed * 48271 % 2147483647; return seed; };
    return Array.from({ length: 1000 }, () => String(next() % 10 ** (1 + next() % 8))).join("+");
  }

  // On a small screen the grid may be out of sight, and the keyboard in its place.
  function lookAtGrid() {
    $("sum").blur();
    const { top, bottom } = $("hero").getBoundingClientRect();
    if (top < 0 || bottom > innerHeight) $("hero").scrollIntoView({ block: "end", behavior: still() ? "instant" : "smooth" });
  }

  function listen() {
    $("ask").addEventListener("submit", (event) => {
      event.preventDefault();
      show($("sum").value).then(() => { if ($("message").hidden) lookAtGrid(); });
    });
    // A line of text has no room for lines: numbers pasted under each other get a sign between them.
    $("sum").addEventListener("paste", (event) => {
      const text = event.clipboardData.getData("text");
      if (!/[\n\r]/.test(text.trim())) return;
      event.preventDefault();
      const { value, selectionStart, selectionEnd } = $("sum");
      $("sum").value = value.slice(0, selectionStart) + gridsum.inALine(text, gridsum.signIn(text) || rules[state.task].sign) + value.slice(selectionEnd);
    });
    for (const button of document.querySelectorAll("#examples [data-sum], #examples [data-make]")) {
      button.addEventListener("click", () => show(button.dataset.sum ?? thousand(), { task: button.dataset.task ?? "add" }).then(lookAtGrid));
    }
    $("break").addEventListener("click", () => hero.scramble());
    $("model").append(...[{ name: "exact" }, ...gridsum.data.models].map(({ name }) => html("option", { value: name }, gridsum.hasText(`model.${name}`) ? t(`model.${name}`) : name)));
    $("model").addEventListener("change", () => show(state.sum, { model: $("model").value }));
    $("task").append(...Object.entries(rules).map(([task, about]) => html("option", { value: task }, nameOf(about))));
    // The same numbers, written in the other base; of another operation, an example.
    $("task").addEventListener("change", () => {
      const task = $("task").value, { base, sign } = rules[task], before = rules[state.task];
      const same = () => gridsum.parse(state.sum, before).map((term) => gridsum.inBase(term, before.base, base)).join(sign);
      show(sign === before.sign ? same() : gridsum.exampleOf(rules[task]), { task, model: "exact" });
    });
    $("language").append(...Object.entries(gridsum.LANGUAGES).map(([name, title]) => html("option", { value: name, selected: name === language, lang: name }, title)));
    $("language").addEventListener("change", () => gridsum.chooseLanguage($("language").value));
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
    return show(wanted.sum ?? example, {
      model: known ? wanted.model : "exact", task: wanted.task in rules ? wanted.task : "add", damage: wanted.damage,
      play: !still() && !section, remember: false,
    }).then(() => (hero.film ? null : instead()));
  }

  // An address that cannot be shown is explained, and another sum stands there.
  async function instead() {
    const why = $("message").textContent;
    await show(example, { model: "exact", task: "add", remember: false });
    complain(why);
  }

  figures = gridsum.figures.map((make) => make({ rule, hero, show, state, cell }));
  if (gridsum.data.api) $("api-link").append(html("a", { href: "docs" }, t("more.api")), ".");
  listen();
  gridsum.share({ hero, state });
  gridsum.app = { hero, state, show, figures };
  openAddress(true);
});
