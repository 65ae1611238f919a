"use strict";
// Sums as people write them. `9{50}` stands for fifty nines, so that long sums fit into a line and an address.
{
  const { t } = gridsum;
  const MOST_SYMBOLS = 600_000;
  const DIGITS = "0123456789abcdef";
  const PIECE = 14; // digits that are added at once; a thousand such numbers are still exact

  class SumError extends Error {}

  const refuse = (key, values) => { throw new SumError(t(`mistake.${key}`, values)); };
  const letters = (base) => DIGITS.slice(0, base);

  function parse(text, base = 10) {
    const line = inALine(withoutSeparators(base > 10 ? text.toLowerCase() : text));
    let compact = expand(line.replace(/\s+/g, ""));
    if (!compact) refuse("empty");
    const foreign = compact.match(new RegExp(`[^${letters(base)}+=]`, "u"));
    if (foreign) explain(foreign[0], base);
    if (/=./.test(compact)) refuse("equals");
    compact = compact.replace(/=$/, "");
    if (!compact) refuse("before");
    if (compact.startsWith("+")) refuse("begins");
    if (compact.endsWith("+")) refuse("ends");
    const terms = compact.split("+");
    if (terms.includes("")) refuse("between");
    const split = line.match(/[0-9a-f}]+(?:\s+[0-9a-f]+)+/);
    if (split) refuse("space", { number: split[0] });
    return terms;
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
  function inALine(text) {
    const lines = text.split(/\r\n|[\n\r]/).map((line) => line.trim());
    if (lines.length < 2) return text;
    return lines.filter((line) => line === "=" || /[^-_=─ ]/.test(line)).reduce((so, line) => (
      so && !so.endsWith("+") && !/^[+=]/.test(line) ? `${so}+${line}` : so + line
    ), "");
  }

  function expand(text) {
    let length = text.length;
    for (const [, times] of text.matchAll(/[0-9a-f]\{([0-9]+)\}/g)) length += Number(times);
    if (length > MOST_SYMBOLS) refuse("long", { count: length, most: MOST_SYMBOLS });
    return text.replace(/([0-9a-f])\{([0-9]+)\}/g, (_, digit, times) => digit.repeat(Number(times)));
  }

  function explain(character, base) {
    if (character === "-" || character === "−") refuse("minus");
    if (character === "." || character === ",") refuse("fraction", { character });
    refuse("character", { character, last: letters(base).at(-1) });
  }

  // The shortest way to write a sum: runs of one digit become `9{50}`.
  function brief(terms) {
    return terms.join("+").replace(/([0-9a-f])\1{9,}/g, (run, digit) => `${digit}{${run.length}}`);
  }

  // Added in pieces, from the right: quick for any length, which BigInt is not.
  function exactSum(terms, base = 10) {
    const longest = longestOf(terms), size = base === 10 ? PIECE : 10;
    const pieces = [], whole = base ** size;
    let carry = 0;
    for (let low = 0; low < longest; low += size) {
      let rest = 0, high = 0;
      for (const term of terms) {
        const end = term.length - low;
        if (end > 0) rest += parseInt(term.slice(Math.max(0, end - size), end), base);
        if (rest >= whole) { rest -= whole; high += 1; }
      }
      rest += carry;
      if (rest >= whole) { rest -= whole; high += 1; }
      carry = high;
      pieces.push(rest.toString(base).padStart(size, "0"));
    }
    pieces.push(carry.toString(base));
    return pieces.reverse().join("").replace(/^0+(?=.)/, "");
  }

  // The columns that the sum of `count` terms of `digits` digits can need: those of count · (base^digits − 1).
  function columnsNeeded(count, digits, base = 10) {
    const written = (number) => number.toString(base).length;
    if (digits < written(count)) return written(count * (base ** digits - 1));
    return digits + (count > 1 ? written(count - 1) : 0);
  }

  const longestOf = (terms) => terms.reduce((most, term) => Math.max(most, term.length), 0);

  Object.assign(gridsum, { DIGITS, SumError, parse, inALine, brief, exactSum, columnsNeeded, longestOf });
}
