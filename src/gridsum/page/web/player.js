"use strict";
// A picture of a film with all that is needed to watch it: play, single steps, a slider, a sentence, cells to choose and
// to damage.
{
  const { html, clamp, t } = gridsum;
  const SMALLEST_CELL = 17; // below this, a grid is shown by an overview and a window
  const SPEEDS = [["0.25", "slow"], ["1", "normal"], ["4", "fast"]];
  const DAMAGE_MS = 1000; // damage is seen for so long before it heals
  const MOST_DAMAGED = 20_000; // cells of the largest grid that can be damaged
  const MOST_SPOKEN = 240; // cells of the largest grid that is read out row by row
  const players = new Set();
  let active = null; // the player that keys act on

  class Player {
    // options: label; most, the pixels of a cell; part, of the film; follows, a player whose clock this one keeps;
    // onCell, onMoment, onDamage
    constructor(element, options = {}) {
      Object.assign(this, { element, options, moment: 0, progress: 1, wait: 0, playing: false, speed: 1, chosen: null, followers: [] });
      this.sentence = html("p", { class: "moment", role: "status", "aria-live": "polite" });
      this.spoken = html("p", { class: "spoken", id: `${element.id}-spoken` });
      this.canvas = html("canvas", { tabindex: 0, role: "application", "aria-label": options.label, "aria-describedby": this.spoken.id });
      this.pen = new gridsum.CanvasPen(this.canvas.getContext("2d"));
      this.#buildTransport();
      element.classList.add("player");
      element.append(this.canvas, this.spoken, this.sentence, ...(options.follows ? [] : [this.transport]));
      options.follows?.followers.push(this);
      this.#listen();
      players.add(this);
      active ??= this;
      new ResizeObserver(() => this.#resize()).observe(element);
      gridsum.onTheme(() => this.draw());
    }

    #buildTransport() {
      const button = (name, label, text, act) => {
        const made = html("button", { type: "button", class: name, "aria-label": t(label), title: t(label), onclick: act }, text);
        this[name] = made;
        return made;
      };
      const speed = html("select", { "aria-label": t("player.speed"), onchange: () => { this.speed = Number(speed.value); } },
        ...SPEEDS.map(([value, name]) => html("option", { value, selected: value === "1" }, t(`player.${name}`))));
      this.slider = html("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": t("player.moment") });
      this.name = html("output", { class: "step-name" });
      this.transport = html("div", { class: "transport" },
        button("playButton", "player.play", "▶", () => this.toggle()),
        button("back", "player.back", "‹", () => this.stepBy(-1)),
        button("forward", "player.forward", "›", () => this.stepBy(1)),
        this.slider, this.name, speed);
    }

    #listen() {
      this.slider.addEventListener("input", () => { this.pause(); this.go(Number(this.slider.value)); });
      const activate = () => { active = this.options.follows ?? this; };
      this.element.addEventListener("pointerdown", activate);
      this.element.addEventListener("focusin", activate);
      this.canvas.addEventListener("keydown", (event) => this.#key(event));
      this.canvas.addEventListener("pointerdown", (event) => this.#touch(event));
      this.canvas.addEventListener("pointermove", (event) => this.#drag(event));
      for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, (event) => this.#release(event));
    }

    // Shows a computation from its beginning, or from a step; `keep`: the chosen cell stays chosen.
    show(computation, step = null, keep = false) {
      this.pause();
      this.film = new gridsum.Film(computation, this.options.part);
      this.panorama = null;
      if (!keep) this.chosen = null;
      this.wait = 0;
      this.slider.max = this.last;
      this.#resize();
      this.go(step === null ? 0 : this.film.momentOf(step));
    }

    // The last moment of this film and of those that keep its clock.
    get last() {
      return Math.max(this.film.last, ...this.followers.map(({ film }) => film?.last ?? 0));
    }

    get step() {
      return this.film ? this.film.stepAt(Math.min(this.moment, this.film.last)) : 0;
    }

    get atEnd() {
      return this.film && this.moment >= this.last;
    }

    play(wait = 0) {
      if (!this.film || this.playing) return;
      if (this.atEnd) this.go(0);
      Object.assign(this, { playing: true, wait, before: null });
      if (this.panorama) this.panorama.follow = true;
      this.sentence.setAttribute("aria-live", "off"); // a reader is not flooded while it plays
      this.#label();
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
      this.playButton.title = t(this.playing ? "player.pause" : "player.play");
      this.playButton.setAttribute("aria-label", this.playButton.title);
    }

    stepBy(steps) {
      this.pause();
      this.go(this.moment + steps);
    }

    go(moment) {
      if (!this.film) return;
      this.moment = clamp(Math.round(moment), 0, this.last);
      this.progress = 1;
      for (const follower of this.followers) follower.go(this.moment);
      this.panorama?.chase(this.step);
      this.draw();
      this.#tell();
    }

    #frame(time) {
      if (!this.playing) return;
      const passed = this.before === null ? 0 : Math.min(time - this.before, 100) * this.speed;
      this.before = time;
      this.wait -= passed;
      if (this.wait <= 0) this.progress += passed / this.film.duration(this.moment);
      while (this.progress >= 1 && !this.atEnd && this.wait <= 0) {
        this.moment = Math.min(this.last, this.moment + (this.panorama ? this.film.stride : 1));
        this.progress = Math.max(0, this.progress - 1) * 0.999;
        for (const follower of this.followers) follower.go(this.moment);
        this.panorama?.chase(this.step);
        this.#tell();
      }
      if (this.atEnd && this.progress >= 1) {
        this.progress = 1;
        this.pause();
        this.#tell();
      }
      this.draw();
      for (const follower of this.followers) Object.assign(follower, { progress: this.progress }).draw();
      if (this.playing) requestAnimationFrame((next) => this.#frame(next));
    }

    #tell() {
      const { film } = this, step = film.stepAt(this.moment), steps = this.last - film.writing;
      this.sentence.textContent = gridsum.narrate(film, Math.min(this.moment, film.last));
      this.spoken.textContent = this.playing ? "" : this.#rows();
      this.slider.value = this.moment;
      this.name.textContent = step < 0 || film.last === film.writing ? t("player.writing") : t("player.step", { step, steps });
      this.slider.setAttribute("aria-valuetext", this.name.textContent);
      this.options.onMoment?.(this);
    }

    // The grid in words, for those who do not see it.
    #rows() {
      const { film: { scene }, step } = this, { height, width } = scene.size;
      if (step < 0 || height * width > MOST_SPOKEN) return "";
      const state = scene.at(step), text = (index) => scene.cell(state, index, step).text;
      return Array.from({ length: height }, (_, row) => t("player.row", {
        row: row + 1, text: Array.from({ length: width }, (_, column) => text(row * width + column)).join("") || t("film.nothing"),
      })).join(" ");
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
      this.canvas.classList.toggle("map", this.panorama !== null);
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
      const now = Math.min(moment, this.film.last);
      if (this.panorama) this.panorama.draw(pen, now);
      else gridsum.drawMoment(pen, this.film, place, now, moment > now ? 1 : progress);
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
      if (!first) return;
      const down = row < first.row ? row - first.row : Math.max(0, row - first.row - rows + 1);
      const across = column < first.column ? column - first.column : Math.max(0, column - first.column - columns + 1);
      if (corner && (down || across)) this.panorama.move(down, across);
    }

    #point(event) {
      const box = this.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    }

    // The cell at a point, or null.
    #cellAt(x, y) {
      const { cell, left, top, rows, columns } = this.place, first = this.panorama?.first ?? { row: 0, column: 0 };
      const row = Math.floor((y - top) / cell), column = Math.floor((x - left) / cell);
      return row < 0 || column < 0 || row >= rows || column >= columns ? null : { row: first.row + row, column: first.column + column };
    }

    #touch(event) {
      if (!this.film) return;
      this.canvas.setPointerCapture(event.pointerId);
      this.held = { point: this.#point(event), moved: false, cells: new Set() };
    }

    // Over the cells of a grid a finger smears them; a large grid is moved like a map.
    #drag(event) {
      const { held } = this;
      if (!held || !event.buttons) return;
      const [x, y] = this.#point(event), [fromX, fromY] = held.point;
      if (!held.moved && Math.hypot(x - fromX, y - fromY) < 8) return;
      held.moved = true;
      if (this.panorama) {
        if (this.panorama.inMap(x, y)) this.panorama.jump(x, y);
        else this.panorama.move(-event.movementY / this.place.cell, -event.movementX / this.place.cell);
        this.draw();
        return;
      }
      const pieces = Math.ceil(Math.hypot(x - fromX, y - fromY) / (this.place.cell / 2)), fresh = [];
      for (let piece = 0; piece <= pieces; piece += 1) {
        const found = this.#cellAt(fromX + (x - fromX) * piece / pieces, fromY + (y - fromY) * piece / pieces);
        const index = found && found.row * this.film.scene.size.width + found.column;
        if (found && !held.cells.has(index)) {
          held.cells.add(index);
          fresh.push(index);
        }
      }
      held.point = [x, y];
      if (fresh.length) this.damage(fresh);
    }

    #release(event) {
      const { held } = this;
      this.held = null;
      if (!held || !this.film || event.type === "pointercancel") return;
      if (held.cells.size) {
        if (!gridsum.still()) this.play(DAMAGE_MS);
      } else if (!held.moved) {
        const [x, y] = held.point, found = this.#cellAt(x, y);
        if (this.panorama?.inMap(x, y)) {
          this.panorama.jump(x, y);
          this.draw();
        } else if (found) {
          this.choose(found.row, found.column);
        }
      }
    }

    // Puts cells into other states, which `states` may name; from here on it heals.
    damage(indices, states = null) {
      const { computation } = this.film, { rule, final } = computation;
      if (!rule || final.length > MOST_DAMAGED) return;
      const start = computation.at(Math.max(0, this.step)).slice();
      const blamed = computation.disturbed ? computation.blamed.slice() : new Uint8Array(start.length).fill(this.step >= computation.steps ? 1 : 0);
      indices.forEach((index, place) => {
        blamed[index] = 1;
        start[index] = states ? states[place] : otherThan(rule, final[index]);
      });
      this.show(new gridsum.RuleComputation(rule, computation.terms, start, blamed).completeNow(), 0, true);
      this.options.onDamage?.(this);
      if (this.chosen) this.options.onCell?.(this);
    }

    // The same, and it heals when the damage has been seen.
    damageAndHeal(indices, states = null) {
      this.damage(indices, states);
      if (!gridsum.still()) this.play(DAMAGE_MS);
    }

    scramble() {
      this.damageAndHeal(Array.from(this.film.computation.final, (_, index) => index));
    }

    #key(event) {
      const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      if (event.ctrlKey || event.metaKey || event.altKey || !this.film) return;
      const { width } = this.film.scene.size, at = () => this.chosen.row * width + this.chosen.column;
      if (moves[event.key]) {
        const [down, across] = moves[event.key];
        if (this.chosen) this.choose(this.chosen.row + down, this.chosen.column + across);
        else this.choose(0, width - 1);
        if (event.shiftKey) this.damageAndHeal([at()]);
      } else if (this.chosen && (event.key === "Delete" || event.key === "Backspace" || event.key === "x")) {
        this.damageAndHeal([at()]);
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

  // Any state but this one and the start, which shows nothing.
  function otherThan(rule, state) {
    const any = 1 + Math.floor(Math.random() * (rule.outside - 2));
    return any >= state && state > 0 ? any + 1 : any;
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

  // On paper every film stands at its end.
  addEventListener("beforeprint", () => { for (const player of players) if (player.film) player.stepBy(Infinity); });

  Object.assign(gridsum, { Player });
}
