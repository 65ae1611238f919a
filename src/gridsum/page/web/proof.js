"use strict";
// The checker of the proof, as docs/proof.md has it: every condition of the induction, in every context.
// A context is (own symbol, right, below). What follows is looked up for every left neighbour.
{
  const DIGIT = 0, PLUS = 1, EMPTY = 2;
  const PLUS_CELL = 10, EMPTY_CELL = 11;
  const TEN = 10;
  const kindOf = (x) => (x < TEN ? DIGIT : x === PLUS_CELL ? PLUS : EMPTY);

  class Proof {
    constructor(rule) {
      this.rule = rule;
      this.meanings = new Map(); // kind · 256 + code → { digit, carry }
      this.classes = new Map(); // (kind, digit, carry) → the codes that mean this there
      this.contexts = new Map(); // key → { x, right, below, value, after }
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

    meaning(x, code) {
      return this.meanings.get(kindOf(x) * 256 + code);
    }

    #placement() {
      const wanted = [2, ...Array(TEN).fill(0), 1, 2];
      return wanted.flatMap((action, symbol) => (this.rule.actions[symbol] === action ? [] : [`placement of symbol ${symbol}`]));
    }

    #members(kinds, digit, carry) {
      return kinds.flatMap((kind) => [...(this.classes.get((kind * TEN + digit) * 2 + carry) ?? [])]);
    }

    #blank(code) {
      return this.rule.reading[code] === 0;
    }

    // The codes that can stand below at rest: the blank ones, and those of a number with their digits.
    #resting() {
      const blank = new Set(), numbers = new Map();
      for (const [key, { digit, carry }] of this.meanings) {
        const code = key % 256;
        if (this.#blank(code)) {
          if (digit === 0 && carry === 0) blank.add(code);
        } else if (this.rule.reading[code] === 1 + digit) {
          numbers.set(code, (numbers.get(code) ?? new Set()).add(digit));
        }
      }
      return { blank, numbers };
    }

    // Contexts whose right and lower neighbour are right, as far as meanings are known, and the sum of the column.
    * #feasible() {
      const { outside } = this.rule;
      const { blank, numbers } = this.#resting();
      const nothing = this.#members([EMPTY], 0, 0);
      const single = Array.from({ length: TEN }, (_, digit) => this.#members([DIGIT], digit, 0)).flat();
      for (const below of [outside, ...blank]) { // rows without a term, the lowest of which has nothing below
        for (const right of [outside, ...nothing]) yield [EMPTY_CELL, right, below, 0];
      }
      for (const below of blank) { // the first term: no carries, and no `+` before it
        for (let x = 0; x < TEN; x += 1) for (const right of [outside, ...single]) yield [x, right, below, x];
        for (const right of [...single, ...nothing]) yield [EMPTY_CELL, right, below, 0];
      }
      const under = [...numbers].flatMap(([code, digits]) => [...digits].map((digit) => [code, digit]));
      for (const [below, digit] of [...under, ...[...blank].map((code) => [code, 0])]) { // every other term
        if (!this.#blank(below)) for (let x = 0; x < TEN; x += 1) yield [x, outside, below, x + digit];
        for (const carry of [0, 1]) {
          for (let beside = 0; beside < TEN; beside += 1) {
            for (const right of this.#members([DIGIT], beside, carry)) {
              for (let x = 0; x < TEN; x += 1) yield [x, right, below, x + digit + carry];
              yield [PLUS_CELL, right, below, digit + carry];
            }
            for (const right of this.#members([PLUS, EMPTY], beside, carry)) {
              yield [EMPTY_CELL, right, below, digit + carry];
            }
          }
        }
      }
    }

    // With any left neighbour, a cell goes to a code that means its digit and carry.
    #digits() {
      for (;;) {
        const fresh = new Map();
        for (const [x, right, below, value] of this.#feasible()) {
          const key = this.key(x, right, below);
          const known = this.contexts.get(key) ?? fresh.get(key);
          if (!known) fresh.set(key, { x, right, below, value, after: this.#after(x, right, below) });
          else if (known.value !== value) this.#fail("digits", known);
        }
        if (!fresh.size || this.failures.length) return;
        for (const [key, context] of fresh) {
          this.contexts.set(key, context);
          this.evaluations += context.after.length;
          this.#giveMeaning(context);
        }
      }
    }

    #after(x, right, below) {
      return Uint8Array.from({ length: this.rule.side }, (_, left) => this.rule.after(x, left, right, below));
    }

    #giveMeaning(context) {
      const kind = kindOf(context.x), digit = context.value % TEN, carry = context.value >= TEN ? 1 : 0;
      for (const code of new Set(context.after)) {
        const key = kind * 256 + code, known = this.meanings.get(key) ?? { digit, carry };
        this.meanings.set(key, known);
        const name = (kind * TEN + digit) * 2 + carry;
        this.classes.set(name, (this.classes.get(name) ?? new Set()).add(code));
        if (known.digit !== digit || known.carry !== carry) this.#fail("digits", context);
      }
    }

    // A row comes to rest from left to right, and reads as its number without leading zeros.
    #blanks() {
      const { outside } = this.rule;
      const { blank, numbers } = this.#resting();
      const blanks = [...blank], number = [...numbers.keys()], same = new Map();
      for (const context of this.contexts.values()) {
        const { x, right, below, value, after } = context;
        // Grids have at least two columns more than the longest term: the first column holds nothing.
        const nothing = x === EMPTY_CELL ? [outside, ...blanks] : blanks;
        const atRest = [...nothing, ...number];
        const became = atRest.map((left) => after[left]).join();
        for (let kind = 0; right !== outside && kind < 3; kind += 1) {
          const meaning = this.meanings.get(kind * 256 + right);
          if (!meaning) continue;
          const name = [x, kind, meaning.digit, meaning.carry, below].join();
          if ((same.get(name) ?? became) !== became) this.#fail("rest", context);
          same.set(name, became);
        }
        if (value !== 0) {
          this.#read(context, atRest, 1 + (value % TEN));
        } else if (right === outside) {
          this.#read(context, x === EMPTY_CELL ? nothing : atRest, x === EMPTY_CELL ? 0 : 1);
        } else {
          const numberBelow = below !== outside && !this.#blank(below);
          if (!numberBelow) this.#read(context, nothing, 0);
          if (x === 0 || numberBelow) this.#read(context, number, 1);
        }
      }
    }

    #read(context, lefts, symbol) {
      if (lefts.some((left) => this.rule.reading[context.after[left]] !== symbol)) this.#fail("reading", context);
    }

    #fail(condition, { x, right, below }) {
      this.failures.push(`${condition}: own symbol ${x}, right ${right}, below ${below}`);
    }
  }

  Object.assign(gridsum, { Proof });
}
