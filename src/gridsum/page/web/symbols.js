"use strict";
// Sums as people write them. `9{50}` stands for fifty nines, so that long sums fit into a line and an address.
{
  const MOST_SYMBOLS = 600_000;
  const PIECE = 14; // digits that are added at once; a thousand such numbers are still exact

  class SumError extends Error {}

  function parse(text) {
    const split = text.match(/[0-9]+(?:\s+[0-9]+)+/);
    if (split) throw new SumError(`“${split[0]}” has a space inside a number. Join the digits, or put a “+” between them.`);
    let compact = expand(text.replace(/\s+/g, ""));
    if (!compact) throw new SumError("There is no sum yet. Write one such as 523+102.");
    const foreign = compact.match(/[^0-9+=]/u);
    if (foreign) throw new SumError(explain(foreign[0]));
    if (/=./.test(compact)) throw new SumError("“=” stands before the end. Write it last, or leave it out.");
    compact = compact.replace(/=$/, "");
    if (!compact) throw new SumError("There is nothing before “=”. Write a sum such as 523+102.");
    if (compact.startsWith("+")) throw new SumError("The sum begins with “+”. Put a number before it, or remove it.");
    if (compact.endsWith("+")) throw new SumError("The sum ends with “+”. Put a number after it, or remove it.");
    const terms = compact.split("+");
    if (terms.includes("")) throw new SumError("There is nothing between two “+”. Write a number there, or remove one.");
    return terms;
  }

  function expand(text) {
    let length = text.length;
    for (const [, count] of text.matchAll(/[0-9]\{([0-9]+)\}/g)) length += Number(count);
    if (length > MOST_SYMBOLS) {
      throw new SumError(`That is ${length.toLocaleString("en")} symbols. This page adds up to ${MOST_SYMBOLS.toLocaleString("en")}.`);
    }
    return text.replace(/([0-9])\{([0-9]+)\}/g, (_, digit, count) => digit.repeat(Number(count)));
  }

  function explain(character) {
    if (character === "-" || character === "−") return "It adds, and cannot take away: “-” is not allowed.";
    if (character === "." || character === ",") return `It adds whole numbers: “${character}” is not allowed.`;
    return `“${character}” is not allowed. A sum holds the digits 0 to 9 and “+”.`;
  }

  // The shortest way to write a sum: runs of one digit become `9{50}`.
  function brief(terms) {
    return terms.join("+").replace(/([0-9])\1{9,}/g, (run, digit) => `${digit}{${run.length}}`);
  }

  // Added in pieces, from the right: quick for any length, which BigInt is not.
  function exactSum(terms) {
    const longest = longestOf(terms);
    const pieces = [], base = 10 ** PIECE;
    let carry = 0;
    for (let low = 0; low < longest; low += PIECE) {
      let rest = 0, high = 0;
      for (const term of terms) {
        const end = term.length - low;
        if (end > 0) rest += Number(term.slice(Math.max(0, end - PIECE), end));
        if (rest >= base) { rest -= base; high += 1; }
      }
      rest += carry;
      if (rest >= base) { rest -= base; high += 1; }
      carry = high;
      pieces.push(String(rest).padStart(PIECE, "0"));
    }
    pieces.push(String(carry));
    return pieces.reverse().join("").replace(/^0+(?=.)/, "");
  }

  // The columns that the sum of `count` terms of `digits` digits can need: those of count · (10^digits − 1).
  function columnsNeeded(count, digits) {
    if (digits < String(count).length) return String(count * (10 ** digits - 1)).length;
    return digits + (count > 1 ? String(count - 1).length : 0);
  }

  const longestOf = (terms) => terms.reduce((most, term) => Math.max(most, term.length), 0);

  Object.assign(gridsum, { SumError, parse, brief, exactSum, columnsNeeded, longestOf });
}
