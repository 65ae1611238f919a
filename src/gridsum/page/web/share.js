"use strict";
// The address as the page's memory, and the picture as a file.
{
  const { html } = gridsum;
  const MOST_IN_ADDRESS = 8000;
  const MARGINS = 400; // pixels beside the grid in a picture
  const FILM_MOMENTS = 400; // longer films would be too large a file
  const REFRESH_MS = 150; // browsers refuse to change the address all the time
  let waiting = null;

  function addressOf({ sum, model, step, view }) {
    const said = new URLSearchParams();
    if (sum.length <= MOST_IN_ADDRESS) said.set("sum", sum);
    if (model !== "exact") said.set("model", model);
    if (step !== null && step !== undefined) said.set("step", step);
    if (view) said.set("view", view);
    return `#${said}`;
  }

  // A new sum is a new place to come back to.
  function remember(state) {
    clearTimeout(waiting);
    const address = addressOf({ ...state, step: null });
    if (address !== location.hash) history.pushState(null, "", address);
  }

  // Another step is the same place.
  function refresh(state) {
    clearTimeout(waiting);
    waiting = setTimeout(() => history.replaceState(null, "", addressOf(state)), REFRESH_MS);
  }

  function recall() {
    const hash = location.hash.slice(1);
    if (hash && !hash.includes("=")) return { sum: null, view: hash, model: "exact", step: null }; // a link to a section
    const said = new URLSearchParams(hash), step = said.get("step");
    return {
      sum: said.get("sum"), model: said.get("model") ?? "exact", view: said.get("view"),
      step: step !== null && /^-?[0-9]+$/.test(step) ? Number(step) : null,
    };
  }

  const nameOf = ({ sum }, ending) => `gridsum-${sum.replaceAll("+", "-").replace(/[^0-9-]/g, "_").slice(0, 40)}.${ending}`;

  function download(blob, name) {
    const address = URL.createObjectURL(blob);
    html("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  // A picture is as wide as its grid and the labels beside it, not as wide as the window.
  function frameOf({ film, place, panorama }) {
    return panorama ? place : gridsum.layOut(film, Math.min(place.width, place.columns * place.cell + MARGINS), place.cell);
  }

  function paintOn(pen, player, frame, moment, progress) {
    pen.rect(0, 0, frame.width, frame.height, { fill: gridsum.theme().paper });
    player.paint(pen, moment, progress, frame);
  }

  function toSvg(player) {
    const frame = frameOf(player), pen = new gridsum.SvgPen(frame.width, frame.height);
    paintOn(pen, player, frame, player.moment, 1);
    return pen.toString();
  }

  function toCanvas(player, scale, moment = player.moment, progress = 1) {
    const frame = frameOf(player), { width, height } = frame;
    const canvas = html("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.setTransform(scale, 0, 0, scale, 0, 0);
    paintOn(new gridsum.CanvasPen(context), player, frame, moment, progress);
    return canvas;
  }

  function blends() {
    const { paper, ink, quiet, accent, accentInk, wrong } = gridsum.theme();
    const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    return [[paper, ink], [paper, quiet], [paper, accent], [accent, accentInk], [paper, wrong]].map((pair) => pair.map(channels));
  }

  // The whole film: every moment on its way and at its end.
  async function toGif(player, tell) {
    const { film } = player, frame = frameOf(player);
    if (film.last > FILM_MOMENTS) throw new gridsum.SumError("This film is too long for a file. Choose a shorter sum.");
    const scale = Math.min(1, 720 / frame.width);
    const gif = new gridsum.Gif(Math.round(frame.width * scale), Math.round(frame.height * scale), blends());
    for (let moment = 0; moment <= film.last; moment += 1) {
      const last = moment === film.last;
      for (const progress of moment && film.last <= 120 ? [0.3, 0.6, 1] : [1]) {
        const { width, height } = gif;
        const data = toCanvas(player, scale, moment, progress).getContext("2d").getImageData(0, 0, width, height).data;
        gif.add(data, last && progress === 1 ? 3000 : progress === 1 ? 0.6 * film.duration(moment) : 0.2 * film.duration(moment));
      }
      tell(`film: ${Math.round(100 * moment / film.last)} %`);
      await new Promise((resolve) => { setTimeout(resolve, 0); });
    }
    return new Blob([gif.end()], { type: "image/gif" });
  }

  // All that happened: the sum, and the grid after every step.
  function toJson({ film }, { sum, model }) {
    const { computation } = film, { size, steps, answer, exact, terms } = computation;
    const kept = size.height * size.width * steps <= 2_000_000 ? Array.from({ length: steps + 1 }, (_, n) => n) : [steps];
    const readings = kept.map((n) => ({ n, rows: Array.from({ length: size.height }, (_, row) => rowOf(film, n, row)) }));
    return JSON.stringify({ expression: `${terms.join("+")}=`, short: sum, answer, exact, correct: answer === exact, model, steps, rows: size.height, columns: size.width, readings });
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
        const address = `${location.href.split("#")[0]}${addressOf({ ...state, step: hero.step })}`;
        if (state.sum.length > MOST_IN_ADDRESS) return tell("This sum is too long for a link.");
        try {
          await navigator.clipboard.writeText(address);
          return tell("link copied");
        } catch {
          history.replaceState(null, "", address);
          return tell("the link is in the address bar");
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
        button.disabled = true;
        try {
          await acts[button.dataset.share]();
        } catch (error) {
          if (!(error instanceof gridsum.SumError)) throw error;
          tell(error.message);
        } finally {
          button.disabled = false;
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

  Object.assign(gridsum, { remember, refresh, recall, share, toCanvas });
}
