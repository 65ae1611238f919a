"use strict";
// The checker of the proof, as docs/proof.md has it: every condition of the induction, in every context.
// A context is (own symbol, right, below). What follows is looked up for every left neighbour.
{
  // Kinds of cells: with a digit, with a `+`, with nothing left of a term. Each over a number, or low: over a blank or the
  // ground, as then are all cells further left. The ground is the lowest row, which holds no term.
  const OVER_NUMBER = [0, 1, 2], LOW = [3, 4, 5], GROUND = 6;
  const [LOW_DIGIT, , LOW_EMPTY] = LOW;

  class Proof {
    constructor(rule) {
      this.rule = rule;
      this.meanings = new Map(); // kind · 256 + state → { digit, carry }
      this.classes = new Map(); // (kind, digit, carry) → the states that mean this there
      this.contexts = new Map(); // key → { x, right, below, value, after, kinds }
      this.ground = new Set(); // the states that can stand at rest in the row without a term, but for its last column
      this.corner = new Set(); // those of its last column
      this.same = new Map(); // (own symbol, meaning to the right, state below) → what follows
      this.evaluations = 0;
      this.failures = this.#placement();
      this.#digits();
      if (!this.failures.length) this.#blanks();
    }

    get proved() {
      return this.failures.length === 0;
    }

    key(x, right, below) {
      return (x * this.rule.side + right) * this.rule.side + below;
    }

    // Whether a state means the digit and the carry of a context, in every kind of cell that the context can be of.
    agrees({ kinds, value }, state) {
      return [...kinds].every((kind) => {
        const meaning = this.meanings.get(kind * 256 + state);
        return meaning?.digit === value % this.rule.base && meaning.carry === (value >= this.rule.base ? 1 : 0);
      });
    }

    #placement() {
      const wanted = [2, ...Array(this.rule.base).fill(0), 1, 2];
      return wanted.flatMap((action, symbol) => (this.rule.actions[symbol] === action ? [] : [`placement of symbol ${symbol}`]));
    }

    #members(kinds, digit, carry) {
      return kinds.flatMap((kind) => [...(this.classes.get((kind * this.rule.base + digit) * 2 + carry) ?? [])]);
    }

    // The states that can stand at rest in a term's row: the blank ones, and those of a number with their digits.
    #resting() {
      const blank = new Set(), numbers = new Map();
      for (const [key, { digit, carry }] of this.meanings) {
        const state = key % 256, symbol = this.rule.outputs[state];
        if (key >= GROUND * 256) continue;
        if (symbol === 1 + digit) numbers.set(state, (numbers.get(state) ?? new Set()).add(digit));
        else if (symbol === 0 && digit === 0 && carry === 0) blank.add(state);
      }
      return { blank, numbers };
    }

    // Contexts whose right and lower neighbour are right, as far as meanings are known, and the sum of the column.
    * #feasible() {
      const { outside } = this.rule;
      const { blank, numbers } = this.#resting();
      // The row without a term, which is the lowest.
      for (const right of [outside, ...this.#members([GROUND], 0, 0)]) yield [GROUND, this.rule.empty, right, outside, 0];
      const nothing = this.#members([LOW_EMPTY], 0, 0);
      const single = Array.from({ length: this.rule.base }, (_, digit) => this.#members([LOW_DIGIT], digit, 0)).flat();
      // The first term, which stands on it: no carries, and no `+` before it.
      for (const below of this.corner) for (let x = 0; x < this.rule.base; x += 1) yield [LOW_DIGIT, x, outside, below, x];
      for (const below of this.ground) {
        for (let x = 0; x < this.rule.base; x += 1) for (const right of single) yield [LOW_DIGIT, x, right, below, x];
        for (const right of [...single, ...nothing]) yield [LOW_EMPTY, this.rule.empty, right, below, 0];
      }
      for (const [below, digits] of numbers) { // every other term, over a number
        for (const digit of digits) {
          for (let x = 0; x < this.rule.base; x += 1) yield [OVER_NUMBER[0], x, outside, below, x + digit];
          yield* this.#inside(OVER_NUMBER, [], below, digit);
        }
      }
      for (const below of blank) yield* this.#inside(LOW, OVER_NUMBER, below, 0); // and over a blank
    }

    // Cells of these kinds, not in the last column. The cell to the right is of the same kinds, or of the other.
    * #inside(own, other, below, digit) {
      const [withDigit, withPlus, withNothing] = own;
      for (const carry of [0, 1]) {
        for (let beside = 0; beside < this.rule.base; beside += 1) {
          for (const right of this.#members([withDigit, ...other.slice(0, 1)], beside, carry)) {
            for (let x = 0; x < this.rule.base; x += 1) yield [withDigit, x, right, below, x + digit + carry];
            yield [withPlus, this.rule.signCell, right, below, digit + carry];
          }
          for (const right of this.#members([withPlus, withNothing, ...other.slice(1)], beside, carry)) {
            yield [withNothing, this.rule.empty, right, below, digit + carry];
          }
        }
      }
    }

    // With any left neighbour, a cell goes to a state that means its digit and carry.
    #digits() {
      while (!this.failures.length) {
        const fresh = [];
        for (const [kind, x, right, below, value] of this.#feasible()) {
          const context = this.#context(x, right, below, value);
          if (context.value !== value) {
            this.#fail("digits", context);
          } else if (!context.kinds.has(kind)) {
            context.kinds.add(kind);
            fresh.push([kind, context]);
          }
        }
        if (!fresh.length) return;
        for (const [kind, context] of fresh) this.#giveMeaning(kind, context);
        this.#settleGround();
      }
    }

    #context(x, right, below, value) {
      const { rule } = this, key = this.key(x, right, below);
      if (!this.contexts.has(key)) {
        const after = Uint8Array.from({ length: rule.side }, (_, left) => rule.after(x, left, right, below));
        this.evaluations += after.length;
        this.contexts.set(key, { x, right, below, value, after, kinds: new Set() });
      }
      return this.contexts.get(key);
    }

    #giveMeaning(kind, context) {
      const digit = context.value % this.rule.base, carry = context.value >= this.rule.base ? 1 : 0;
      for (const state of new Set(context.after)) {
        const key = kind * 256 + state, known = this.meanings.get(key) ?? { digit, carry };
        this.meanings.set(key, known);
        const name = (kind * this.rule.base + digit) * 2 + carry;
        this.classes.set(name, (this.classes.get(name) ?? new Set()).add(state));
        if (known.digit !== digit || known.carry !== carry) this.#fail("digits", context);
      }
    }

    // What the row without a term comes to, from left to right.
    #settleGround() {
      const contexts = [...this.contexts.values()].filter(({ kinds }) => kinds.has(GROUND));
      const { outside } = this.rule;
      for (let size = -1; size !== this.ground.size;) {
        size = this.ground.size;
        for (const { right, after } of contexts) {
          if (right !== outside) for (const left of [outside, ...this.ground]) this.ground.add(after[left]);
        }
      }
      for (const { right, after } of contexts) {
        if (right === outside) for (const left of this.ground) this.corner.add(after[left]);
      }
    }

    // A row comes to rest from left to right, and reads as its number without leading zeros.
    #blanks() {
      const { outside } = this.rule, { blank, numbers } = this.#resting();
      const number = [...numbers.keys()];
      const low = number.filter((state) => this.meanings.get(LOW_DIGIT * 256 + state)?.carry === 0);
      for (const context of this.contexts.values()) {
        const { x, right, below, value, kinds } = context;
        // Grids have at least two columns more than the longest term: the first column holds nothing.
        const nothing = x === this.rule.empty ? [outside, ...blank] : [...blank];
        if (kinds.has(GROUND)) this.#rests(context, [GROUND], [outside, ...this.ground]);
        if (kinds.has(GROUND) && kinds.size === 1) continue; // nobody reads a row without a term
        this.#rests(context, x === this.rule.empty ? [...OVER_NUMBER, ...LOW] : [OVER_NUMBER[0], LOW_DIGIT], [...nothing, ...number]);
        if (value !== 0 || right === outside) {
          this.#read(context, [...nothing, ...number], 1 + (value % this.rule.base));
          continue;
        }
        if (this.ground.has(below) || blank.has(below)) {
          this.#read(context, nothing, 0);
          if (x === 0) this.#read(context, low, 1); // all to its left is low, and it gives no carry
        }
        if (numbers.has(below)) this.#read(context, number, 1);
      }
    }

    // With these left neighbours, what follows hangs on the meaning of the right neighbour, not on its state.
    #rests(context, beside, lefts) {
      const { x, right, below, after } = context, became = lefts.map((left) => after[left]).join();
      for (const kind of beside) {
        const meaning = this.meanings.get(kind * 256 + right);
        if (!meaning || right === this.rule.outside) continue;
        const name = [x, kind, meaning.digit, meaning.carry, below].join();
        if ((this.same.get(name) ?? became) !== became) this.#fail("rest", context);
        this.same.set(name, became);
      }
    }

    #read(context, lefts, symbol) {
      if (lefts.some((left) => this.rule.outputs[context.after[left]] !== symbol)) this.#fail("reading", context);
    }

    #fail(condition, { x, right, below }) {
      this.failures.push(`${condition}: own symbol ${x}, right ${right}, below ${below}`);
    }
  }

  Object.assign(gridsum, { Proof });
}
