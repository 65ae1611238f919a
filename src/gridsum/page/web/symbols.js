"use strict";
// Sums and differences as people write them. `9{50}` stands for fifty nines, so that long sums fit into a line and an address.
{
  const { t } = gridsum;
  const MOST_SYMBOLS = 600_000;
  const DIGITS = "0123456789abcdef";
  const PIECE = 14; // digits that are added at once; a thousand such numbers are still exact

  class SumError extends Error {}

  const refuse = (key, values) => { throw new SumError(t(`mistake.${key}`, values)); };
  const letters = (base) => DIGITS.slice(0, base);

  // The terms; `sign` is the one that stands between them.
  function parse(text, { base = 10, sign = "+" } = {}) {
    const line = inALine(withoutSeparators(withMinus(base > 10 ? text.toLowerCase() : text)), sign);
    let compact = expand(line.replace(/\s+/g, ""));
    if (!compact) refuse("empty");
    const foreign = compact.match(new RegExp(`[^${letters(base)}=${sign}]`, "u"));
    if (foreign) explain(foreign[0], base, sign);
    if (/=./.test(compact)) refuse("equals");
    compact = compact.replace(/=$/, "");
    if (!compact) refuse("before");
    if (compact.startsWith(sign)) refuse("begins", { sign });
    if (compact.endsWith(sign)) refuse("ends", { sign });
    const terms = compact.split(sign);
    if (terms.includes("")) refuse("between", { sign });
    const split = line.match(/[0-9a-f}]+(?:\s+[0-9a-f]+)+/);
    if (split) refuse("space", { number: split[0], sign });
    if (sign === "-" && exactDifference(terms, base) === null) refuse("below", { sum: shorten(terms.join(" − ")) });
    return terms;
  }

  const withMinus = (text) => text.replace(/[−–]/g, "-");

  // The sign of a text that has one kind of sign; "" where it has none, or both.
  function signIn(text) {
    const signs = new Set(inALine(withMinus(text)).match(/[-+]/g));
    return signs.size === 1 ? [...signs][0] : "";
  }

  // 1,000 is one thousand, and so is what this language writes for it.
  function withoutSeparators(text) {
    const own = gridsum.thousands(), known = new Set([own, "'", "’", "\u00a0", "\u202f", ...(/\s/.test(own) ? [" "] : [])]);
    return [...known].reduce((so, sign) => {
      const one = sign === "." ? "\\." : sign;
      return so.replace(new RegExp(`(?<![\\d${one}])\\d{1,3}(${one}\\d{3})+(?![\\d${one}])`, "g"), (number) => number.replaceAll(sign, ""));
    }, text);
  }

  // Numbers that stand under each other, as they were pasted, with signs between them; drawn lines are left out.
  function inALine(text, sign = "+") {
    const lines = text.split(/\r\n|[\n\r]/).map((line) => line.trim());
    if (lines.length < 2) return text;
    return lines.filter((line) => line === "=" || /[^-_=─ ]/.test(line)).reduce((so, line) => (
      so && !so.endsWith(sign) && !line.startsWith(sign) && !line.startsWith("=") ? so + sign + line : so + line
    ), "");
  }

  function expand(text) {
    let length = text.length;
    for (const [, times] of text.matchAll(/[0-9a-f]\{([0-9]+)\}/g)) length += Number(times);
    if (length > MOST_SYMBOLS) refuse("long", { count: length, most: MOST_SYMBOLS });
    return text.replace(/([0-9a-f])\{([0-9]+)\}/g, (_, digit, times) => digit.repeat(Number(times)));
  }

  function explain(character, base, sign) {
    if (character === "-" || character === "+") refuse("sign", { character, sign });
    if (character === "." || character === ",") refuse("fraction", { character });
    refuse("character", { character, last: letters(base).at(-1), sign });
  }

  const shorten = (text, most = 28) => (text.length <= most ? text : `${text.slice(0, most / 2 - 1)}…${text.slice(1 - most / 2)}`);

  // The shortest way to write a sum: runs of one digit become `9{50}`.
  function brief(terms, sign = "+") {
    return terms.join(sign).replace(/([0-9a-f])\1{9,}/g, (run, digit) => `${digit}{${run.length}}`);
  }

  // The true result; null where it is less than 0.
  const exactResult = (terms, base, sign) => (sign === "+" ? exactSum(terms, base) : exactDifference(terms, base));

  const sizeOfPiece = (base) => (base === 10 ? PIECE : 10);

  // The number in `size` digits of a term, from the right but for `low`.
  function pieceOf(term, low, size, base) {
    const end = term.length - low;
    return end > 0 ? parseInt(term.slice(Math.max(0, end - size), end), base) : 0;
  }

  const joined = (pieces) => pieces.reverse().join("").replace(/^0+(?=.)/, "");

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

  // The columns that the sum of `count` terms of `digits` digits can need: those of count · (base^digits − 1).
  function columnsNeeded(count, digits, base = 10) {
    const written = (number) => number.toString(base).length;
    if (digits < written(count)) return written(count * (base ** digits - 1));
    return digits + (count > 1 ? written(count - 1) : 0);
  }

  const longestOf = (terms) => terms.reduce((most, term) => Math.max(most, term.length), 0);

  Object.assign(gridsum, { DIGITS, SumError, parse, signIn, inALine, shorten, brief, exactResult, exactSum, columnsNeeded, longestOf });
}
