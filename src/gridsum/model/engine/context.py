"""The context's attention to the grid (Eq. 13) without projecting the grid.

With the projections folded into the few queries and into the few results, q·(g W_k) = (q W_kᵀ)·g and
Σ a (g W_v) = (Σ a g) W_v. The keys' bias adds the same to every cell's score, which a softmax does not see: it is left
out.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from gridsum.model.paper import ContextAttention, ContextTransformer, Drop, FeedForward, alibi, linear

# Sums over grids with rows as long as this are taken row by row: a product that is all sum keeps few processors busy.
_LONG_ROW = 256

Feed = Callable[[FeedForward, Tensor, Sequence[Drop] | None], Tensor]


def ask(attention: ContextAttention, context: Tensor) -> Tensor:
    """The queries of context [R,B,C,E], carried over to the grid's own space: [R,B,h·C,E]."""
    query, key, _ = attention.projection.unbind(1)
    q = linear(context, query, attention.projection_bias[:, 0])
    heads = (x.unflatten(-1, (attention.heads, -1)) for x in (q, key))
    return torch.einsum("rbchd,rehd->rbhce", *heads).flatten(2, 3)


def attend(attention: ContextAttention, queries: Tensor, grid: Tensor, inside: Tensor | None) -> Tensor:
    """The mean of the grid's vectors that each query attends to: [R,B,h·C,E]."""
    height, columns = grid.shape[2:4]
    bias = alibi(attention.heads, height, columns, grid).repeat_interleave(queries.shape[2] // attention.heads, 0)
    cells = grid.flatten(2, 3).flatten(0, 1)
    scale = 1 / math.sqrt(attention.output.shape[-1] // attention.heads)
    scores = torch.baddbmm(bias, queries.flatten(0, 1), cells.transpose(-1, -2), alpha=scale)
    scores = scores.unflatten(0, queries.shape[:2])
    if inside is not None:
        scores = scores.masked_fill(~inside.flatten(1)[:, None, None], -math.inf)
    weights = scores.softmax(-1)
    if columns < _LONG_ROW:
        return torch.matmul(weights, grid.flatten(2, 3))
    return torch.matmul(weights.unflatten(-1, (height, columns)).transpose(2, 3), grid).sum(2)


def answer(attention: ContextAttention, attended: Tensor) -> Tensor:
    """What the vectors attended to, [R,B,h·C,E], say to the context: [R,B,C,E]."""
    value = attention.projection[:, 2].unflatten(-1, (attention.heads, -1))
    heads = torch.einsum("rbhce,rehd->rbchd", attended.unflatten(2, (attention.heads, -1)), value)
    heads = heads.flatten(-2) + attention.projection_bias[:, 2, None, None]
    return linear(heads, attention.output, attention.output_bias)


def conclude(
    reader: ContextTransformer, context: Tensor, attended: Tensor, drops: Sequence[Drop] | None, feed: Feed
) -> tuple[Tensor, Tensor]:
    """The rest of Eq. 14: the next context, and λ [R,B]."""
    context = reader.norm_attention(context + answer(reader.attention, attended))
    context = reader.norm_feed_forward(context + feed(reader.feed_forward, context, drops))
    # Whatever the products' precision, a probability close to 1 must not become 1.
    logit = feed(reader.decision, context.flatten(-2), None).squeeze(-1)
    return context, logit.to(torch.promote_types(logit.dtype, torch.float32)).sigmoid()
