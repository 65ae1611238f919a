"""A reading of the grid by the context (Eq. 13 and 14) as two kernels, a program a sample.

The context is a few vectors, so all of a reading stays inside a program: the attention to the grid as
`gridsum.ops.context.cpu` folds it, the layers after it, and λ. A row of the attention is a vector as one head sees it,
so what does not belong to that head is masked. Compiling takes seconds, so one kernel serves all numbers of readings
and problems, with dropout and without.
"""

import triton
import triton.language as tl

from gridsum.ops.kernels.cells import own_grid, place_of, sample_of
from gridsum.ops.kernels.layers import keep_factor, normalise, sigmoid, through_norm


@triton.jit
def _matrix(at, K: tl.constexpr, N: tl.constexpr):
    return tl.load(at + tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :])


@triton.jit
def _times(x, matrix):
    """x · matrix, in the precision of the matrix."""
    return tl.dot(x.to(matrix.dtype), matrix, input_precision="ieee")


@triton.jit
def _rounded(x, like):
    return x.to(like.dtype.element_ty).to(tl.float32)


@triton.jit
def _queries(contexts, low, vectors, E: tl.constexpr, HEADS: tl.constexpr, LENGTH: tl.constexpr, ROWS: tl.constexpr):
    """What each row asks for, in its head's own features and carried over to the grid's space: [ROWS,E] each."""
    row, feature = tl.arange(0, ROWS), tl.arange(0, E)
    at = row[:, None] % LENGTH * E + feature[None, :]
    context = tl.load(contexts + at, mask=(row < HEADS * LENGTH)[:, None], other=0.0)
    to_query, to_key = _matrix(low + 2 * E * E, E, E), _matrix(low, E, E)
    query = _times(context, to_query) + tl.load(vectors + feature)[None, :]
    query = tl.where(_own(E, HEADS, LENGTH, ROWS), query, 0.0)
    return query, _times(query, tl.trans(to_key))


