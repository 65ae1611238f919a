"use strict";
// The paper's network in plain JavaScript, equation by equation as model/paper.py has them, for one sum.
{
  const MOST_CELLS = 4000;

  const silu = (x) => x / (1 + Math.exp(-x));

  class PaperNetwork {
    constructor({ weights, parts, model, task, name }) {
      Object.assign(this, { model, task, name });
      // Computed in double precision: that is what JavaScript's numbers are, and it is twice as quick.
      const values = Float64Array.from(new Float32Array(gridsum.bytes(weights).buffer));
      this.part = (key) => {
        const found = parts[key];
        return found && values.subarray(found.at, found.at + found.shape.reduce((a, b) => a * b, 1));
      };
      this.has = (key) => key in parts;
    }

    // The grid on which `gridsum solve` works such a sum out.
    sizeOf(terms) {
      const { leastTerms, spareRows, spareColumns } = this.task;
      const count = Math.max(terms.length, leastTerms), digits = gridsum.longestOf(terms);
      const height = count + spareRows;
      const width = Math.max(digits + spareColumns, gridsum.columnsNeeded(count, digits));
      if (height * width > MOST_CELLS) {
        throw new gridsum.SumError(gridsum.t("mistake.network", { count: height * width, most: MOST_CELLS }));
      }
      return { height, width };
    }

    // x [count, in] · W + b
    linear(x, count, key, inputs, outputs) {
      const weight = this.part(`${key}.weight`), bias = this.part(`${key}.bias`);
      return product(x, count, weight, bias, inputs, outputs);
    }

    // Eq. 1: linear layers with SiLU between them.
    feedForward(x, count, key, sizes) {
      let y = x;
      for (let layer = 0; layer + 1 < sizes.length; layer += 1) {
        if (layer) y = y.map(silu);
        y = this.linear(y, count, `${key}.layers.${layer}`, sizes[layer], sizes[layer + 1]);
      }
      return y;
    }

    layerNorm(x, key) {
      const { width } = this.model, weight = this.part(`${key}.weight`), bias = this.part(`${key}.bias`);
      for (let start = 0; start < x.length; start += width) {
        let mean = 0, variance = 0;
        for (let e = 0; e < width; e += 1) mean += x[start + e];
        mean /= width;
        for (let e = 0; e < width; e += 1) variance += (x[start + e] - mean) ** 2;
        const scale = 1 / Math.sqrt(variance / width + 1e-5);
        for (let e = 0; e < width; e += 1) x[start + e] = (x[start + e] - mean) * scale * weight[e] + bias[e];
      }
      return x;
    }

    // Eq. 2: what each symbol of the alphabet does, as probabilities [13][3].
    actions() {
      const { width } = this.model;
      const hidden = this.part("placement.encoder.layers.0.bias").length;
      const scores = this.feedForward(this.part("embedding.weight"), 13, "placement.encoder", [width, hidden, 3]);
      softmaxOver(scores, 3, 13, true);
      return Array.from({ length: 13 }, (_, symbol) => scores.subarray(3 * symbol, 3 * symbol + 3));
    }

    // The most probable action of each symbol.
    chosen() {
      return this.actions().map((chances) => chances.indexOf(Math.max(...chances)));
    }

    // Eq. 3 backwards in time: end(i, j) is the share of a symbol written now that ends i rows down and j columns from
    // the right, fall(i) the probability that exactly i new rows follow.
    place(symbols, { height, width: columns }) {
      const { width } = this.model, embedding = this.part("embedding.weight"), actions = this.actions();
      const grid = new Float64Array(height * columns * width);
      let end = new Float64Array(height * columns), fall = new Float64Array(height);
      end[0] = fall[0] = 1;
      for (let index = symbols.length - 1; index >= 0; index -= 1) {
        const [tlu, nlp, nop] = actions[symbols[index]], vector = symbols[index] * width;
        for (let row = 0; row < height; row += 1) {
          for (let right = 0; right < columns; right += 1) {
            const share = end[row * columns + right] * (tlu + nlp);
            if (share === 0) continue;
            const cell = (row * columns + columns - 1 - right) * width;
            for (let e = 0; e < width; e += 1) grid[cell + e] += share * embedding[vector + e];
          }
        }
        [end, fall] = earlier(end, fall, tlu, nlp, nop, height, columns);
      }
      return grid;
    }

    // Eq. 6: queries (with s added), keys and values of every cell.
    project(grid) {
      const { width, groups } = this.model, part = width / groups, cells = grid.length / width;
      const matrices = this.part("step.attention.projection"), extra = this.part("step.attention.query");
      return [0, 1, 2].map((which) => {
        const projected = new Float64Array(grid.length);
        for (let cell = 0; cell < cells; cell += 1) {
          for (let group = 0; group < groups; group += 1) {
            const start = cell * width + group * part, matrix = (which * groups + group) * part * part;
            for (let i = 0; i < part; i += 1) {
              const value = grid[start + i];
              for (let o = 0; o < part; o += 1) projected[start + o] += value * matrices[matrix + i * part + o];
            }
          }
          if (which === 0 && extra) for (let e = 0; e < width; e += 1) projected[cell * width + e] += extra[e];
        }
        return projected;
      });
    }

    // Eq. 7: the weights [k², heads] that one cell pays to its neighbours.
    weights(q, k, { height, width: columns }, row, column) {
      const { width, heads, kernel } = this.model, size = width / heads, margin = kernel >> 1;
      const relative = this.part("step.attention.relative"), own = (row * columns + column) * width;
      const scores = new Float64Array(kernel * kernel * heads);
      for (let place = 0; place < kernel * kernel; place += 1) {
        const r = row + Math.floor(place / kernel) - margin, c = column + (place % kernel) - margin;
        const inside = r >= 0 && r < height && c >= 0 && c < columns, other = (r * columns + c) * width;
        for (let e = 0; e < width; e += 1) {
          const key = (inside ? k[other + e] : 0) + relative[place * width + e];
          scores[place * heads + (e / size | 0)] += q[own + e] * key;
        }
      }
      return softmaxOver(scores, kernel * kernel, heads);
    }

    attend(grid, size) {
      const { width, heads, kernel } = this.model, part = width / heads, margin = kernel >> 1;
      const { height, width: columns } = size;
      const [q, k, v] = this.project(grid), attended = new Float64Array(grid.length);
      for (let row = 0; row < height; row += 1) {
        for (let column = 0; column < columns; column += 1) {
          const weights = this.weights(q, k, size, row, column), own = (row * columns + column) * width;
          for (let place = 0; place < kernel * kernel; place += 1) {
            const r = row + Math.floor(place / kernel) - margin, c = column + (place % kernel) - margin;
            if (r < 0 || r >= height || c < 0 || c >= columns) continue;
            const other = (r * columns + c) * width;
            for (let e = 0; e < width; e += 1) {
              attended[own + e] += weights[place * heads + (e / part | 0)] * v[other + e];
            }
          }
        }
      }
      return attended;
    }

    // Eq. 5: G' = LN(G + Y), then LN(G' + FFN_3(G')).
    step(grid, size) {
      const { width } = this.model, key = "step.transition", cells = grid.length / width;
      const between = this.layerNorm(added(grid, this.attend(grid, size)), `${key}.norm_attention`);
      const hidden = this.part(`${key}.feed_forward.layers.0.bias`).length;
      const further = this.feedForward(between, cells, `${key}.feed_forward`, [width, hidden, hidden, width]);
      return this.layerNorm(added(between, further), `${key}.norm_feed_forward`);
    }

    // Eq. 13 and 14: the next context [length, width], and λ.
    ponder(context, grid, { height, width: columns }) {
      const { width, context_length: length } = this.model, key = "context";
      const seen = this.#contextAttention(context, grid, height, columns);
      let next = this.layerNorm(added(context, seen), `${key}.norm_attention`);
      const hidden = this.part(`${key}.feed_forward.layers.0.bias`).length;
      next = this.layerNorm(added(next, this.feedForward(next, length, `${key}.feed_forward`, [width, hidden, width])),
        `${key}.norm_feed_forward`);
      const deciding = this.part(`${key}.decision.layers.0.bias`).length;
      const [score] = this.feedForward(next, 1, `${key}.decision`, [length * width, deciding, 1]);
      return [next, 1 / (1 + Math.exp(-score))];
    }

    #contextAttention(context, grid, height, columns) {
      const { width, context_length: length, context_heads: heads } = this.model;
      const part = width / heads, cells = height * columns, square = width * width;
      const matrices = this.part("context.attention.projection"), biases = this.part("context.attention.projection_bias");
      const projected = (x, count, which) => product(x, count, matrices.subarray(which * square, (which + 1) * square),
        biases.subarray(which * width, (which + 1) * width), width, width);
      const q = projected(context, length, 0), k = projected(grid, cells, 1), v = projected(grid, cells, 2);
      const joined = new Float64Array(length * width);
      for (let line = 0; line < length; line += 1) {
        for (let head = 0; head < heads; head += 1) {
          const scores = new Float64Array(cells), slope = 2 ** -(head + 1);
          for (let cell = 0; cell < cells; cell += 1) {
            let score = 0;
            for (let e = head * part; e < (head + 1) * part; e += 1) score += q[line * width + e] * k[cell * width + e];
            scores[cell] = score / Math.sqrt(part) - slope * Math.floor(cell / columns);
          }
          const weights = softmaxOver(scores, cells, 1);
          for (let cell = 0; cell < cells; cell += 1) {
            for (let e = head * part; e < (head + 1) * part; e += 1) joined[line * width + e] += weights[cell] * v[cell * width + e];
          }
        }
      }
      return product(joined, length, this.part("context.attention.output"), this.part("context.attention.output_bias"), width, width);
    }

    // The symbol that each cell reads as, and how sure that is.
    read(grid) {
      const { width } = this.model, cells = grid.length / width;
      const scores = softmaxOver(this.linear(grid, cells, "output", width, 13), 13, cells, true);
      const symbols = new Uint8Array(cells), confidence = new Float32Array(cells);
      for (let cell = 0; cell < cells; cell += 1) {
        for (let symbol = 0; symbol < 13; symbol += 1) {
          if (scores[cell * 13 + symbol] > confidence[cell]) {
            confidence[cell] = scores[cell * 13 + symbol];
            symbols[cell] = symbol;
          }
        }
      }
      return { symbols, confidence };
    }
  }

  function earlier(end, fall, tlu, nlp, nop, height, columns) {
    const ends = new Float64Array(end.length), falls = new Float64Array(height);
    for (let row = 0; row < height; row += 1) {
      falls[row] = (tlu + nop) * fall[row] + (row ? nlp * fall[row - 1] : 0);
      for (let right = 0; right < columns; right += 1) {
        // A symbol in the top row moves left on TLU; the first NLP pushes it down, and from there it only moves down.
        ends[row * columns + right] = nop * end[row * columns + right];
        if (right) ends[row * columns + right] += tlu * end[row * columns + right - 1];
      }
      if (row) ends[row * columns] += nlp * fall[row - 1];
    }
    return [ends, falls];
  }

  // x [count, inputs] · matrix [inputs, outputs] + bias
  function product(x, count, matrix, bias, inputs, outputs) {
    const y = new Float64Array(count * outputs);
    for (let line = 0; line < count; line += 1) {
      const start = line * outputs, from = line * inputs;
      for (let o = 0; o < outputs; o += 1) y[start + o] = bias[o];
      // Four inputs at once: each output is read and written a quarter as often.
      let i = 0;
      for (; i + 3 < inputs; i += 4) {
        const a = x[from + i], b = x[from + i + 1], c = x[from + i + 2], d = x[from + i + 3];
        let at = i * outputs;
        for (let o = 0; o < outputs; o += 1, at += 1) {
          y[start + o] += a * matrix[at] + b * matrix[at + outputs] + c * matrix[at + 2 * outputs] + d * matrix[at + 3 * outputs];
        }
      }
      for (; i < inputs; i += 1) for (let o = 0; o < outputs; o += 1) y[start + o] += x[from + i] * matrix[i * outputs + o];
    }
    return y;
  }

  function added(x, y) {
    const sum = new Float64Array(x.length);
    for (let index = 0; index < x.length; index += 1) sum[index] = x[index] + y[index];
    return sum;
  }

  // Over `count` entries, for `lanes` lanes beside each other; or over each line of `count` entries where `lines`.
  function softmaxOver(scores, count, lanes, lines = false) {
    const stride = lines ? 1 : lanes;
    for (let lane = 0; lane < lanes; lane += 1) {
      const start = lines ? lane * count : lane;
      let most = -Infinity, sum = 0;
      for (let i = 0; i < count; i += 1) most = Math.max(most, scores[start + i * stride]);
      for (let i = 0; i < count; i += 1) {
        const weight = Math.exp(scores[start + i * stride] - most);
        scores[start + i * stride] = weight;
        sum += weight;
      }
      for (let i = 0; i < count; i += 1) scores[start + i * stride] /= sum;
    }
    return scores;
  }

  const asText = (symbols) => Array.from(symbols, (symbol) => " 0123456789+="[symbol]).join("").replaceAll(" ", "");

  const WORD = (1n << 64n) - 1n, GOLDEN = 0x9e3779b97f4a7c15n, FIRST = 0xbf58476d1ce4e5b9n, SECOND = 0x94d049bb133111ebn;
  const mixed = (x) => {
    const half = ((x ^ (x >> 30n)) * FIRST) & WORD, whole = ((half ^ (half >> 27n)) * SECOND) & WORD;
    return whole ^ (whole >> 31n);
  };

  // What `gridsum solve` compares the chance to halt at step n with: data/streams.py of seed 0 and the sum's checksum.
  function drawsOf(terms) {
    let crc = -1;
    for (const letter of `${terms.join("+")}=`) {
      crc ^= letter.charCodeAt(0);
      for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
    const key = mixed(((mixed(SECOND) ^ FIRST) + BigInt(~crc >>> 0) * GOLDEN) & WORD);
    return (n) => Number(mixed((key + BigInt(n + 1) * GOLDEN) & WORD) >> 40n) * 2 ** -24;
  }

  // A sum worked out until the network halts, as `gridsum solve` does it; every grid is kept.
  class PaperComputation {
    constructor(network, terms) {
      this.network = network;
      this.terms = terms;
      this.size = network.sizeOf(terms);
      this.input = gridsum.encode(terms);
      this.exact = gridsum.exactSum(terms);
      this.halting = [];
      this.draw = drawsOf(terms);
      this.grids = [network.place(this.input, this.size)];
      this.readings = [network.read(this.grids[0])];
      this.context = network.has("context.initial") ? network.part("context.initial") : null;
      this.steps = 0;
      this.capped = false;
    }

    // Whether it halts here; else it takes one step more.
    advance() {
      const { network, size, steps: n } = this, { halting, fixed_steps: fixed, max_evaluation_steps: most } = network.model;
      const grid = this.grids[n], cap = halting === "fixed" ? fixed : most;
      if (this.context) {
        const [context, chance] = network.ponder(this.context, grid, size);
        this.context = context;
        this.halting.push(chance);
        if (n < cap && this.draw(n) < chance) return this.#finish();
      }
      if (n === cap) {
        this.capped = halting !== "fixed";
        return this.#finish();
      }
      this.grids.push(network.step(grid, size));
      this.readings.push(network.read(this.grids[n + 1]));
      this.steps += 1;
      return false;
    }

    completeNow() {
      while (!this.advance());
      return this;
    }

    async complete(cancelled = () => false) {
      let slice = performance.now();
      while (!this.advance()) {
        if (performance.now() - slice < 12) continue;
        await new Promise((resolve) => { setTimeout(resolve, 0); });
        if (cancelled()) return false;
        slice = performance.now();
      }
      return true;
    }

    #finish() {
      this.answer = this.readRow(this.steps, 0);
      return true;
    }

    // The step at which its cells would have had the answer if it had not halted; null if they never do.
    wouldBeRight() {
      const { network, size, exact } = this, { width } = size;
      let grid = this.grids[this.steps];
      for (let n = this.steps + 1; n <= network.model.max_evaluation_steps; n += 1) {
        grid = network.step(grid, size);
        if (asText(network.read(grid.subarray(0, width * network.model.width)).symbols) === exact) return n;
      }
      return null;
    }

    readRow(n, row) {
      const { width } = this.size, { symbols } = this.readings[Math.min(n, this.steps)];
      return asText(symbols.subarray(row * width, (row + 1) * width));
    }
  }

  Object.assign(gridsum, { PaperNetwork, PaperComputation, asText });
}
