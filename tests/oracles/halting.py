"""The context transformer and the halting distribution (Eq. 9, 10, 13 and 14), written out."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


def alibi_mask(heads: int, queries: int, height: int, width: int) -> Tensor:
    """m·M as an additive mask [heads,queries,H·W]: head m adds −2^-m for every row below the top."""
    mask = torch.empty(heads, queries, height, width, dtype=torch.float64)
    for head in range(1, heads + 1):
        for row in range(height):
            mask[head - 1, :, row] = -(2.0**-head) * row
    return mask.flatten(2)


def multihead(projection: Tensor, bias: Tensor, output: Tensor, output_bias: Tensor, heads: int) -> nn.Module:
    """torch's attention with the given W_Q, W_K, W_V [3,E,E] and W_O [E,E], which act from the right."""
    module = nn.MultiheadAttention(projection.shape[-1], heads, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.cat([matrix.T for matrix in projection]))
        module.in_proj_bias.copy_(bias.flatten())
        module.out_proj.weight.copy_(output.T)
        module.out_proj.bias.copy_(output_bias)
    return module


def distribution(halting: Sequence[float], epsilon: float) -> tuple[list[float], int]:
    """(p, N) of the λ_n given: N is the first n before which halting has come with more than 1 − ε."""
    last = len(halting) - 1
    p: list[float] = []
    for n, probability in enumerate(halting):
        before = sum(p)
        if before > 1 - epsilon or n == last:
            return p + [1 - before] + [0.0] * (last - n), n
        survived = 1.0
        for earlier in halting[:n]:
            survived *= 1 - earlier
        p.append(probability * survived)
    raise AssertionError("there is always a last step")
