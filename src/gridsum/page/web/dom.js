"use strict";
// Small helpers: elements, the theme's colours, motion.
globalThis.gridsum ??= { models: {}, tables: {} };
{
  function html(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  function svg(name, attributes = {}, text = null) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== null) element.textContent = text;
    return element;
  }

  const NAMES = ["paper", "card", "ink", "quiet", "faint", "line", "edge", "accent", "accent-soft", "accent-ink", "wrong", "wrong-soft"];
  let colours = null;

  // The colours of the page, for what is drawn on a canvas.
  function theme() {
    if (!colours) {
      const style = getComputedStyle(document.documentElement);
      colours = Object.fromEntries(NAMES.map((name) => [
        name.replace(/-(.)/g, (_, letter) => letter.toUpperCase()), style.getPropertyValue(`--${name}`).trim(),
      ]));
      colours.digits = style.getPropertyValue("--digits").trim();
      colours.words = style.getPropertyValue("--words").trim();
    }
    return colours;
  }

  const themed = [];
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(query).addEventListener("change", () => {
      colours = null;
      for (const redraw of themed) redraw();
    });
  }
  const onTheme = (redraw) => themed.push(redraw);

  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
  const ease = (t) => (t < 0.5 ? 4 * t * t * t : 1 - (2 - 2 * t) ** 3 / 2);
  const mix = (a, b, t) => a + (b - a) * t;

  // Calls `seen(true)` when an element comes into view and `seen(false)` when it leaves.
  function watch(element, seen, share = 0.35) {
    new IntersectionObserver((entries) => {
      for (const entry of entries) seen(entry.isIntersecting);
    }, { threshold: share }).observe(element);
  }

  Object.assign(gridsum, { html, svg, theme, onTheme, still, clamp, ease, mix, watch });
}
