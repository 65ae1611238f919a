"use strict";
// Problems as people write them. `9{50}` stands for fifty nines, so that long ones fit into a line and an address.
{
  const { t } = gridsum;
  const MOST_SYMBOLS = 600_000;
  const DIGITS = "0123456789abcdef";

  class SumError extends Error {}

  const refuse = (key, values) => { throw new SumError(t(`mistake.${key}`, values)); };
  const letters = (base) => DIGITS.slice(0, base);

  // The terms; `sign` is the one that stands between them.
  function parse(text, { base = 10, sign = "+" } = {}) {
    const line = inALine(withoutSeparators(withSigns(base > 10 ? text.toLowerCase() : text)), sign), example = gridsum.exampleOf({ base, sign });
    let compact = expand(line.replace(/\s+/g, ""));
    if (!compact) refuse("empty", { example });
    const foreign = compact.match(new RegExp(`[^${letters(base)}=${sign}]`, "u"));
    if (foreign) explain(foreign[0], base, sign);
    if (/=./.test(compact)) refuse("equals");
    compact = compact.replace(/=$/, "");
    if (!compact) refuse("before", { example });
    if (compact.startsWith(sign)) refuse("begins", { sign });
    if (compact.endsWith(sign)) refuse("ends", { sign });
    const terms = compact.split(sign);
    if (terms.includes("")) refuse("between", { sign });
    const split = line.match(/[0-9a-f}]+(?:\s+[0-9a-f]+)+/);
    if (split) refuse("space", { number: split[0], sign });
    if (sign === "-" && gridsum.operations[sign].result(terms, base) === null) refuse("below", { sum: shorten(terms.join(" − ")) });
    const long = sign === "*" && terms.slice(1).find((term) => term.length > 1);
    if (long) refuse("factor", { number: shorten(long) });
    return terms;
  }

  const withSigns = (text) => text.replace(/[−–]/g, "-").replace(/[×·]/g, "*");

  // The sign of a text that has one kind of sign; "" where it has none, or several.
  function signIn(text) {
    const signs = new Set(inALine(withSigns(text), "").match(/[-+*^]/g));
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
    const learned = Object.values(gridsum.data?.rules ?? {}).filter((rule) => rule.sign === character).map((rule) => rule.base);
    if (learned.length && !learned.includes(base)) refuse("base", { character, bases: learned.join(", ") });
    if (character in gridsum.operations) refuse("sign", { character, sign });
    if (character === "." || character === ",") refuse("fraction", { character });
    refuse("character", { character, last: letters(base).at(-1), sign });
  }

  const shorten = (text, most = 28) => (text.length <= most ? text : `${text.slice(0, most / 2 - 1)}…${text.slice(1 - most / 2)}`);

  // The shortest way to write a sum: runs of one digit become `9{50}`.
  function brief(terms, sign = "+") {
    return terms.join(sign).replace(/([0-9a-f])\1{9,}/g, (run, digit) => `${digit}{${run.length}}`);
  }

  Object.assign(gridsum, { DIGITS, SumError, parse, signIn, inALine, shorten, brief });
}
