"use strict";
// One drawing, two media: what is drawn with a pen goes to a canvas, or into an SVG file.
{
  class CanvasPen {
    constructor(context) {
      this.context = context;
    }

    rect(x, y, width, height, { fill, stroke, radius = 0, alpha = 1, thick = 1 } = {}) {
      const { context } = this;
      context.globalAlpha = alpha;
      context.beginPath();
      if (radius) context.roundRect(x, y, width, height, radius);
      else context.rect(x, y, width, height);
      this.#paint(fill, stroke, thick);
    }

    line(points, { stroke, alpha = 1, thick = 1 } = {}) {
      const { context } = this;
      context.globalAlpha = alpha;
      context.beginPath();
      points.forEach(([x, y], index) => (index ? context.lineTo(x, y) : context.moveTo(x, y)));
      this.#paint(null, stroke, thick);
    }

    // Centred on y.
    text(x, y, letters, { size, fill, font, weight = 400, anchor = "middle", alpha = 1 }) {
      const { context } = this;
      context.globalAlpha = alpha;
      const wanted = `${weight} ${size.toFixed(1)}px ${font}`;
      if (this.font !== wanted) {
        context.font = wanted;
        this.font = wanted;
      }
      context.textAlign = anchor === "middle" ? "center" : anchor;
      context.fillStyle = fill;
      context.fillText(letters, x, y + 0.35 * size);
    }

    // Draws with everything moved by x and y.
    move(x, y, draw) {
      this.context.save();
      this.context.translate(x, y);
      draw();
      this.context.restore();
      this.font = null;
    }

    image(canvas, x, y, width, height) {
      this.context.globalAlpha = 1;
      this.context.imageSmoothingEnabled = false;
      this.context.drawImage(canvas, x, y, width, height);
    }

    // What stays the same from frame to frame, while nothing of `of` changes: drawn once, then copied.
    keep(of, draw) {
      const { context, kept } = this, { width, height } = context.canvas;
      if (kept?.canvas.width !== width || kept.canvas.height !== height || of.some((one, index) => one !== kept.of[index])) {
        const canvas = new OffscreenCanvas(width, height), layer = new CanvasPen(canvas.getContext("2d"));
        layer.context.setTransform(context.getTransform());
        draw(layer);
        this.kept = { canvas, of };
      }
      context.save();
      context.resetTransform();
      context.globalAlpha = 1;
      context.drawImage(this.kept.canvas, 0, 0);
      context.restore();
    }

    #paint(fill, stroke, thick) {
      const { context } = this;
      if (fill) {
        context.fillStyle = fill;
        context.fill();
      }
      if (stroke) {
        context.strokeStyle = stroke;
        context.lineWidth = thick;
        context.stroke();
      }
    }
  }

  class SvgPen {
    constructor(width, height) {
      this.size = { width, height };
      this.parts = [];
    }

    rect(x, y, width, height, { fill, stroke, radius = 0, alpha = 1, thick = 1 } = {}) {
      this.#add("rect", { x, y, width, height, rx: radius, opacity: alpha, ...paint(fill, stroke, thick) });
    }

    line(points, { stroke, alpha = 1, thick = 1 } = {}) {
      this.#add("polyline", { points: points.map((point) => point.map(rounded).join()).join(" "), opacity: alpha, ...paint(null, stroke, thick) });
    }

    text(x, y, letters, { size, fill, font, weight = 400, anchor = "middle", alpha = 1 }) {
      this.#add("text", {
        x, y: y + 0.35 * size, "font-size": size, "font-family": font.replaceAll("\"", "'"), "font-weight": weight,
        "text-anchor": anchor, opacity: alpha, fill,
      }, letters);
    }

    move(x, y, draw) {
      this.parts.push(`<g transform="translate(${rounded(x)} ${rounded(y)})">`);
      draw();
      this.parts.push("</g>");
    }

    image(canvas, x, y, width, height) {
      this.#add("image", { x, y, width, height, href: canvas.toDataURL(), preserveAspectRatio: "none" });
    }

    toString() {
      const { width, height } = this.size;
      const head = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`;
      return `${head}\n${this.parts.join("\n")}\n</svg>\n`;
    }

    #add(name, attributes, text = "") {
      const told = Object.entries(attributes)
        .filter(([key, value]) => !(key === "opacity" && value === 1) && !(key === "rx" && !value))
        .map(([key, value]) => `${key}="${typeof value === "number" ? rounded(value) : value}"`).join(" ");
      const inside = text.replace(/[<&]/g, (letter) => (letter === "<" ? "&lt;" : "&amp;"));
      this.parts.push(`<${name} ${told}>${inside}</${name}>`);
    }
  }

  const rounded = (value) => Math.round(value * 100) / 100;
  const paint = (fill, stroke, thick) => ({ fill: fill ?? "none", ...(stroke ? { stroke, "stroke-width": thick } : {}) });

  Object.assign(gridsum, { CanvasPen, SvgPen });
}
