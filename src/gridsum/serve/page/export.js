// The view as one picture: every panel's drawings under each other, with the styles they have on the page.

import { svg } from "./dom.js";

const STYLES = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity", "visibility",
  "font-family", "font-size", "font-weight", "text-anchor", "image-rendering",
];
const MARGIN = 24, TITLE = 26, LINE = 18, GAP = 16, WIDTH = 680;

export function toSvg(views) {
  const page = getComputedStyle(document.documentElement);
  const height = Math.ceil(Math.max(...views.map((view) => column(view, 0, null))));
  const width = views.length * (WIDTH + MARGIN) + MARGIN;
  const picture = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` });
  picture.append(svg("rect", { width, height, fill: page.backgroundColor }));
  views.forEach((view, index) => column(view, MARGIN + index * (WIDTH + MARGIN), picture));
  return new XMLSerializer().serializeToString(picture);
}

// Draws a view's panels into `picture` (if there is one) and returns the height they need.
function column(view, left, picture) {
  const ink = getComputedStyle(document.documentElement).color;
  let y = MARGIN;
  const write = (text, size, weight) => {
    y += size * 1.3;
    picture?.append(svg("text", {
      x: left, y, fill: ink, "font-size": size, "font-weight": weight, "font-family": "system-ui, sans-serif",
    }, text));
  };
  const { expression, answer, exact, correct, steps } = view.trace;
  write(`${view.model}: ${shortened(expression + (answer || "nothing"))}`, 18, 700);
  write(correct ? `right, after ${steps} steps` : `wrong (the sum is ${shortened(exact)}), after ${steps} steps`, 14, 400);
  for (const panel of view.element.querySelectorAll(".panel")) {
    const drawings = [...panel.querySelectorAll("svg")];
    if (!drawings.length) continue;
    y += GAP;
    write(panel.querySelector("h2").firstChild.textContent, 15, 700);
    if (panel.matches(".computation")) write(panel.querySelector(".chosen").textContent, 11, 400);
    if (panel.matches(".attention")) write(panel.querySelector(".label").textContent, 11, 400);
    y = place(drawings, left, y + GAP / 2, picture, ink);
  }
  return y + MARGIN;
}

// Small drawings stand beside each other, others below each other.
function place(drawings, left, top, picture, ink) {
  let x = 0, y = top, tallest = 0;
  for (const drawing of drawings) {
    const { width: wide, height: high } = drawing.getBoundingClientRect();
    const scale = Math.min(1, WIDTH / wide);
    const width = wide * scale, height = high * scale;
    const named = drawing.closest("figure")?.querySelector("b")?.textContent;
    if (x > 0 && x + width > WIDTH) {
      x = 0;
      y += tallest + GAP;
      tallest = 0;
    }
    if (picture) {
      const copy = styled(drawing);
      for (const [key, value] of Object.entries({ x: left + x, y, width, height })) copy.setAttribute(key, value);
      picture.append(copy);
      if (named) {
        picture.append(svg("text", {
          x: left + x, y: y + height + 12, fill: ink, "font-size": 11, "font-family": "system-ui, sans-serif",
        }, named));
      }
    }
    x += width + GAP;
    tallest = Math.max(tallest, height + (named ? LINE : 0));
  }
  return y + tallest;
}

function styled(drawing) {
  const copy = drawing.cloneNode(true);
  copy.removeAttribute("style");
  const originals = drawing.querySelectorAll("*"), copies = copy.querySelectorAll("*");
  originals.forEach((original, index) => {
    const computed = getComputedStyle(original);
    for (const name of STYLES) copies[index].setAttribute(name, computed.getPropertyValue(name));
    copies[index].removeAttribute("style");
  });
  return copy;
}

const shortened = (text) => (text.length <= 44 ? text : `${text.slice(0, 20)}…${text.slice(-20)}`);

export async function toPng(source) {
  const address = URL.createObjectURL(new Blob([source], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    const scale = Math.min(2, 8192 / Math.max(image.width, image.height));
    Object.assign(canvas, { width: Math.round(image.width * scale), height: Math.round(image.height * scale) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
  } finally {
    URL.revokeObjectURL(address);
  }
}

export function download(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  Object.assign(link, { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
