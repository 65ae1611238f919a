"use strict";
// The same sum for both: the proved rule, and a network of the paper; one clock, and the verdict last.
{
  const { still, shorten, t } = gridsum;
  const $ = (id) => document.getElementById(id);
  const AT_ONCE = 20;

  // A sum as the network was trained on, but for zeros in front.
  function randomSum({ terms: [, mostTerms], digits: [, mostDigits] }) {
    const any = (low, high) => low + Math.floor(Math.random() * (high - low + 1));
    const number = (digits) => Array.from({ length: digits }, (_, place) => any(place || digits === 1 ? 0 : 1, 9)).join("");
    return Array.from({ length: any(2, mostTerms) }, () => number(any(1, mostDigits)));
  }

  function race({ rule }) {
    const left = new gridsum.Player($("race-exact"), { label: t("race.exact-label"), most: 40, onMoment: () => told() });
    const right = new gridsum.Player($("race-base"), { label: t("race.base-label"), most: 40, follows: left, onMoment: () => told(), onCell: () => told() });
    $("race-transport").append(left.transport);
    const name = gridsum.data.models[0]?.name, watchers = [], tried = { count: 0, right: 0 };
    let newest = 0, started = false, verdict = "";
    const note = (text) => { $("race-note").textContent = text; };
    $("race").hidden = !name;
    $("race-name").textContent = name ?? "";

    function told() {
      if (left.film && right.film && !left.playing) note(left.atEnd ? verdict : "");
      for (const watcher of watchers) watcher(right);
    }

    // Both are worked out before the film begins; what came of it is said at its end.
    async function open(terms, play = !still()) {
      newest += 1;
      const mine = newest, late = () => mine !== newest, text = terms.join("+");
      for (const button of $("race-sums").querySelectorAll("[data-sum]")) button.setAttribute("aria-pressed", String(button.dataset.sum === text));
      try {
        const other = new gridsum.PaperComputation(await network(), terms), exact = new gridsum.RuleComputation(rule, terms);
        if (!await exact.complete(late) || !await other.complete(late)) return;
        verdict = verdictOf(other);
        $("race").classList.add("open");
        right.show(other, 0);
        left.show(exact, 0);
        if (play) left.play();
        else left.stepBy(Infinity);
      } catch (error) {
        if (!(error instanceof gridsum.SumError)) throw error;
        note(error.message);
      }
    }

    async function network() {
      note(t("race.loading"));
      const loaded = await gridsum.network(name);
      note("");
      return loaded;
    }

    // Why it is wrong is measured: its cells go on without it.
    function verdictOf(other) {
      const { steps, answer, exact, terms } = other, values = { name, count: steps, answer: shorten(answer) || t("film.nothing"), exact: shorten(exact), sum: shorten(terms.join("+"), 48) };
      if (answer === exact) return t("race.both", values);
      const needed = other.wouldBeRight();
      return needed ? t("race.early", { ...values, needed }) : t("race.wrong", values);
    }

    // Tries random sums, counts what it gets right, and shows the last one or the first that it gets wrong.
    async function tryRandom(times) {
      const loaded = await network();
      for (let attempt = 1; attempt <= times; attempt += 1) {
        const made = new gridsum.PaperComputation(loaded, randomSum(loaded.task));
        await made.complete();
        tried.count += 1;
        tried.right += made.answer === made.exact ? 1 : 0;
        $("race-count").textContent = t("race.count", { name, ...tried });
        if (attempt === times || made.answer !== made.exact) return open(made.terms);
      }
    }

    for (const button of $("race-sums").querySelectorAll("[data-sum]")) button.addEventListener("click", () => open(gridsum.parse(button.dataset.sum)));
    $("race-random").addEventListener("click", () => tryRandom(1));
    $("race-many").addEventListener("click", () => tryRandom(AT_ONCE));
    if (name) {
      gridsum.watch($("race"), (seen) => {
        if (!seen) left.pause();
        if (!seen || started) return;
        started = true;
        open(["523", "102", "9416"]);
      }, 0.05);
    }
    return { open, left, right, name, watchers };
  }

  gridsum.figures.push(race);
}
