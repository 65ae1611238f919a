"use strict";
// The operations by their signs: a problem to try, in base 10; the true result, null where there is none; how many columns
// it can need; what a column does, which Python calls its row rule; and what a cell hands on is called.
{
  const PIECE = 14; // digits that are added at once; a thousand such numbers are still exact

  const longestOf = (terms) => terms.reduce((most, term) => Math.max(most, term.length), 0);

  const sizeOfPiece = (base) => (base === 10 ? PIECE : 10);

  // The number in `size` digits of a term, from the right but for `low`.
  function pieceOf(term, low, size, base) {
    const end = term.length - low;
    return end > 0 ? parseInt(term.slice(Math.max(0, end - size), end), base) : 0;
  }

  const plain = (text) => text.replace(/^0+(?=.)/, "");
  const joined = (pieces) => plain(pieces.reverse().join(""));

  // Added in pieces, from the right: quick for any length, which BigInt is not.
  function exactSum(terms, base = 10) {
    const longest = longestOf(terms), size = sizeOfPiece(base);
    const pieces = [], whole = base ** size;
    let carry = 0;
    for (let low = 0; low < longest; low += size) {
      let rest = 0, high = 0;
      for (const term of terms) {
        rest += pieceOf(term, low, size, base);
        if (rest >= whole) { rest -= whole; high += 1; }
      }
      rest += carry;
      if (rest >= whole) { rest -= whole; high += 1; }
      carry = high;
      pieces.push(rest.toString(base).padStart(size, "0"));
    }
    pieces.push(carry.toString(base));
    return joined(pieces);
  }

  // The first less all others, in pieces, too.
  function exactDifference([first, ...others], base) {
    const less = exactSum(others, base), size = sizeOfPiece(base), pieces = [];
    let borrow = 0;
    for (let low = 0; low < Math.max(first.length, less.length); low += size) {
      const rest = pieceOf(first, low, size, base) - pieceOf(less, low, size, base) - borrow;
      borrow = rest < 0 ? 1 : 0;
      pieces.push((rest + borrow * base ** size).toString(base).padStart(size, "0"));
    }
    return borrow ? null : joined(pieces);
  }

  // The first times all others, each of one digit.
  function exactProduct([first, ...factors], base) {
    const digits = [...first].reverse().map((digit) => parseInt(digit, base));
    for (const factor of factors) {
      let carry = 0;
      digits.push(0);
      digits.forEach((digit, place) => {
        const value = digit * parseInt(factor, base) + carry;
        digits[place] = value % base;
        carry = Math.floor(value / base);
      });
    }
    return joined(digits.map((digit) => digit.toString(base)));
  }

  const exactLargest = (terms) => terms.map(plain).reduce((best, term) => (
    term.length > best.length || (term.length === best.length && term > best) ? term : best
  ));

  // The columns that the sum of `count` terms of `digits` digits can need: those of count · (base^digits − 1).
  function columnsNeeded(count, digits, base = 10) {
    const written = (number) => number.toString(base).length;
    if (digits < written(count)) return written(count * (base ** digits - 1));
    return digits + (count > 1 ? written(count - 1) : 0);
  }

  const asLong = (count, digits) => digits;
  const one = (carry) => (carry ? "1" : "");
  const alone = (own) => ({ says: "film.alone", write: own, hands: 0 });

  // A column is given its own digit and the digit below, null where there is none, and what is handed to it, by Python's
  // numbers. It says what it writes and hands on, and what a person would say of it; null where this never happens.
  const operations = {
    "+": {
      example: "523+102+9416", result: exactSum, columns: columnsNeeded, name: one,
      column(base, own, below, carry) {
        const sum = own + below + carry;
        return { own: own ?? 0, below: below ?? 0, carry, sum, write: sum % base, hands: sum >= base ? 1 : 0 };
      },
    },
    "-": { // what is borrowed stands before the digit below
      example: "900-1-23", result: exactDifference, columns: asLong, name: one,
      column(base, own, below, carry) {
        if (own !== null && below === null) return alone(own);
        const left = below - own - carry, hands = left < 0 ? 1 : 0, write = left + hands * base;
        return { own: own ?? 0, below: below + hands * base, carry, sum: write, write, hands };
      },
    },
    "*": { // 1 is handed on where nothing is left to multiply, else the factor with the carry
      example: "47*2*2", result: exactProduct, columns: (count, digits) => digits + count - 1, wide: true,
      name(carry, base) {
        const carried = (carry - 2) % base;
        return carry > 1 ? `×${(carry - 2 - carried) / base}${carried ? `+${carried}` : ""}` : "";
      },
      column(base, own, below, carry) {
        if (own !== null && below === null) return alone(own);
        if (own === null && carry < 2) return { says: "film.idle", write: 0, hands: 1 };
        if (own !== null && carry) return null;
        const factor = own ?? Math.floor((carry - 2) / base), carried = own === null ? (carry - 2) % base : 0;
        const sum = below * factor + carried, over = Math.floor(sum / base);
        return {
          own: factor, below: below ?? 0, carry: carried, sum, write: sum % base,
          hands: factor && (below !== null || over) ? 2 + factor * base + over : 1,
        };
      },
    },
    "^": { // 1: its own number is larger by the digits so far, 2: the one below, 3: neither; 0: none has begun
      example: "4096^4071^4118", result: exactLargest, columns: asLong, rightward: true,
      name: (carry) => ["", ">", "<", "="][carry],
      column(base, own, below, carry) {
        const decided = carry === 1 || carry === 2;
        const hands = decided ? carry : own > below ? 1 : own < below ? 2 : own ? 3 : carry;
        const write = hands === 1 ? own : below;
        return { own, below, carry: decided ? this.name(carry) : "", sum: write ?? 0, write: hands ? write ?? 0 : null, hands };
      },
    },
  };

  const inBase = (term, from, to) => [...term].reduce((sum, digit) => sum * BigInt(from) + BigInt(parseInt(digit, from)), 0n).toString(to);
  const exampleOf = ({ sign, base }) => operations[sign].example.split(sign).map((term) => inBase(term, 10, base)).join(sign);

  Object.assign(gridsum, { operations, exactSum, columnsNeeded, longestOf, inBase, exampleOf });
}
