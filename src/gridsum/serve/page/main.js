// The page: what is asked, what is shown, and the step, cell and head that all views share.

import { get, post } from "./api.js";
import { html } from "./dom.js";
import { download, toPng, toSvg } from "./export.js";
import { hashOf, stateOf } from "./state.js";
import { View } from "./view.js";

const PLAY_MILLISECONDS = 550;
// The address follows the view after a moment's rest: browsers refuse to change it all the time.
const TELL_MILLISECONDS = 100;
// Grids of more columns than this have the whole width of the window.
const WIDE_COLUMNS = 14;
const $ = (id) => document.getElementById(id);

let state = stateOf(location.hash);
let models = [];
let views = [];
let asking = null;
let playing = null;
let telling = null;
// The cell that is looked at, for grids of any size: its row, and its column counted from the right.
let chosen = { row: 0, right: 0 };

function complain(message) {
  $("message").textContent = message;
  $("message").hidden = !message;
  $("expression").setAttribute("aria-invalid", message ? "true" : "false");
}

function known(name) {
  return models.find((model) => model.name === name);
}

function options(select, entries, chosen) {
  select.replaceChildren(...entries.map(([value, text]) => html("option", { value }, text)));
  select.value = entries.some(([value]) => value === chosen) ? chosen : entries[0][0];
}

function fillChoices() {
  const named = models.map(({ name, variant }) => [name, name === variant ? name : `${name} (${variant})`]);
  options($("model"), named, state.model);
  options($("compare"), [["", "nothing"], ...named], state.compare);
  fillRules();
  $("expression").value = state.expression;
  $("seed").value = state.seed;
}

function fillRules() {
  const model = known($("model").value);
  const rules = Object.keys(model.halting_rules);
  options($("halting"), [["", `${rules[0]} (its own)`], ...rules.slice(1).map((rule) => [rule, rule])], state.halting);
  $("halting").title = Object.entries(model.halting_rules).map(([rule, meaning]) => `${rule}: ${meaning}`).join("\n");
  $("seed-choice").hidden = ($("halting").value || rules[0]) !== "sampled";
}

function requestFor(model) {
  const halting = known(model).halting_rules[state.halting] ? state.halting : null;
  return { expression: state.expression, model, halting, seed: state.seed };
}

async function ask() {
  stop();
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  const wanted = [state.model, ...(state.compare ? [state.compare] : [])];
  $("views").setAttribute("aria-busy", "true");
  try {
    const requests = wanted.map(requestFor);
    const traces = await Promise.all(requests.map((request) => post("/trace", request, signal)));
    complain("");
    arrange(wanted);
    views.forEach((view, index) => view.show(traces[index], requests[index]));
    const { rows, columns } = traces[0];
    state.row = Math.min(state.row, rows - 1);
    state.column = state.column < 0 ? columns - 1 : Math.min(state.column, columns - 1);
    chosen = { row: state.row, right: columns - 1 - state.column };
    $("views").classList.toggle("wide", columns > WIDE_COLUMNS);
    $("step").max = Math.max(...traces.map((trace) => trace.steps));
    $("transport").hidden = $("keep").hidden = false;
    draw();
  } catch (error) {
    if (error.name === "AbortError") return;
    complain(error.message);
  }
  if (!signal.aborted) $("views").setAttribute("aria-busy", "false");
}

// Views are kept where the models stay the same, so that nothing flickers or is fetched twice.
function arrange(wanted) {
  const same = wanted.length === views.length && wanted.every((name, index) => views[index].model === name);
  if (same) return;
  for (const view of views) view.close();
  views = wanted.map((name, index) => new View(name, {
    goTo, chooseHead, choose: (row, column) => choose(views[index], row, column),
  }));
  $("views").classList.toggle("compared", views.length > 1);
  $("views").append(...views.map((view) => view.element));
}

function draw() {
  const last = Number($("step").max);
  state.step = Math.max(0, Math.min(last, state.step));
  $("step").value = state.step;
  $("step-name").textContent = `Step ${state.step} of ${last}`;
  for (const view of views) view.at({ ...state, ...placeIn(view) });
  clearTimeout(telling);
  telling = setTimeout(() => history.replaceState(null, "", hashOf(state)), TELL_MILLISECONDS);
}

