"use strict";
// What the page says, in one language at a time; every language is a file in words/, with numbers as it writes them.
globalThis.gridsum ??= { models: {}, tables: {} };
{
  const LANGUAGES = { en: "English", de: "Deutsch", fr: "Français", es: "Español", zh: "中文" };
  const KEPT = "gridsum.language";
  let language = "en", plurals = new Intl.PluralRules("en");
  gridsum.words = {}; // by language, filled by words/LANGUAGE.js

  // The text of a key, with values put in; where texts differ by number, `count` decides which it is. An operation may have
  // words of its own.
  function t(key, values = {}, kind) {
    const all = gridsum.words[language], number = values.count;
    const text = all[`${key}-${kind}`] ?? all[key] ?? (number === undefined ? undefined : all[`${key}.${plurals.select(number)}`]) ?? all[`${key}.other`];
    if (text === undefined) throw new Error(`there is no text ${key}`);
    return text.replace(/\{(\w+)\}/g, (_, name) => said(values[name] ?? gridsum.data?.facts[name] ?? `{${name}}`));
  }

  const hasText = (key) => key in gridsum.words[language];
  const said = (value) => (typeof value === "number" ? count(value) : value);
  const count = (number) => number.toLocaleString(language);

  // What stands between thousands, as people write it here.
  const thousands = () => new Intl.NumberFormat(language).formatToParts(1234567).find(({ type }) => type === "group").value;

  // The language that was chosen here before, or the first of the browser's that there is.
  function wanted() {
    let kept = null;
    try { kept = localStorage.getItem(KEPT); } catch { /* it may be forbidden */ }
    return [kept, ...navigator.languages].map((name) => name?.slice(0, 2)).find((name) => name in LANGUAGES) ?? "en";
  }

  function choose(name) {
    try { localStorage.setItem(KEPT, name); } catch { /* then it is forgotten */ }
    location.reload(); // the address holds all that is shown
  }

  // Puts the texts of a language into the page. It was written in English.
  function speak(name) {
    language = name;
    plurals = new Intl.PluralRules(name);
    document.documentElement.lang = name;
    for (const element of document.querySelectorAll("[data-t]")) element.innerHTML = t(element.dataset.t);
    for (const attribute of ["aria-label", "content", "placeholder"]) {
      for (const element of document.querySelectorAll(`[data-t-${attribute}]`)) {
        element.setAttribute(attribute, t(element.getAttribute(`data-t-${attribute}`)));
      }
    }
    document.documentElement.classList.remove("waiting");
  }

  // Fetched at once, while the page is still being read; what is not English is not shown in English first.
  function listen() {
    const name = wanted(), script = document.createElement("script");
    script.src = `words/${name}.js`;
    document.documentElement.classList.toggle("waiting", name !== "en");
    gridsum.spoken = new Promise((resolve, reject) => { Object.assign(script, { onload: () => resolve(name), onerror: reject }); });
    document.head.append(script);
  }

  Object.assign(gridsum, { LANGUAGES, t, hasText, count, thousands, speak, chooseLanguage: choose });
  if (globalThis.document) listen();
}
