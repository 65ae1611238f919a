"use strict";
// A proved rule at work: every cell changes at once, step by step, until nothing changes any more.
{
  const WRITE = 0, OPEN = 1;
  const MOST_CELLS = 4_000_000;
  const MOST_WORK = 1_500_000_000; // rows × cells: about how many cells the highest grids have to compute
  const SNAPSHOT_BYTES = 48 << 20;
  // Below the first share of changed cells only their neighbours are computed, above the second all cells.
  const SPARSE = 1 / 24, DENSE = 1 / 12;
  const SLICE_MS = 12;

  // A table of states: what a cell becomes for its own symbol and the states to its left, to its right and below it.
  class Rule {
    constructor(data) {
      Object.assign(this, data);
      this.outside = data.states.length;
      this.side = this.outside + 1;
      // What a cell can hold: a digit, the sign, nothing. One number more stands where there is no cell.
      [this.signCell, this.empty, this.noCell] = [data.base, data.base + 1, data.base + 2];
      this.operation = gridsum.operations[data.sign];
      // What each state hands on; "?" where that hangs on where the cell stands.
      this.hands = data.meanings.map(({ carry }, state) => (carry !== null ? this.name(carry) : this.#means(state) ? "?" : ""));
    }

    // Whether a state means something in some kind of cell.
    #means(state) {
      return this.kinds.some((kind) => state in kind);
    }

    name(carry) {
      return this.operation.name(carry, this.base);
    }

    after(x, left, right, below) {
      return this.steps[((x * this.side + left) * this.side + right) * this.side + below];
    }

    // What a cell shows: a digit, or "" where it is blank. States that mean nothing, and those of empty rows alone, do not.
    text(state) {
      return this.meanings[state].digit !== null || this.#means(state) ? this.letters[state] : "";
    }

    // What is said of it: in words of its own where it does not add.
    t(key, values) {
      return gridsum.t(key, values, this.kind);
    }

    // Terms as a person writes them.
    joined(terms) {
      return terms.join(` ${shown(this.sign)} `);
    }
  }

  const shown = (sign) => ({ "-": "−", "*": "×" })[sign] ?? sign;

  const made = new Map();

  // The rule of a task. Its table comes packed to a hundredth of its size, that of any task but addition when it is wanted.
  async function ruleOf(task) {
    if (!made.has(task)) {
      const about = gridsum.data.rules[task];
      if (!gridsum.tables[task]) await gridsum.loadScript(`rules/${about.model}.js`);
      made.set(task, await makeRule({ ...about, task, ...gridsum.tables[task] }));
    }
    return made.get(task);
  }

  async function makeRule(data) {
    const steps = await inflate(data.steps);
    const letters = data.outputs.map((symbol) => (symbol >= 1 && symbol <= data.base ? gridsum.DIGITS[symbol - 1] : ""));
    return new Rule({ ...data, steps, letters });
  }

  async function inflate(text) {
    const packed = new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(packed).arrayBuffer());
  }

  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

  function sizeOf(terms, { base = 10, sign = "+", task = "add" }) {
    const digits = gridsum.longestOf(terms), result = gridsum.operations[sign].columns(terms.length, digits, base);
    const height = terms.length + 1, width = Math.max(result, digits + 1) + 1;
    if (height * width > MOST_CELLS || height * height * width > MOST_WORK) {
      throw new gridsum.SumError(gridsum.t("mistake.large", { rows: height, columns: width, task }));
    }
    return { height, width };
  }

  // The symbols of a sum as networks know them: 0 is none, then the digits, the sign and `=`.
  const encode = (terms, base = 10) => [...`${terms.join("+")}=`].map((letter) => (
    letter === "+" ? base + 1 : letter === "=" ? base + 2 : gridsum.DIGITS.indexOf(letter) + 1
  ));

  // Where every symbol of a sum goes: the rows of the grid from the top, as the learned actions write them.
  function place({ actions, base = 10 }, terms, { height, width }) {
    const rows = [[]];
    for (const symbol of encode(terms, base)) {
      const action = actions[symbol];
      if (action === OPEN) rows.unshift([symbol - 1]);
      else if (action === WRITE) rows[0].push(symbol - 1);
    }
    const symbols = new Uint8Array(height * width).fill(base + 1);
    rows.slice(0, height).forEach((row, index) => {
      const kept = row.slice(-width); // `=` on a grid counts as nothing, whose number comes after that of the sign
      symbols.set(kept, (index + 1) * width - kept.length);
    });
    return symbols;
  }

  // A rule at work on one grid. It lies flat, with a place that is no cell behind each row and rows of such places
  // above and below, so that every cell has its neighbours at the same distances: −1, +1 and `stride`.
  class Run {
    constructor(rule, symbols, { height, width }) {
      this.rule = rule;
      this.stride = width + 1;
      this.size = { height, width };
      const places = (height + 2) * this.stride;
      this.symbols = new Uint8Array(places).fill(rule.noCell);
      this.states = new Uint8Array(places).fill(rule.outside);
      for (let row = 0; row < height; row += 1) {
        const start = (row + 1) * this.stride;
        this.symbols.set(symbols.subarray(row * width, (row + 1) * width), start);
        this.states.fill(0, start, start + width);
      }
      this.next = this.states.slice();
      this.settled = new Uint32Array(places); // the last step in which each cell changed
      this.seen = new Uint32Array(places);
      this.stamp = 0;
      this.restart(0);
    }

    // Every cell is computed in the step that comes.
    restart(steps) {
      Object.assign(this, { changed: null, rows: [1, this.size.height], steps, atRest: false });
    }

    // Goes on from other states [height · width], as step `steps`.
    restore(states, steps) {
      const { height, width } = this.size;
      for (let row = 0; row < height; row += 1) {
        this.states.set(states.subarray(row * width, (row + 1) * width), (row + 1) * this.stride);
      }
      this.restart(steps);
    }

    // The state of every cell, row after row.
    grid() {
      const { height, width } = this.size;
      const cells = new Uint8Array(height * width);
      for (let row = 0; row < height; row += 1) {
        const start = (row + 1) * this.stride;
        cells.set(this.states.subarray(start, start + width), row * width);
      }
      return cells;
    }

    // One step; false if it changes nothing, and then it is not counted.
    step() {
      if (this.atRest) return false;
      const count = this.changed ? this.#near(this.changed) : this.#whole();
      this.atRest = count === 0;
      if (count) this.steps += 1;
      this.count = count;
      return count > 0;
    }

    // All cells of the rows in which something can change.
    #whole() {
      const { states, next, symbols, stride, settled } = this, { steps, side } = this.rule, { height, width } = this.size;
      const [low, high] = this.rows, now = this.steps + 1;
      let count = 0, first = 0, last = 0;
      for (let row = low; row <= high; row += 1) {
        const start = row * stride, end = start + width, before = count;
        let left = states[start - 1], own = states[start];
        for (let at = start; at < end; at += 1) {
          const right = states[at + 1];
          const state = steps[((symbols[at] * side + left) * side + right) * side + states[at + stride]];
          next[at] = state;
          if (state !== own) {
            settled[at] = now;
            count += 1;
          }
          left = own;
          own = right;
        }
        if (count > before) {
          last = row;
          first ||= row;
        }
      }
      states.set(next.subarray(low * stride, (high + 1) * stride), low * stride);
      if (count > SPARSE * height * width) this.rows = [Math.max(1, first - 1), last];
      else this.changed = this.#changedIn(first, last, now);
      return count;
    }

    #changedIn(first, last, now) {
      const { settled, stride, size: { width } } = this, places = [];
      for (let row = first; row <= last && row; row += 1) {
        for (let at = row * stride; at < row * stride + width; at += 1) if (settled[at] === now) places.push(at);
      }
      return places;
    }

    // A cell sees its left, right and lower neighbour: so only the neighbours of what has changed can change.
    #near(before) {
      const { states, symbols, stride, seen, settled } = this, { steps, side, noCell } = this.rule;
      const changed = [], became = [], now = this.steps + 1;
      this.stamp += 1;
      for (const place of before) {
        for (let way = 0; way < 3; way += 1) {
          const at = way === 0 ? place - 1 : way === 1 ? place + 1 : place - stride;
          if (seen[at] === this.stamp || symbols[at] === noCell) continue;
          seen[at] = this.stamp;
          const state = steps[((symbols[at] * side + states[at - 1]) * side + states[at + 1]) * side + states[at + stride]];
          if (state !== states[at]) {
            changed.push(at);
            became.push(state);
          }
        }
      }
      for (let index = 0; index < changed.length; index += 1) {
        states[changed[index]] = became[index];
        settled[changed[index]] = now;
      }
      this.changed = changed;
      if (changed.length > DENSE * this.size.height * this.size.width) this.restart(this.steps);
      return changed.length;
    }
  }

  // A whole computation, from the start (or from other states) to rest; any step of it can be looked at.
  class RuleComputation {
    // `blamed` marks the cells [height · width] that were damaged where it starts from other states.
    constructor(rule, terms, start = null, blamed = null) {
      Object.assign(this, { rule, terms, blamed, disturbed: start !== null });
      this.size = sizeOf(terms, rule);
      this.symbols = place(rule, terms, this.size);
      this.run = new Run(rule, this.symbols, this.size);
      if (start) this.run.restore(start, 0);
      this.every = 1;
      this.snapshots = [this.run.grid()];
      this.changes = []; // how many cells each step changed
      this.steps = 0;
    }

    // Works it out, a little at a time so that the page stays alive; true when it is done.
    async complete(cancelled = () => false) {
      let slice = performance.now();
      while (this.run.step()) {
        this.#note();
        if (performance.now() - slice > SLICE_MS) {
          await new Promise((resolve) => { setTimeout(resolve, 0); });
          if (cancelled()) return false;
          slice = performance.now();
        }
      }
      this.#finish();
      return true;
    }

    completeNow() {
      while (this.run.step()) this.#note();
      this.#finish();
      return this;
    }

    #note() {
      const { run } = this;
      this.changes.push(run.count);
      if (run.steps % this.every === 0) {
        this.snapshots.push(run.grid());
        if (this.snapshots.length * this.symbols.length > SNAPSHOT_BYTES && this.snapshots.length > 2) {
          this.snapshots = this.snapshots.filter((_, index) => index % 2 === 0);
          this.every *= 2;
        }
      }
    }

    #finish() {
      const { height, width } = this.size, stride = width + 1;
      this.steps = this.run.steps;
      this.final = this.run.grid();
      this.settled = new Uint32Array(height * width); // the last step in which each cell changed
      for (let row = 0; row < height; row += 1) {
        const start = (row + 1) * stride;
        this.settled.set(this.run.settled.subarray(start, start + width), row * width);
      }
      this.answer = this.read(this.final);
      this.exact = this.rule.operation.result(this.terms, this.rule.base);
    }

    // The state of every cell after n steps.
    at(n) {
      const wanted = Math.max(0, Math.min(n, this.steps));
      if (wanted === this.steps) return this.final;
      if (wanted % this.every === 0) return this.snapshots[wanted / this.every];
      if (this.shown?.step === wanted) return this.shown.states;
      const { run } = this;
      const behind = wanted - run.steps;
      if (behind < 0 || behind > this.every || run.atRest) {
        const index = Math.floor(wanted / this.every);
        run.restore(this.snapshots[index], index * this.every);
      }
      while (run.steps < wanted && run.step());
      this.shown = { step: wanted, states: run.grid() };
      return this.shown.states;
    }

    // What a cell hands on, by Python's numbers: it may hang on what the cell holds, and on whether a number is below it.
    carryAt(states, index) {
      const { rule, symbols, size: { height, width } } = this, { carry } = rule.meanings[states[index]], ground = (height - 1) * width;
      if (rule.operation.rightward && (index + 1) % width === 0) return 0; // there is nobody on its right
      if (carry !== null || index >= ground) return carry ?? 0;
      const low = index + width >= ground || !rule.text(states[index + width]), holds = Math.max(0, symbols[index] - rule.base + 1);
      return rule.kinds[3 * low + holds][states[index]] ?? 0;
    }

    read(states) {
      let text = "";
      for (let column = 0; column < this.size.width; column += 1) text += this.rule.letters[states[column]];
      return text;
    }

    // What row `row` reads as after n steps.
    readRow(n, row) {
      const { width } = this.size;
      return this.read(this.at(n).subarray(row * width, (row + 1) * width));
    }
  }

  Object.assign(gridsum, { ruleOf, shown, bytes, inflate, encode, sizeOf, place, Run, RuleComputation });
}
