"use strict";
// A picture of a film with all that is needed to watch it: play, single steps, a slider, a sentence, cells to choose.
{
  const { html, clamp, count, theme } = gridsum;
  const SMALLEST_CELL = 17; // below this, a grid is shown by an overview and a window
  const SPEEDS = [["0.25", "slow"], ["1", "normal"], ["4", "fast"]];
  const players = new Set();
  let active = null; // the player that keys act on

  class Player {
    // options: label; most, the pixels of a cell; part, of the film; onCell; onMoment
    constructor(element, options = {}) {
      Object.assign(this, { element, options, moment: 0, progress: 1, playing: false, speed: 1, chosen: null });
      this.canvas = html("canvas", { tabindex: 0, role: "application", "aria-label": options.label ?? "The grid" });
      this.pen = new gridsum.CanvasPen(this.canvas.getContext("2d"));
      this.sentence = html("p", { class: "moment", role: "status", "aria-live": "polite" });
      this.#buildTransport();
      element.classList.add("player");
      element.append(this.canvas, this.sentence, this.transport);
      this.#listen();
      players.add(this);
      active ??= this;
      new ResizeObserver(() => this.#resize()).observe(element);
      gridsum.onTheme(() => this.draw());
    }

    #buildTransport() {
      const button = (name, label, text, act) => {
        const made = html("button", { type: "button", class: name, "aria-label": label, title: label, onclick: act }, text);
        this[name] = made;
        return made;
      };
      const speed = html("select", { "aria-label": "Speed", onchange: () => { this.speed = Number(speed.value); } },
        ...SPEEDS.map(([value, name]) => html("option", { value, selected: value === "1" }, name)));
      this.slider = html("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Moment" });
      this.name = html("output", { class: "step-name" });
      this.transport = html("div", { class: "transport" },
        button("playButton", "Play", "▶", () => this.toggle()),
        button("back", "One step back", "‹", () => this.stepBy(-1)),
        button("forward", "One step forward", "›", () => this.stepBy(1)),
        this.slider, this.name, speed);
    }

    #listen() {
      this.slider.addEventListener("input", () => { this.pause(); this.go(Number(this.slider.value)); });
      const activate = () => { active = this; };
      this.element.addEventListener("pointerdown", activate);
      this.element.addEventListener("focusin", activate);
      this.canvas.addEventListener("click", (event) => this.#click(event));
      this.canvas.addEventListener("keydown", (event) => this.#key(event));
      this.canvas.addEventListener("pointermove", (event) => this.#drag(event));
    }

    // Shows a computation from its beginning, or from a step.
    show(computation, step = null) {
      this.pause();
      this.film = new gridsum.Film(computation, this.options.part);
      this.panorama = null;
      this.chosen = null;
      this.slider.max = this.film.last;
      this.#resize();
      this.go(step === null ? 0 : this.film.momentOf(step));
    }

    get step() {
      return this.film ? this.film.stepAt(this.moment) : 0;
    }

    get atEnd() {
      return this.film && this.moment >= this.film.last;
    }

    play() {
      if (!this.film || this.playing) return;
      if (this.atEnd) this.go(0);
      this.playing = true;
      if (this.panorama) this.panorama.follow = true;
      this.sentence.setAttribute("aria-live", "off"); // a reader is not flooded while it plays
      this.#label();
      this.last = null;
      requestAnimationFrame((time) => this.#frame(time));
    }

    pause() {
      this.playing = false;
      this.sentence.setAttribute("aria-live", "polite");
      this.#label();
    }

    toggle() {
      if (this.playing) {
        this.pause();
        this.go(this.moment);
      } else {
        this.play();
      }
    }

    #label() {
      this.playButton.textContent = this.playing ? "❚❚" : "▶";
      this.playButton.setAttribute("aria-label", this.playing ? "Pause" : "Play");
      this.playButton.title = this.playing ? "Pause" : "Play";
    }

    stepBy(steps) {
      this.pause();
      this.go(this.moment + steps);
    }

    go(moment) {
      if (!this.film) return;
      this.moment = clamp(Math.round(moment), 0, this.film.last);
      this.progress = 1;
      this.panorama?.chase(this.step);
      this.draw();
      this.#tell();
    }

    #frame(time) {
      if (!this.playing) return;
      const passed = this.last === null ? 0 : Math.min(time - this.last, 100) * this.speed;
      this.last = time;
      this.progress += passed / this.film.duration(this.moment);
      while (this.progress >= 1 && !this.atEnd) {
        this.moment = Math.min(this.film.last, this.moment + (this.panorama ? this.film.stride : 1));
        this.progress = Math.max(0, this.progress - 1) * 0.999;
        this.panorama?.chase(this.step);
        this.#tell();
      }
      if (this.atEnd && this.progress >= 1) {
        this.progress = 1;
        this.pause();
        this.options.onEnd?.();
      }
      this.draw();
      if (this.playing) requestAnimationFrame((next) => this.#frame(next));
    }

    #tell() {
      const { film } = this, step = this.step, { steps } = film.computation;
      this.sentence.textContent = gridsum.narrate(film, this.moment);
      this.slider.value = this.moment;
      this.name.textContent = step < 0 || film.last === film.writing ? "writing" : `step ${count(step)} of ${count(steps)}`;
      this.slider.setAttribute("aria-valuetext", this.name.textContent);
      this.options.onMoment?.(this);
    }

    #resize() {
      if (!this.film) return;
      const width = this.element.clientWidth;
      if (!width) return;
      const { options } = this;
      const plain = gridsum.layOut(this.film, width, options.most);
      const tooTall = plain.rows * plain.cell > 0.8 * Math.max(innerHeight, 640) && plain.rows > 14;
      if (plain.cell < SMALLEST_CELL || tooTall) {
        this.panorama ??= new gridsum.Panorama(this.film);
        this.place = this.panorama.layOut(width);
      } else {
        this.panorama = null;
        this.place = plain;
      }
      this.ratio = Math.min(3, devicePixelRatio || 1);
      Object.assign(this.canvas, { width: Math.round(width * this.ratio), height: Math.round(this.place.height * this.ratio) });
      Object.assign(this.canvas.style, { width: `${width}px`, height: `${this.place.height}px` });
      this.draw();
    }

    draw() {
      if (!this.film || !this.place) return;
      const { context } = this.pen;
      this.pen.font = null;
      context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      context.clearRect(0, 0, this.place.width, this.place.height);
      this.paint(this.pen);
    }

    // Everything that is to be seen now, with any pen.
    paint(pen, moment = this.moment, progress = this.progress, place = this.place) {
      if (this.panorama) this.panorama.draw(pen, moment);
      else gridsum.drawMoment(pen, this.film, place, moment, progress);
      if (this.chosen && pen === this.pen) this.#outline(pen);
    }

    #outline(pen) {
      const first = this.panorama?.first ?? { row: 0, column: 0 };
      const row = this.chosen.row - first.row, column = this.chosen.column - first.column;
      if (row >= 0 && column >= 0 && row < this.place.rows && column < this.place.columns) gridsum.outline(pen, this.place, row, column);
    }

    // ---- cells --------------------------------------------------------------------------------------------------

    choose(row, column) {
      const { height, width } = this.film.scene.size;
      this.chosen = { row: clamp(row, 0, height - 1), column: clamp(column, 0, width - 1) };
      if (this.panorama) this.#reveal();
      this.draw();
      this.options.onCell?.(this);
    }

    #reveal() {
      const { row, column } = this.chosen, { first, corner } = this.panorama, { rows, columns } = this.place;
      const down = row < first.row ? row - first.row : Math.max(0, row - first.row - rows + 1);
      const across = column < first.column ? column - first.column : Math.max(0, column - first.column - columns + 1);
      if (corner && (down || across)) this.panorama.move(down, across);
    }

    #point(event) {
      const box = this.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    }

    #click(event) {
      if (!this.film) return;
      const [x, y] = this.#point(event);
      if (this.panorama?.inMap(x, y)) {
        this.panorama.jump(x, y);
        this.draw();
        return;
      }
      const { cell, left, top, rows, columns } = this.place, first = this.panorama?.first ?? { row: 0, column: 0 };
      const row = Math.floor((y - top) / cell), column = Math.floor((x - left) / cell);
      if (this.dragged || row < 0 || column < 0 || row >= rows || column >= columns) return;
      this.choose(first.row + row, first.column + column);
    }

    // A large grid is moved like a map.
    #drag(event) {
      if (!event.buttons) this.dragged = false;
      if (!this.panorama || !event.buttons) return;
      const [x, y] = this.#point(event);
      if (this.panorama.inMap(x, y)) this.panorama.jump(x, y);
      else this.panorama.move(-event.movementY / this.place.cell, -event.movementX / this.place.cell);
      this.dragged = true;
      this.draw();
    }

    #key(event) {
      const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      if (event.ctrlKey || event.metaKey || event.altKey || !this.film) return;
      if (moves[event.key]) {
        const [down, across] = moves[event.key];
        if (this.chosen) this.choose(this.chosen.row + down, this.chosen.column + across);
        else this.choose(0, this.film.scene.size.width - 1);
      } else if (event.key === "Escape") {
        this.chosen = null;
        this.draw();
        this.options.onCell?.(this);
      } else {
        return;
      }
      event.preventDefault();
      event.stopPropagation();
    }
  }

  // Space and arrows act on the player that was used last, wherever the focus is, but where they mean something else.
  document.addEventListener("keydown", (event) => {
    if (!active?.film || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const { target } = event;
    if (target.closest("input, select, textarea, [role=grid]")) return;
    const acts = {
      " ": () => active.toggle(), ArrowLeft: () => active.stepBy(-1), ArrowRight: () => active.stepBy(1),
      Home: () => active.stepBy(-Infinity), End: () => active.stepBy(Infinity),
    };
    if (!acts[event.key] || (event.key === " " && target.closest("button, summary, a"))) return;
    const box = active.element.getBoundingClientRect();
    if (box.bottom < 0 || box.top > innerHeight) return; // keys scroll the page where the player is out of sight
    event.preventDefault();
    acts[event.key]();
  });

  Object.assign(gridsum, { Player, activate: (player) => { active = player; }, themeOf: theme });
}
