"use strict";
// The address as the page's memory, and the picture as a file.
{
  const { html, t, theme } = gridsum;
  const MOST_IN_ADDRESS = 8000, MOST_DAMAGE = 4000;
  const MARGINS = 400, LEAST_WIDTH = 620, HEAD = 96, FOOT = 40; // pixels of a picture around its grid
  const FILM_MOMENTS = 400; // longer films would be too large a file
  const REFRESH_MS = 150; // browsers refuse to change the address all the time
  let waiting = null;

  function addressOf({ sum, model, task, damage, view }) {
    const said = new URLSearchParams();
    if (sum.length <= MOST_IN_ADDRESS) said.set("sum", sum);
    if (task !== "add") said.set("task", task);
    if (model !== "exact") said.set("model", model);
    if (damage && damage.length <= MOST_DAMAGE) said.set("damage", damage);
    if (view) said.set("view", view);
    return `#${said}`;
  }

  // A new sum is a new place to come back to.
  function remember(state) {
    clearTimeout(waiting);
    const address = addressOf(state);
    if (address !== location.hash) history.pushState(null, "", address);
  }

  // Damage, or another section, is the same place.
  function refresh(state) {
    clearTimeout(waiting);
    waiting = setTimeout(() => history.replaceState(null, "", addressOf(state)), REFRESH_MS);
  }

  function recall() {
    const hash = location.hash.slice(1);
    const said = new URLSearchParams(hash.includes("=") ? hash : `view=${hash}`); // a link to a section has no “=”
    return {
      sum: said.get("sum"), model: said.get("model") ?? "exact", task: said.get("task") ?? "add", view: said.get("view"),
      damage: said.get("damage") ?? "",
    };
  }

  // The states that a computation was started from, where they differ from those it comes to: 3.k*7.2 is cell 3 in state
  // k (all numbers in base 36), and so on.
  function damageOf(computation) {
    if (!computation.disturbed) return "";
    const start = computation.at(0), { final } = computation, different = [];
    start.forEach((state, index) => { if (state !== final[index]) different.push(`${index.toString(36)}.${state.toString(36)}`); });
    return different.join("*");
  }

  // The same as cells and states; what does not fit the grid is left out.
  function readDamage(text, { final, rule }) {
    const pairs = text.split("*").map((pair) => pair.split(".").map((number) => parseInt(number, 36)));
    return pairs.filter(([index, state]) => index < final.length && state < rule.outside);
  }

  const nameOf = ({ sum }, ending) => `gridsum-${sum.replaceAll("+", "-").replace(/[^0-9-]/g, "_").slice(0, 40)}.${ending}`;

  function download(blob, name) {
    const address = URL.createObjectURL(blob);
    html("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  // A picture is as wide as its grid and the labels beside it, not as wide as the window. Above it stands what it is, below
  // it where it comes from.
  function frameOf({ film, place, panorama }) {
    const width = Math.max(LEAST_WIDTH, Math.min(place.width, place.columns * place.cell + MARGINS));
    const inner = panorama ? place : gridsum.layOut(film, width, place.cell);
    return { inner, width: Math.max(width, inner.width), height: inner.height + HEAD + FOOT };
  }

  const home = () => (location.protocol === "file:" ? "" : location.href.split(/[?#]/)[0]);

  function paintOn(pen, player, frame, moment, progress) {
    const { paper, ink, quiet, words } = theme(), { width, height, inner } = frame, { computation, last } = player.film;
    const { terms, answer, rule } = computation, style = { font: words }, sum = gridsum.shorten(rule?.joined(terms) ?? terms.join(" + "), 44);
    pen.rect(0, 0, width, height, { fill: paper });
    pen.text(width / 2, 30, rule?.t("share.headline") ?? t("share.headline"), { ...style, size: 22, fill: ink, weight: 600 });
    pen.text(width / 2, 66, `${sum} = ${moment >= last ? gridsum.shorten(answer, 32) : "?"}`, { ...style, size: 19, fill: ink });
    pen.text(width / 2, height - 20, [home().replace(/^https?:\/\//, ""), `gridsum ${gridsum.data.version}`].filter(Boolean).join("  ·  "), { ...style, size: 14, fill: quiet });
    pen.move((width - inner.width) / 2, HEAD, () => player.paint(pen, moment, progress, inner));
  }

  function toSvg(player) {
    const frame = frameOf(player), pen = new gridsum.SvgPen(frame.width, frame.height);
    paintOn(pen, player, frame, player.film.last, 1);
    return pen.toString();
  }

  function toCanvas(player, scale, moment = player.film.last, progress = 1) {
    const frame = frameOf(player), { width, height } = frame;
    const canvas = html("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.setTransform(scale, 0, 0, scale, 0, 0);
    paintOn(new gridsum.CanvasPen(context), player, frame, moment, progress);
    return canvas;
  }

  function blends() {
    const { paper, ink, quiet, accent, accentInk, wrong, wrongSoft } = theme();
    const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    return [[paper, ink], [paper, quiet], [paper, accent], [accent, accentInk], [paper, wrong], [paper, wrongSoft]].map((pair) => pair.map(channels));
  }

  // The whole film: every moment on its way and at its end.
  async function toGif(player, tell) {
    const { film } = player, frame = frameOf(player);
    if (film.last > FILM_MOMENTS) throw new gridsum.SumError(t("share.too-long"));
    await gridsum.loadScript("gif.js");
    const scale = Math.min(1, 720 / frame.width);
    const gif = new gridsum.Gif(Math.round(frame.width * scale), Math.round(frame.height * scale), blends());
    for (let moment = 0; moment <= film.last; moment += 1) {
      const last = moment === film.last;
      for (const progress of moment && film.last <= 120 ? [0.3, 0.6, 1] : [1]) {
        const { width, height } = gif;
        const data = toCanvas(player, scale, moment, progress).getContext("2d").getImageData(0, 0, width, height).data;
        gif.add(data, last && progress === 1 ? 3000 : progress === 1 ? 0.6 * film.duration(moment) : 0.2 * film.duration(moment));
      }
      tell(t("share.film", { share: Math.round(100 * moment / film.last) }));
      await new Promise((resolve) => { setTimeout(resolve, 0); });
    }
    return new Blob([gif.end()], { type: "image/gif" });
  }

  // All that happened: the sum, and the grid after every step.
  function toJson({ film }, { sum, model }) {
    const { computation } = film, { size, steps, answer, exact, terms, rule } = computation;
    const kept = size.height * size.width * steps <= 2_000_000 ? Array.from({ length: steps + 1 }, (_, n) => n) : [steps];
    const frames = kept.map((n) => ({ n, rows: Array.from({ length: size.height }, (_, row) => rowOf(film, n, row)) }));
    return JSON.stringify({ expression: `${terms.join(rule?.sign ?? "+")}=`, short: sum, answer, expected: exact, correct: answer === exact, model: rule?.model ?? model, steps, rows: size.height, columns: size.width, frames });
  }

  function rowOf({ scene }, n, row) {
    const state = scene.at(n), { width } = scene.size;
    return Array.from({ length: width }, (_, column) => scene.cell(state, row * width + column, 0).text || " ").join("");
  }

  function share({ hero, state }) {
    const note = document.getElementById("shared");
    const tell = (text) => { note.textContent = text; };
    const acts = {
      link: async () => {
        const address = `${location.href.split("#")[0]}${addressOf({ ...state, view: "" })}`;
        if (state.sum.length > MOST_IN_ADDRESS) return tell(t("share.no-link"));
        try {
          await navigator.clipboard.writeText(address);
          return tell(t("share.copied"));
        } catch {
          history.replaceState(null, "", address);
          return tell(t("share.in-address"));
        }
      },
      svg: () => download(new Blob([toSvg(hero)], { type: "image/svg+xml" }), nameOf(state, "svg")),
      png: () => new Promise((done) => {
        toCanvas(hero, 2).toBlob((blob) => { download(blob, nameOf(state, "png")); done(); }, "image/png");
      }),
      gif: async () => {
        download(await toGif(hero, tell), nameOf(state, "gif"));
        tell("");
      },
      json: () => download(new Blob([toJson(hero, state)], { type: "application/json" }), nameOf(state, "json")),
    };
    for (const button of document.querySelectorAll("[data-share]")) {
      button.addEventListener("click", async () => {
        tell("");
        button.setAttribute("aria-disabled", "true"); // it keeps the focus
        try {
          await acts[button.dataset.share]();
        } catch (error) {
          if (!(error instanceof gridsum.SumError)) throw error;
          tell(error.message);
        } finally {
          button.removeAttribute("aria-disabled");
        }
      });
    }
    keepView(state);
  }

  // The section that is looked at is part of the address.
  function keepView(state) {
    const sections = document.querySelectorAll("main > section");
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        state.view = entry.target.id === "top" ? "" : entry.target.id;
        refresh(state);
      }
    }, { rootMargin: "-45% 0px -45% 0px" });
    for (const section of sections) seen.observe(section);
  }

  Object.assign(gridsum, { remember, refresh, recall, damageOf, readDamage, share, toCanvas });
}
