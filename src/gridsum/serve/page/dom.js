// Making elements, HTML and SVG alike.

const SVG = "http://www.w3.org/2000/svg";

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

export function html(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// A drawing of `width` × `height` that shrinks with its panel, but not below `least` of its size.
export function drawing(width, height, label, least = 1) {
  const element = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  element.style.width = "100%";
  element.style.maxWidth = `${width}px`;
  element.style.minWidth = `${Math.round(width * least)}px`;
  return element;
}

export const percent = (share) => `${Math.round(100 * share)} %`;

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

// Lets the arrow keys move a choice: `move` gets rows down and columns to the right.
export function onArrows(element, move) {
  element.setAttribute("tabindex", "0");
  element.addEventListener("keydown", (event) => {
    const arrow = ARROWS[event.key];
    if (!arrow || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    move(...arrow);
  });
}