@triton.jit
def _own(E: tl.constexpr, HEADS: tl.constexpr, LENGTH: tl.constexpr, ROWS: tl.constexpr):
    """Which features belong to each row's head: [ROWS,E]."""
    return (tl.arange(0, ROWS) // LENGTH)[:, None] == (tl.arange(0, E) // (E // HEADS))[None, :]


@triton.jit
def _of_vector(LENGTH: tl.constexpr, ROWS: tl.constexpr, VECTORS: tl.constexpr):
    """1 where a row is of a vector, else 0: [VECTORS,ROWS]."""
    row, vector = tl.arange(0, ROWS), tl.arange(0, VECTORS)
    return tl.where((row % LENGTH)[None, :] == tl.where(vector < LENGTH, vector, -1)[:, None], 1.0, 0.0)


@triton.jit
def _weights(
    queries, grid, cells, columns, scale,
    LENGTH: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """softmax(queries·grid scaled, with row-wise ALiBi): [ROWS,TILE]."""
    row, cell = tl.arange(0, ROWS), tl.arange(0, TILE)
    scores = tl.dot(queries, tl.trans(grid), input_precision=PRECISION) * scale
    slope = tl.exp2(-(row // LENGTH + 1).to(tl.float32))
    scores -= slope[:, None] * (cell // columns).to(tl.float32)[None, :]
    scores = tl.where((cell < cells)[None, :], scores, float("-inf"))
    weights = tl.exp(scores - tl.max(scores, 1)[:, None])
    return weights / tl.sum(weights, 1)[:, None]


@triton.jit
def _join(
    attended, to_value, vectors, E: tl.constexpr, HEADS: tl.constexpr, LENGTH: tl.constexpr, ROWS: tl.constexpr,
    VECTORS: tl.constexpr,
):  # fmt: skip
    """The values that the heads have found for each vector, side by side: [VECTORS,E]."""
    values = tl.where(_own(E, HEADS, LENGTH, ROWS), _times(attended, to_value), 0.0).to(to_value.dtype)
    joined = _times(_of_vector(LENGTH, ROWS, VECTORS), values)
    return joined + tl.load(vectors + E + tl.arange(0, E))[None, :]


@triton.jit
def _decide(y, low, vectors, E: tl.constexpr, D: tl.constexpr, LENGTH: tl.constexpr, VECTORS: tl.constexpr):
    """The hidden layer of the decision before SiLU, [D], and the logit of λ."""
    vector, feature, unit = tl.arange(0, VECTORS), tl.arange(0, E), tl.arange(0, D)
    product = tl.zeros((E, D), tl.float32)
    for index in tl.static_range(LENGTH):
        one = _rounded(tl.sum(tl.where((vector == index)[:, None], y, 0.0), 0), low)
        weights = tl.load(low + (index * E + feature)[:, None] * D + unit[None, :])
        product += one[:, None] * weights.to(tl.float32)
    hidden = tl.sum(product, 0) + tl.load(vectors + unit)
    last = _rounded(tl.load(vectors + D + unit), low)
    return hidden, tl.sum(_rounded(hidden * sigmoid(hidden), low) * last, 0) + tl.load(vectors + 2 * D)


@triton.jit
def _place(sizes, problems, H, W, E: tl.constexpr, TILE: tl.constexpr, ENTRIES: tl.constexpr):
    """The program's sample: whether it is present, its number among all, its cells and columns, where its cells lie."""
    index, run = tl.program_id(0), tl.program_id(1)
    rows, columns, count = own_grid(sizes, run, problems, H, W, ENTRIES)
    first = run.to(tl.int64) * problems
    place = place_of(index * rows * columns + tl.arange(0, TILE), run, rows, columns, H, W, sizes, ENTRIES)
    at_cell = first * H * W * E + (place[:, None] * E + tl.arange(0, E)[None, :])
    return index < count, first + sample_of(index, run, sizes, ENTRIES), rows * columns, columns, at_cell


@triton.jit(do_not_specialize=["problems", "H", "W", "saves"])
def read_context(
    contexts, grids, packed, low, stride, bits0, bits1, factor, sizes, scale, problems, H, W,
    out, halting, found, saves,
    E: tl.constexpr, F: tl.constexpr, D: tl.constexpr, HEADS: tl.constexpr, LENGTH: tl.constexpr,
    ROWS: tl.constexpr, VECTORS: tl.constexpr, TILE: tl.constexpr, ENTRIES: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """A sample's next context and its λ, and what was attended to if it `saves` that. A sample that has left keeps its
    context, and has a λ of no meaning. With a `factor` of 1 there is no dropout."""
    run = tl.program_id(1)
    row, vector, feature = tl.arange(0, ROWS), tl.arange(0, VECTORS), tl.arange(0, E)
    present, sample, cells, columns, at_cell = _place(sizes, problems, H, W, E, TILE, ENTRIES)
    inside, line = vector < LENGTH, sample * LENGTH + vector
    drops = inside.to(tl.float32) * factor > 1
    at, there = line[:, None] * E + feature[None, :], inside[:, None]
    context = tl.load(contexts + at, mask=there, other=0.0)
    if not present:
        tl.store(out + at, context, mask=there)
        tl.store(halting + sample, 0.5)
        return
    low += run * stride
    vectors = packed + run * stride + 4 * E * E + 2 * E * F + LENGTH * E * D
    _, queries = _queries(contexts + sample * LENGTH * E, low, vectors, E, HEADS, LENGTH, ROWS)
    grid = tl.load(grids + at_cell, mask=(tl.arange(0, TILE) < cells)[:, None], other=0.0).to(tl.float32)
    weights = _weights(queries, grid, cells, columns, scale, LENGTH, ROWS, TILE, PRECISION)
    attended = tl.dot(weights, grid, input_precision=PRECISION)
    at_row = (sample * (HEADS * LENGTH) + row)[:, None] * E + feature[None, :]
    tl.store(found + at_row, attended, mask=(row < saves * HEADS * LENGTH)[:, None])
    # Loads begin together, ahead of what needs them.
    to_value, to_answer = _matrix(low + E * E, E, E), _matrix(low + 3 * E * E, E, E)
    to_hidden, to_result = _matrix(low + 4 * E * E, E, F), _matrix(low + 4 * E * E + E * F, F, E)
    joined = _join(attended, to_value, vectors, E, HEADS, LENGTH, ROWS, VECTORS)
    vectors += 2 * E
    answer = _times(joined, to_answer) + tl.load(vectors + feature)[None, :]
    normal, _ = normalise(context + answer, E)
    between = normal * tl.load(vectors + E + feature)[None, :] + tl.load(vectors + 2 * E + feature)[None, :]
    vectors += 3 * E
    x = between * keep_factor(bits0, line, drops, factor, 0, E, E, VECTORS, True)
    x = _times(x, to_hidden) + tl.load(vectors + tl.arange(0, F))[None, :]
    x = x * sigmoid(x) * keep_factor(bits1, line, drops, factor, 0, F, F, VECTORS, True)
    vectors += F
    normal, _ = normalise(between + _times(x, to_result) + tl.load(vectors + feature)[None, :], E)
    y = normal * tl.load(vectors + E + feature)[None, :] + tl.load(vectors + 2 * E + feature)[None, :]
    tl.store(out + at, y, mask=there)
    _, logit = _decide(y, low + 4 * E * E + 2 * E * F, vectors + 3 * E, E, D, LENGTH, VECTORS)
    tl.store(halting + sample, 1 / (1 + tl.exp(-logit)))


@triton.jit
def _note(ledger, slots, slot, x, BEFORE: tl.constexpr, LINES: tl.constexpr, N: tl.constexpr, ROWS: tl.constexpr):
    """The first `LINES` of x [ROWS,N] for the ledger's `slot`, behind what has `BEFORE` entries a slot."""
    row = tl.arange(0, ROWS)
    at = slots * tl.full((), BEFORE, tl.int64) + (slot * LINES + row[:, None]) * N + tl.arange(0, N)[None, :]
    tl.store(ledger + at, x, mask=(row < LINES)[:, None])


@triton.jit(do_not_specialize=["problems", "H", "W", "n", "steps", "most", "slots"])
def read_context_back(
    contexts, grids, packed, low, stride, bits0, bits1, factor, sizes, scale, problems, H, W,
    found, by_out, by_halting, by_contexts, by_grids, ledger, sums, total, n, steps, most, slots,
    E: tl.constexpr, F: tl.constexpr, D: tl.constexpr, HEADS: tl.constexpr, LENGTH: tl.constexpr,
    ROWS: tl.constexpr, VECTORS: tl.constexpr, TILE: tl.constexpr, ENTRIES: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """The gradients of context and grid, and what those of the parameters are made of: back to what was attended to,
    from where the layers are computed again, then through the attention."""
    run = tl.program_id(1)
    row, vector, feature = tl.arange(0, ROWS), tl.arange(0, VECTORS), tl.arange(0, E)
    hidden, unit = tl.arange(0, F), tl.arange(0, D)
    present, sample, cells, columns, at_cell = _place(sizes, problems, H, W, E, TILE, ENTRIES)
    inside, line = vector < LENGTH, sample * LENGTH + vector
    drops = inside.to(tl.float32) * factor > 1
    at, there = line[:, None] * E + feature[None, :], inside[:, None]
    if not present:
        tl.store(by_contexts + at, tl.zeros((VECTORS, E), tl.float32), mask=there)
        tl.store(by_grids + at_cell, tl.zeros((TILE, E), tl.float32), mask=(tl.arange(0, TILE) < cells)[:, None])
        return
    slot = (run.to(tl.int64) * steps + n) * most + tl.program_id(0)
    sums += slot * total
    low += run * stride
    vectors = packed + run * stride + 4 * E * E + 2 * E * F + LENGTH * E * D
    decision = low + 4 * E * E + 2 * E * F
    # Parameters lie as in `packed_context`, the sums as its vectors. Where notes begin (see `Readings.pairs`): those of
    # single vectors behind those of all rows, the inner layer's behind these, the decision's last.
    WIDE: tl.constexpr = 4 * HEADS * LENGTH * E
    INNER: tl.constexpr = WIDE + 5 * LENGTH * E
    LAST: tl.constexpr = INNER + 2 * LENGTH * F + LENGTH * E

    context = tl.load(contexts + at, mask=there, other=0.0)
    _note(ledger, slots, slot, context, WIDE, LENGTH, E, VECTORS)
    at_row = (sample * (HEADS * LENGTH) + row)[:, None] * E + feature[None, :]
    attended = tl.load(found + at_row, mask=(row < HEADS * LENGTH)[:, None], other=0.0)
    _note(ledger, slots, slot, attended, 2 * HEADS * LENGTH * E, HEADS * LENGTH, E, ROWS)
    to_value, to_answer = _matrix(low + E * E, E, E), _matrix(low + 3 * E * E, E, E)
    to_hidden, to_result = _matrix(low + 4 * E * E, E, F), _matrix(low + 4 * E * E + E * F, F, E)
    joined = _join(attended, to_value, vectors, E, HEADS, LENGTH, ROWS, VECTORS)
    _note(ledger, slots, slot, joined, WIDE + 2 * LENGTH * E, LENGTH, E, VECTORS)
    answer = _times(joined, to_answer) + tl.load(vectors + 2 * E + feature)[None, :]
    normal1, scale1 = normalise(context + answer, E)
    gain1 = tl.load(vectors + 3 * E + feature)[None, :]
    between = normal1 * gain1 + tl.load(vectors + 4 * E + feature)[None, :]
    kept0 = keep_factor(bits0, line, drops, factor, 0, E, E, VECTORS, True)
    _note(ledger, slots, slot, between * kept0, WIDE + 4 * LENGTH * E, LENGTH, E, VECTORS)
    a = _times(between * kept0, to_hidden) + tl.load(vectors + 5 * E + hidden)[None, :]
    kept1, s = keep_factor(bits1, line, drops, factor, 0, F, F, VECTORS, True), sigmoid(a)
    _note(ledger, slots, slot, a * s * kept1, INNER + LENGTH * F, LENGTH, F, VECTORS)
    vectors += 5 * E + F
    result = _times(a * s * kept1, to_result) + tl.load(vectors + feature)[None, :]
    normal2, scale2 = normalise(between + result, E)
    gain2 = tl.load(vectors + E + feature)[None, :]
    y = normal2 * gain2 + tl.load(vectors + 2 * E + feature)[None, :]
    _note(ledger, slots, slot, y, LAST, LENGTH, E, VECTORS)
    vectors += 3 * E
    middle, logit = _decide(y, decision, vectors, E, D, LENGTH, VECTORS)

    chance = 1 / (1 + tl.exp(-logit))
    by_logit = tl.load(by_halting + sample) * chance * (1 - chance)
    rise = sigmoid(middle)
    tl.store(sums + 8 * E + F + D + unit, by_logit * _rounded(middle * rise, low))
    tl.store(sums + 8 * E + F + 2 * D, by_logit)
    by_middle = by_logit * _rounded(tl.load(vectors + D + unit), low) * rise * (1 + middle * (1 - rise))
    tl.store(sums + 8 * E + F + unit, by_middle)
    by_middle = _rounded(by_middle, low)
    tl.store(ledger + slots * tl.full((), LAST + LENGTH * E, tl.int64) + slot * D + unit, by_middle)
    g = tl.load(by_out + at, mask=there, other=0.0)
    for index in tl.static_range(LENGTH):
        weights = tl.load(decision + (index * E + feature)[:, None] * D + unit[None, :]).to(tl.float32)
        g += tl.where((vector == index)[:, None], tl.sum(weights * by_middle[None, :], 1)[None, :], 0.0)
    tl.store(sums + 6 * E + F + feature, tl.sum(g * normal2, 0))
    tl.store(sums + 7 * E + F + feature, tl.sum(g, 0))
    g = through_norm(g * gain2, normal2, scale2, E)
    tl.store(sums + 5 * E + F + feature, tl.sum(g, 0))
    _note(ledger, slots, slot, g, INNER + 2 * LENGTH * F, LENGTH, E, VECTORS)
    through = _times(g, tl.trans(to_result)) * s * (1 + a * (1 - s)) * kept1
    tl.store(sums + 5 * E + hidden, tl.sum(through, 0))
    _note(ledger, slots, slot, through, INNER, LENGTH, F, VECTORS)
    g += _times(through, tl.trans(to_hidden)) * kept0
    tl.store(sums + 3 * E + feature, tl.sum(g * normal1, 0))
    tl.store(sums + 4 * E + feature, tl.sum(g, 0))
    g = through_norm(g * gain1, normal1, scale1, E)
    tl.store(sums + 2 * E + feature, tl.sum(g, 0))
    _note(ledger, slots, slot, g, WIDE + 3 * LENGTH * E, LENGTH, E, VECTORS)
    by_joined = _times(g, tl.trans(to_answer))
    tl.store(sums + E + feature, tl.sum(by_joined, 0))
    own, chosen = _own(E, HEADS, LENGTH, ROWS), _of_vector(LENGTH, ROWS, VECTORS)
    by_values = tl.where(own, _times(tl.trans(chosen), by_joined.to(to_answer.dtype)), 0.0)
    _note(ledger, slots, slot, by_values, 3 * HEADS * LENGTH * E, HEADS * LENGTH, E, ROWS)
    by_attended = _times(by_values, tl.trans(to_value))

    vectors = packed + run * stride + 4 * E * E + 2 * E * F + LENGTH * E * D
    query, queries = _queries(contexts + sample * LENGTH * E, low, vectors, E, HEADS, LENGTH, ROWS)
    _note(ledger, slots, slot, query, HEADS * LENGTH * E, HEADS * LENGTH, E, ROWS)
    inside_grid = (tl.arange(0, TILE) < cells)[:, None]
    grid = tl.load(grids + at_cell, mask=inside_grid, other=0.0).to(tl.float32)
    weights = _weights(queries, grid, cells, columns, scale, LENGTH, ROWS, TILE, PRECISION)
    by_weight = tl.dot(by_attended, tl.trans(grid), input_precision=PRECISION)
    by_score = weights * (by_weight - tl.sum(weights * by_weight, 1)[:, None]) * scale
    by_grid = tl.dot(tl.trans(weights), by_attended, input_precision=PRECISION)
    by_grid += tl.dot(tl.trans(by_score), queries, input_precision=PRECISION)
    tl.store(by_grids + at_cell, by_grid, mask=inside_grid)
    by_queries = tl.dot(by_score, grid, input_precision=PRECISION)
    _note(ledger, slots, slot, by_queries, 0, HEADS * LENGTH, E, ROWS)
    to_query, to_key = _matrix(low + 2 * E * E, E, E), _matrix(low, E, E)
    by_query = tl.where(own, _times(by_queries, to_key), 0.0).to(to_key.dtype)
    by_query = _times(chosen, by_query)
    tl.store(sums + feature, tl.sum(by_query, 0))
    _note(ledger, slots, slot, by_query, WIDE + LENGTH * E, LENGTH, E, VECTORS)
    g += _times(by_query, tl.trans(to_query))
    tl.store(by_contexts + at, g, mask=there)
