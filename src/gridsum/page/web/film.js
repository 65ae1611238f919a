"use strict";
// A computation as moments in time: first the symbols are written one by one, then step follows step.
{
  const MOST_LETTERS = 64; // longer sums are written at once
  const FIRM = 0.9; // how sure a network has to be of a symbol that looks firm

  const BLANK = 0, CHANGING = 1, SETTLED = 2, CARRY = 3; // kinds of cells, the more telling the higher

  // The step from which on each cell stays, and all below do, and those that news comes from: then it is right for a reason.
  function certainOf({ settled, rule, size: { height, width } }) {
    const certain = settled.slice(), way = rule.operation.rightward ? 1 : -1;
    for (let row = height - 1; row >= 0; row -= 1) {
      for (let count = 0; count < width; count += 1) {
        const index = row * width + (way > 0 ? count : width - 1 - count);
        if (count) certain[index] = Math.max(certain[index], certain[index - way]);
        if (row + 1 < height) certain[index] = Math.max(certain[index], certain[index + width]);
      }
    }
    return certain;
  }

  // What the cells of a proved rule show.
  class RuleScene {
    constructor(computation) {
      Object.assign(this, { computation, size: computation.size, steps: computation.steps, symbols: computation.symbols });
      this.rule = computation.rule;
      this.certain = certainOf(computation);
      const { states, hands } = computation.rule;
      this.shows = states.map((_, state) => (computation.rule.text(state) === "" ? BLANK : hands[state] ? CARRY : SETTLED));
    }

    // What a cell looks like from afar.
    kind(states, index, n) {
      const shows = this.shows[states[index]];
      return shows !== BLANK && this.certain[index] > n ? CHANGING : shows;
    }

    // After n steps: the letter, what is handed on, whether it will stay and looks firm, and whether it suffers from damage.
    cell(states, index, n) {
      const { rule, blamed, final } = this.computation, state = states[index];
      const stays = this.certain[index] <= n, hurt = blamed !== null && blamed[index] === 1 && state !== final[index];
      return { text: rule.text(state), carry: rule.name(this.computation.carryAt(states, index)), stays, firm: stays, wrong: false, hurt };
    }

    at(n) {
      return this.computation.at(n);
    }
  }

  // What the cells of a network show: the symbol that they read as, and how sure that is.
  class PaperScene {
    constructor(computation) {
      Object.assign(this, { computation, size: computation.size, steps: computation.steps });
      const { network, terms, size, exact } = computation;
      this.rule = { actions: network.chosen(), base: 10, sign: "+", signCell: 10, empty: 11 };
      this.symbols = gridsum.place(this.rule, terms, size);
      this.wanted = exact.padStart(size.width, " ").slice(-size.width);
    }

    at(n) {
      return this.computation.readings[gridsum.clamp(n, 0, this.steps)];
    }

    kind({ symbols }, index, n) {
      return symbols[index] === 0 ? BLANK : n >= this.steps ? SETTLED : CHANGING;
    }

    cell({ symbols, confidence }, index, n) {
      const { width } = this.size, text = " 0123456789+="[symbols[index]].trim();
      const last = n >= this.steps && index < width;
      const wrong = last && text !== this.wanted[index].trim();
      // The blank start of a wrong answer has to show where a digit is missing.
      return { text: wrong && !text ? "×" : text, carry: "", stays: last, firm: confidence[index] > FIRM, wrong, hurt: false };
    }
  }

  class Film {
    // `part` is "writing" or "steps" where only that part is to be seen.
    constructor(computation, part = "all") {
      this.computation = computation;
      this.scene = computation.rule ? new RuleScene(computation) : new PaperScene(computation);
      const { rule } = this.scene, input = `${computation.terms.join(gridsum.shown(rule.sign))}=`;
      this.letters = part === "steps" || input.length > MOST_LETTERS ? [] : [...input];
      this.writing = computation.disturbed ? 0 : this.letters.length;
      this.last = this.writing + (part === "writing" ? 0 : computation.steps);
      this.acts = this.letters.length ? gridsum.encode(computation.terms, rule.base).map((symbol) => rule.actions[symbol]) : [];
    }

    // The step at a moment; negative while symbols are written.
    stepAt(moment) {
      return moment - this.writing;
    }

    momentOf(step) {
      return gridsum.clamp(step + this.writing, 0, this.last);
    }

    // Where each symbol stands once `count` of them are written: row from the top, column from the right.
    places(count) {
      const found = [];
      let row = 0, right = 0;
      for (let index = count - 1; index >= 0; index -= 1) {
        const act = this.acts[index];
        if (act === 2) continue;
        found.push({ index, letter: this.letters[index], row, right });
        if (act === 1) {
          row += 1;
          right = 0;
        } else {
          right += 1;
        }
      }
      return found.reverse();
    }

    // Milliseconds from the moment before to this one.
    duration(moment) {
      if (moment <= this.writing) {
        const each = gridsum.clamp(3000 / this.writing, 70, 240);
        return moment === this.writing ? each + 700 : each;
      }
      const { steps } = this.computation;
      const first = moment === this.writing + 1 ? 350 : 0;
      return gridsum.clamp(9000 / steps, 16, 1150) + (moment === this.last ? 300 : first);
    }

    // Steps of long computations that are taken at once, so that no film lasts much longer than 20 seconds.
    get stride() {
      return Math.max(1, Math.round(this.computation.steps / 1200));
    }
  }

  // ---- sentences ----------------------------------------------------------------------------------------------

  const { t, shorten } = gridsum;

  function narrate(film, moment) {
    const step = film.stepAt(moment), { computation } = film;
    const written = moment === film.writing && film.writing > 0 && computation.steps > 0;
    if (step < 0 || written) return ofWriting(film, moment);
    if (!computation.rule) return ofNetwork(computation, step);
    if (step === 0 && computation.steps > 0) {
      return computation.disturbed ? t("film.disturbed") : t("film.start", { count: computation.terms.length });
    }
    return step >= computation.steps ? ofRest(computation) : ofStep(film, step);
  }

  function ofWriting(film, moment) {
    if (moment === 0) return t("film.given");
    const letter = film.letters[moment - 1], act = film.acts[moment - 1];
    if (letter === "=") return t("film.written");
    return t(["film.writes", "film.opens", "film.skips"][act], { letter });
  }

  function ofRest(computation) {
    const { steps, disturbed } = computation, told = t("film.rest", { answer: shorten(computation.answer), count: steps });
    return disturbed ? `${t("film.healed")} ${told}` : told;
  }

  // The last step in which anything changed in each row.
  function rowsOf(computation) {
    if (!computation.rowSettled) {
      const { settled, size: { height, width } } = computation;
      computation.rowSettled = Array.from({ length: height }, (_, row) => {
        let last = 0;
        for (let column = 0; column < width; column += 1) last = Math.max(last, settled[row * width + column]);
        return last;
      });
    }
    return computation.rowSettled;
  }

  function ofStep(film, step) {
    const { computation } = film, rows = rowsOf(computation), { terms } = computation;
    const done = rows.findIndex((last, row) => last === step && row < terms.length);
    if (done >= 0 && rows.slice(done).every((last) => last <= step)) return ofRow(computation, done, step);
    return newest(film, step) ?? computation.rule.t(step === 1 ? "film.guess" : "film.news");
  }

  function ofRow(computation, row, step) {
    const { terms, rule } = computation, sum = computation.readRow(step, row), shown = terms.length - row;
    const values = { row: row + 1, sum: shorten(sum), count: shown };
    if (shown === 1) return t("film.row-first", values);
    return shown <= 3 && sum.length <= 10 ? rule.t("film.row-terms", { ...values, terms: rule.joined(terms.slice(0, shown)) }) : rule.t("film.row-many", values);
  }

  // What a column does, in letters; `letter` is what is below.
  function columnOf(rule, symbol, letter, carry, last = false) {
    const { operation, base } = rule, text = (number) => number?.toString(base) ?? t("film.nothing");
    const found = operation.column(base, symbol < base ? symbol : null, letter ? gridsum.DIGITS.indexOf(letter) : null, carry);
    if (!found) return null;
    const hands = last && operation.rightward ? "" : rule.name(found.hands), write = text(last ? found.write ?? 0 : found.write);
    return { ...found, own: text(found.own), below: text(found.below), carry: found.carry && text(found.carry), sum: text(found.sum), write, hands };
  }

  // What that of a cell of a grid does.
  function columnAt(computation, states, index) {
    const { symbols, rule, size: { height, width } } = computation, last = (index + 1) % width === 0, { rightward } = rule.operation;
    const letter = index + width < height * width ? rule.text(states[index + width]) : "";
    const carry = (rightward ? index % width === 0 : last) ? 0 : computation.carryAt(states, index + (rightward ? -1 : 1));
    return columnOf(rule, symbols[index], letter, carry, last);
  }

  // A column in which something has just been settled, as a person would work it out; best one with a carry.
  function newest({ computation, scene: { certain } }, step) {
    const { symbols, rule, size: { height, width } } = computation, states = computation.at(step);
    let plain = null;
    for (let row = height - 3; row >= 0; row -= 1) { // over the first number
      for (let column = 0; column < width; column += 1) {
        const index = row * width + column;
        if (certain[index] !== step || (symbols[index] === rule.empty && !rule.operation.wide) || !rule.text(states[index])) continue;
        const added = columnAt(computation, states, index);
        if (!added || added.says || (added.own === "0" && added.below === "0")) continue;
        if (added.carry) return ofColumn(rule, row, added);
        plain ??= ofColumn(rule, row, added);
      }
    }
    return plain;
  }

  const ofColumn = (rule, row, added) => `${t("film.row", { row: row + 1 })} ${sentenceOf(rule, added)}`;

  // In words: 7 + 5 and a carry make 13: write 3, carry 1.
  function sentenceOf(rule, added) {
    if (!added) return "";
    return added.says ? t(added.says, added) : `${rule.t(added.carry ? "film.adds-carry" : "film.adds", added)} ${rule.t(added.hands ? "film.writes-carries" : "film.writes-only", added)}`;
  }

  function ofNetwork(computation, step) {
    const { steps, halting, answer, exact, restless, network: { name } } = computation, nothing = t("film.nothing");
    if (step >= steps) {
      const verdict = answer === exact ? t("film.right") : t("film.wrong", { exact: shorten(exact) });
      return `${t(restless ? "film.restless" : "film.stops", { name, count: steps, answer: shorten(answer) || nothing })} ${verdict}`;
    }
    const chance = halting[step], reads = t("film.reads", { step, text: shorten(computation.readRow(step, 0)) || nothing });
    if (chance === undefined) return reads;
    return `${reads} ${chance < 0.005 ? t("film.goes-on") : t("film.may-stop", { share: Math.round(100 * chance) })}`;
  }

  Object.assign(gridsum, { Film, narrate, rowsOf, columnOf, columnAt, sentenceOf });
}
