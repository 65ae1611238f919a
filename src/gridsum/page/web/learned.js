"use strict";
// The network of bits in plain JavaScript, as model/rule.py has it, from rounded weights; for small grids, step by step.
{
  const SHARPNESS = 3;
  const SCALE_STEP = 1 / 2048, SCALE_LOW = -16;
  const PLACES = 3;
  const MOST_CELLS = 200;

  class LearnedNetwork {
    static async from(moment, ...about) {
      return new LearnedNetwork({ ...moment, packed: await gridsum.inflate(moment.weights) }, ...about);
    }

    // Outside, symbols have the numbers that they have in base 10.
    constructor({ actions, outputs, packed }, { width, hidden, bits, base }, name) {
      Object.assign(this, { name, base, width, hidden, bits, outside: 2 ** bits, known: new Map() });
      const own = (symbol) => (symbol > 10 ? symbol - 10 + base : symbol), usual = (symbol) => (symbol > base ? symbol - base + 10 : symbol);
      this.actions = Array.from({ length: 13 }, (_, symbol) => actions[own(symbol)]);
      this.symbols = Uint8Array.from(outputs, (letter) => usual(letter.charCodeAt(0) - 97));
      const view = new DataView(packed.buffer);
      let at = 0;
      const matrix = (rows, columns) => {
        const scales = Array.from({ length: rows }, (_, row) => 2 ** (view.getUint16(at + 2 * row, true) * SCALE_STEP + SCALE_LOW));
        const start = at + 2 * rows;
        at = start + rows * columns;
        return scales.map((scale, row) => Float64Array.from({ length: columns }, (_, column) => scale * view.getInt8(start + row * columns + column)));
      };
      Object.assign(this, {
        cells: matrix(base + 2, width), queries: matrix(base + 2, width), places: matrix(PLACES, width), sight: matrix(bits + 1, 2 * width),
        norms: [matrix(2, width), matrix(2, width)],
        layers: [matrix(width + 1, hidden), matrix(hidden + 1, hidden), matrix(hidden + 1, width)], logits: matrix(width + 1, bits),
      });
      this.shown = Array.from({ length: this.outside }, (_, state) => product(Float64Array.from({ length: bits }, (_, bit) => (state >> bit & 1) * 2 - 1), this.sight));
      this.shown.push(new Float64Array(2 * width)); // outside the grid
    }

    chosen() {
      return this.actions;
    }

    // The state of a cell after one step; what was asked before is remembered.
    after(symbol, ...around) {
      const x = symbol < 10 ? symbol : symbol - 10 + this.base;
      const key = around.reduce((so, state) => so * (this.outside + 1) + state, x);
      if (!this.known.has(key)) this.known.set(key, this.#react(x, around.map((state) => this.shown[state])));
      return this.known.get(key);
    }

    #react(x, shown) {
      const { width, places, layers } = this, query = this.queries[x], cell = this.cells[x], y = new Float64Array(width);
      for (let e = 0; e < width; e += 1) {
        const scores = shown.map((of, place) => query[e] * (of[e] + places[place][e])), most = Math.max(...scores);
        const weights = scores.map((score) => Math.exp(score - most)), sum = weights.reduce((a, b) => a + b);
        y[e] = cell[e] + shown.reduce((so, of, place) => so + weights[place] * of[width + e], 0) / sum;
      }
      const between = normal(y, this.norms[0]);
      const further = layers.reduce((so, layer, index) => product(index ? so.map((z) => z / (1 + Math.exp(-z))) : so, layer), between);
      const z = product(normal(between.map((value, e) => value + further[e]), this.norms[1]), this.logits);
      return z.reduce((state, logit, bit) => state | (SHARPNESS * logit > 0 ? 1 << bit : 0), 0);
    }
  }

  // x [inputs] · matrix [inputs + 1, outputs], of which the last row is the bias.
  function product(x, matrix) {
    const y = matrix[x.length].slice();
    x.forEach((value, i) => { for (let o = 0; o < y.length; o += 1) y[o] += value * matrix[i][o]; });
    return y;
  }

  function normal(x, [weight, bias]) {
    const mean = x.reduce((a, b) => a + b) / x.length, variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
    return x.map((value, e) => (value - mean) / Math.sqrt(variance + 1e-5) * weight[e] + bias[e]);
  }

  // A sum worked out by such a network until nothing changes, or until it has had time enough.
  class LearnedComputation {
    constructor(network, terms) {
      Object.assign(this, { network, terms, size: gridsum.sizeOf(terms, network), exact: gridsum.exactSum(terms, network.base), halting: [], steps: 0 });
      const { height, width } = this.size, { outside } = network, limit = 2 * (height + width);
      if (height * width > MOST_CELLS) throw new gridsum.SumError(gridsum.t("training.large"));
      const symbols = gridsum.place({ actions: network.actions }, terms, this.size);
      let states = new Uint8Array(height * width);
      this.readings = [this.#read(states)];
      for (this.restless = true; this.steps < limit; this.steps += 1) {
        const next = states.map((_, index) => {
          const column = index % width;
          return network.after(symbols[index], column ? states[index - 1] : outside, column + 1 < width ? states[index + 1] : outside, states[index + width] ?? outside);
        });
        this.restless = next.some((state, index) => state !== states[index]);
        if (!this.restless) break;
        states = next;
        this.readings.push(this.#read(states));
      }
      this.answer = this.readRow(this.steps, 0);
    }

    #read(states) {
      return { symbols: states.map((state) => this.network.symbols[state]), confidence: new Float32Array(states.length).fill(1) };
    }

    readRow(n, row) {
      const { width } = this.size;
      return gridsum.asText(this.readings[Math.min(n, this.steps)].symbols.subarray(row * width, (row + 1) * width));
    }
  }

  Object.assign(gridsum, { LearnedNetwork, LearnedComputation });
}
