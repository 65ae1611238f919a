"use strict";
// A computation as moments in time: first the symbols are written one by one, then step follows step.
{
  const MOST_LETTERS = 64; // longer sums are written at once
  const EMPTY = 11;
  const FIRM = 0.9; // how sure a network has to be of a symbol that looks firm

  const BLANK = 0, CHANGING = 1, SETTLED = 2, CARRY = 3; // kinds of cells, the more telling the higher

  // The step from which on each cell stays, and all to its right and below do: then it is right for a reason.
  function certainOf({ settled, size: { height, width } }) {
    const certain = settled.slice();
    for (let row = height - 1; row >= 0; row -= 1) {
      for (let column = width - 1; column >= 0; column -= 1) {
        const index = row * width + column;
        if (column + 1 < width) certain[index] = Math.max(certain[index], certain[index + 1]);
        if (row + 1 < height) certain[index] = Math.max(certain[index], certain[index + width]);
      }
    }
    return certain;
  }

  // What the cells of the proved rule show.
  class RuleScene {
    constructor(computation) {
      Object.assign(this, { computation, size: computation.size, steps: computation.steps, symbols: computation.symbols });
      this.actions = computation.rule.actions;
      this.certain = certainOf(computation);
      const { codes, carries } = computation.rule;
      this.shows = codes.map((_, code) => (computation.rule.text(code) === "" ? BLANK : carries[code] ? CARRY : SETTLED));
    }

    // What a cell looks like from afar.
    kind(codes, index, n) {
      const shows = this.shows[codes[index]];
      return shows !== BLANK && this.certain[index] > n ? CHANGING : shows;
    }

    // After n steps: the letter, whether a carry goes to the left, whether it will stay and looks firm.
    cell(codes, index, n) {
      const { rule } = this.computation, code = codes[index];
      const stays = this.certain[index] <= n;
      return { text: rule.text(code), carry: rule.carries[code] === 1 && code !== 0, stays, firm: stays, wrong: false };
    }

    at(n) {
      return this.computation.at(n);
    }
  }

  // What the cells of a paper's network show: the symbol that they read as, and how sure that is.
  class PaperScene {
    constructor(computation) {
      Object.assign(this, { computation, size: computation.size, steps: computation.steps });
      const { network, terms, size, exact } = computation;
      this.actions = network.actions().map((chances) => chances.indexOf(Math.max(...chances)));
      this.symbols = gridsum.place({ actions: this.actions }, terms, size);
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
      return { text: wrong && !text ? "×" : text, carry: false, stays: last, firm: confidence[index] > FIRM, wrong };
    }
  }

  class Film {
    // `part` is "writing" or "steps" where only that part is to be seen.
    constructor(computation, part = "all") {
      this.computation = computation;
      this.scene = computation.rule ? new RuleScene(computation) : new PaperScene(computation);
      const input = `${computation.terms.join("+")}=`;
      this.letters = part === "steps" || computation.disturbed || input.length > MOST_LETTERS ? [] : [...input];
      this.writing = this.letters.length;
      this.last = this.writing + (part === "writing" ? 0 : computation.steps);
      this.acts = this.letters.map((letter) => this.scene.actions[letter === "+" ? 11 : letter === "=" ? 12 : Number(letter) + 1]);
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

  const { count, shorten } = gridsum;

  function narrate(film, moment) {
    const step = film.stepAt(moment), { computation } = film;
    const written = moment === film.writing && film.writing > 0 && computation.steps > 0;
    if (moment < film.writing || written) return ofWriting(film, moment);
    if (!computation.rule) return ofPaper(computation, step);
    if (step === 0) {
      return computation.disturbed ? "Some cells now hold something wrong. The sum itself is still written in the corners."
        : `${count(computation.terms.length)} numbers stand under each other. Every cell begins in the same state.`;
    }
    if (step >= computation.steps) return ofRest(computation);
    return ofStep(film, step);
  }

  function ofWriting(film, moment) {
    if (moment === 0) return "The sum, as the network gets it: one symbol after the other.";
    const letter = film.letters[moment - 1], act = film.acts[moment - 1];
    if (letter === "=") {
      return "It reads = and skips it. The sum is written down. Now each cell looks at its neighbours, all at once.";
    }
    if (act === 1) return `It reads ${letter} and opens a new row above.`;
    return act === 0 ? `It reads ${letter} and writes it at the right end of the top row.` : `It reads ${letter} and skips it.`;
  }

  function ofRest(computation) {
    const answer = shorten(computation.answer), steps = computation.steps;
    const healed = computation.disturbed ? "It has healed. " : "";
    return `${healed}The top row holds the answer: ${answer}. Nothing changes any more, so it stops, after ${count(steps)} step${steps === 1 ? "" : "s"}.`;
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
    const column = newest(film, step);
    if (column) return column;
    return step === 1 ? "First, every cell guesses. Thin digits are guesses; bold ones stay."
      : "News travels one cell per step, from right to left and from the bottom up.";
  }

  function ofRow(computation, row, step) {
    const { terms } = computation, sum = computation.readRow(step, row);
    const shown = terms.length - row;
    if (shown === 1) return `Row ${row + 1} now holds the first number, ${shorten(sum)}.`;
    const added = shown <= 3 && sum.length <= 10 ? terms.slice(0, shown).join(" + ") : `the sum of the first ${count(shown)} numbers`;
    return `Row ${row + 1} now holds ${added}: ${shorten(sum)}.`;
  }

  // A column in which something has just been settled, as a person would work it out; best one with a carry.
  function newest({ computation, scene: { certain } }, step) {
    const { symbols, rule, size: { height, width } } = computation;
    const codes = computation.at(step);
    let plain = null;
    for (let row = height - 2; row >= 0; row -= 1) {
      for (let column = 0; column < width; column += 1) {
        const index = row * width + column;
        if (certain[index] !== step || symbols[index] === EMPTY || !rule.text(codes[index])) continue;
        const own = symbols[index] < 10 ? symbols[index] : 0;
        const below = Number(rule.letters[codes[index + width]] || 0);
        const carried = column + 1 < width ? rule.carries[codes[index + 1]] : 0;
        const value = own + below + carried, written = value > 9 ? `write ${value - 10}, carry 1` : `write ${value}`;
        if (own + below === 0) continue;
        if (carried) return `Row ${count(row + 1)}: ${own} + ${below} and a carry make ${value}: ${written}.`;
        if (row < height - 2) plain ??= `Row ${count(row + 1)}: ${own} + ${below} make ${value}: ${written}.`;
      }
    }
    return plain;
  }

  function ofPaper(computation, step) {
    const { steps, halting, answer, exact, network } = computation;
    if (step >= steps) {
      const verdict = answer === exact ? "That is right." : `That is wrong: it is ${shorten(exact)}.`;
      return `${network.name} stops after ${steps} step${steps === 1 ? "" : "s"} and answers ${shorten(answer) || "nothing"}. ${verdict}`;
    }
    const chance = halting[step];
    const stops = chance === undefined ? "" : chance < 0.005 ? " It is sure to go on." : ` It would stop now with a chance of ${Math.round(100 * chance)} %.`;
    return `After step ${step} the top row reads ${shorten(computation.readRow(step, 0)) || "nothing"}.${stops}`;
  }

  Object.assign(gridsum, { Film, narrate, rowsOf });
}
