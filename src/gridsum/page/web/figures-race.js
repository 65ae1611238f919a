"use strict";
// The same sum for both: the proved rule, and a network of the paper.
{
  const { still, shorten, count } = gridsum;
  const $ = (id) => document.getElementById(id);
  const MOST_TRIES = 60, WITHIN = 8;

  // A few sums as large as the network was trained on, then higher ones; half of them full of nines and zeros.
  function candidate(attempt, { terms: [, mostTerms], digits: [, mostDigits] }) {
    const within = attempt <= WITHIN;
    const any = (low, high) => low + Math.floor(Math.random() * (high - low + 1));
    const numbers = within ? any(2, mostTerms) : any(mostTerms + 1, 2 * mostTerms + 2);
    const letters = Math.random() < 0.5 ? "0123456789" : "0999";
    return Array.from({ length: numbers }, () => Array.from({ length: any(1, within ? mostDigits : 6) }, () => letters[any(0, letters.length - 1)]).join(""));
  }

  function race({ rule }) {
    const left = new gridsum.Player($("race-exact"), { label: "The grid of exact", most: 40, onMoment: () => {} });
    const right = new gridsum.Player($("race-base"), { label: "The grid of the paper’s network", most: 40, onMoment: () => told(), onCell: () => told() });
    const name = gridsum.data.models[0]?.name;
    const note = (text) => { $("race-note").textContent = text; };
    const watchers = [];
    let newest = 0, started = false;
    if (!name) $("race").hidden = true;
    $("race-name").textContent = name ?? "";

    function told() {
      for (const watcher of watchers) watcher(right);
    }

    async function open(text, play = !still()) {
      newest += 1;
      const mine = newest, terms = gridsum.parse(text);
      for (const button of $("race-sums").querySelectorAll("[data-sum]")) button.setAttribute("aria-pressed", String(button.dataset.sum === text));
      try {
        note("loading the paper’s network …");
        const network = await gridsum.network(name);
        const exact = new gridsum.RuleComputation(rule, terms), other = new gridsum.PaperComputation(network, terms);
        const done = await exact.complete(() => mine !== newest) && await other.complete(() => mine !== newest);
        if (!done) return null;
        const verdict = other.answer === other.exact ? "Both are right." : `${name} is wrong.`;
        note(`${shorten(terms.join("+"), 48)} = ${shorten(other.exact)}. ${verdict}`);
        left.show(exact, play ? null : exact.steps);
        right.show(other, play ? null : other.steps);
        if (play) {
          left.play();
          right.play();
        }
        return other;
      } catch (error) {
        if (!(error instanceof gridsum.SumError)) throw error;
        note(error.message);
        return null;
      }
    }

    async function findBreak() {
      $("find-break").disabled = true;
      newest += 1;
      try {
        note("loading the paper’s network …");
        const network = await gridsum.network(name);
        for (let attempt = 1; attempt <= MOST_TRIES; attempt += 1) {
          const terms = candidate(attempt, network.task), made = new gridsum.PaperComputation(network, terms);
          note(`trying sums: ${count(attempt)} so far`);
          await made.complete();
          if (made.answer !== made.exact) {
            await open(terms.join("+"));
            note(`After ${count(attempt)} random sum${attempt === 1 ? "" : "s"}: ${shorten(terms.join("+"), 60)}. ${name} says ${shorten(made.answer) || "nothing"}, not ${shorten(made.exact)}.`);
            return;
          }
        }
        note(`${MOST_TRIES} random sums, and all right. Try again.`);
      } catch (error) {
        if (!(error instanceof gridsum.SumError)) throw error;
        note(error.message);
      } finally {
        $("find-break").disabled = false;
      }
    }

    for (const button of $("race-sums").querySelectorAll("[data-sum]")) button.addEventListener("click", () => open(button.dataset.sum));
    $("find-break").addEventListener("click", findBreak);
    if (name) {
      gridsum.watch($("race"), (seen) => {
        if (!seen || started) return;
        started = true;
        open("11134+1+1+1+1+1");
      }, 0.05);
    }
    return { open, left, right, name, watchers };
  }

  gridsum.figures.push(race);
}