function goTo(step) {
  state.step = step;
  draw();
}

// Two models may lay a sum out on grids of different sizes: the same place is as far from the right, where numbers end.
function placeIn(view) {
  const { rows, columns } = view.trace;
  return { row: Math.min(chosen.row, rows - 1), column: Math.max(0, columns - 1 - chosen.right) };
}

function choose(view, row, column) {
  chosen = { row, right: view.trace.columns - 1 - column };
  Object.assign(state, placeIn(views[0]));
  draw();
}

function chooseHead(head) {
  state.head = head;
  draw();
}

function stop() {
  clearInterval(playing);
  playing = null;
  $("play").textContent = "▶ Play";
  $("play").setAttribute("aria-label", "Play");
}

function play() {
  if (playing) {
    stop();
    return;
  }
  if (state.step >= Number($("step").max)) goTo(0);
  $("play").textContent = "❚❚ Pause";
  $("play").setAttribute("aria-label", "Pause");
  playing = setInterval(() => {
    goTo(state.step + 1);
    if (state.step >= Number($("step").max)) stop();
  }, PLAY_MILLISECONDS);
}

function submit(expression, step = 0) {
  Object.assign(state, {
    expression, step, model: $("model").value, compare: $("compare").value, halting: $("halting").value,
    seed: Math.max(0, Math.floor(Number($("seed").value) || 0)), column: -1, row: 0,
  });
  ask();
}

function keep(what) {
  $("kept").textContent = what;
  setTimeout(() => { if ($("kept").textContent === what) $("kept").textContent = ""; }, 4000);
}

function fileName(ending) {
  return `gridsum-${state.expression.replace(/[^0-9+]/g, "").replaceAll("+", "-").slice(0, 40)}.${ending}`;
}

async function copyLink() {
  try {
    const { origin, pathname } = location;
    await navigator.clipboard.writeText(`${origin}${pathname}${hashOf(state)}`);
    keep("link copied");
  } catch {
    keep("the link is in the address bar");
  }
}

const steps = { first: () => 0, back: () => state.step - 1, forward: () => state.step + 1, last: () => Number($("step").max) };

function listen() {
  $("ask").addEventListener("submit", (event) => { event.preventDefault(); submit($("expression").value); });
  for (const button of document.querySelectorAll("[data-example]")) {
    button.addEventListener("click", () => {
      $("expression").value = button.dataset.example;
      submit(button.dataset.example);
    });
  }
  $("model").addEventListener("change", () => { fillRules(); submit($("expression").value); });
  for (const id of ["compare", "seed"]) $(id).addEventListener("change", () => submit($("expression").value));
  $("halting").addEventListener("change", () => { state.halting = $("halting").value; fillRules(); submit($("expression").value); });
  $("step").addEventListener("input", () => { stop(); goTo(Number($("step").value)); });
  $("play").addEventListener("click", play);
  for (const [id, where] of Object.entries(steps)) $(id).addEventListener("click", () => { stop(); goTo(where()); });
  $("link").addEventListener("click", copyLink);
  $("svg").addEventListener("click", () => download(new Blob([toSvg(views)], { type: "image/svg+xml" }), fileName("svg")));
  $("png").addEventListener("click", async () => download(await toPng(toSvg(views)), fileName("png")));
  $("json").addEventListener("click", () => {
    const traces = views.map((view) => view.trace);
    const content = JSON.stringify(traces.length > 1 ? traces : traces[0]);
    download(new Blob([content], { type: "application/json" }), fileName("json"));
  });
  const keys = { " ": play, ArrowLeft: () => $("back").click(), ArrowRight: () => $("forward").click(),
    Home: () => $("first").click(), End: () => $("last").click() };
  document.addEventListener("keydown", (event) => {
    const free = !event.target.closest("input, select, button, summary, a, [role=application]");
    if (!free || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key] || $("transport").hidden) return;
    event.preventDefault();
    keys[event.key]();
  });
  window.addEventListener("hashchange", () => { state = stateOf(location.hash); begin(); });
}

function begin() {
  state.model = known(state.model)?.name ?? models[0].name;
  state.compare = known(state.compare)?.name ?? "";
  fillChoices();
  return ask();
}

try {
  models = await get("/models");
  listen();
  await begin();
} catch (error) {
  complain(error.message);
}
