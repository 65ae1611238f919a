"""A network of the paper's as a model: vectors in its cells, and it decides when to halt."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from gridsum.api.models import Between, Model
from gridsum.api.options import Cells, ModelError, Patch, SolveOptions, split_patch
from gridsum.api.traces import Trace
from gridsum.data.answers import Answer

if TYPE_CHECKING:
    from torch import Tensor

    from gridsum.model.inside import Trace as Inside
    from gridsum.model.rollout import Change
    from gridsum.model.store import Model as Runs


class PaperModel(Model):
    """One of the paper's variants."""

    def __init__(self, runs: "Runs") -> None:
        self.name, self.runs = runs.name, runs

    def __repr__(self) -> str:
        return f"<gridsum model {self.name}: {self.about['variant']}, {self.about['parameters']:,} parameters>"

    @property
    def halting_rules(self) -> dict[str, str]:
        from gridsum.model.inference import rules_of

        return rules_of(self.network)

    def check(self, options: SolveOptions) -> None:
        from gridsum.model.inference import check_rule

        if options.network:
            raise ModelError(
                f"{self.name} is a network already; the option network is for models with a rule, such as exact"
            )
        if options.halting is not None:
            try:
                check_rule(self.network, options.halting)
            except ValueError as error:
                raise ModelError(f"{self.name}: {error}") from None

    def answers(
        self, expressions: Sequence[tuple[str, ...]], options: SolveOptions, between: Between | None = None
    ) -> Iterator[Answer]:
        from gridsum.evaluation.solving import solve

        self.check(options)
        watch = None if between is None else lambda _: between()
        return solve(self.runs, expressions, options.halting, options.seed, options.placement, watch)

    def traced(self, terms: tuple[str, ...], options: SolveOptions, patch: Patch | None = None) -> Trace:
        from gridsum.evaluation.solving import solve_watched
        from gridsum.model.inside import recorded

        self.check(options)
        cells, parts = split_patch(patch)
        change = _change(cells) if cells else None
        with recorded(self.network, (), parts) if parts else nullcontext():
            answer, inside = solve_watched(
                self.runs, terms, lambda _: None, options.halting, options.seed, options.placement, change
            )
        late = next((place for place in cells if place[0] > answer.steps), None)
        if late is not None:
            raise ModelError(f"the patch at {late} comes too late: the network halts after {answer.steps} steps")
        return Trace(self, terms, answer, inside)

    def attention_of(self, inside: "Inside") -> "Tensor":
        """What each cell pays to its neighbours [N,k²,H,W,h]."""
        from gridsum.model.inside import attention_of
        from gridsum.ops.costs import check_memory, trace_bytes

        steps, (height, width) = len(inside.grids) - 1, inside.grids.shape[1:3]
        what = f"the attention of {steps:,} steps on {height:,} rows × {width:,} columns"
        check_memory(what, trace_bytes(self.network.config, height * width, steps), inside.grids.device)
        return attention_of(self.network, inside.grids[None])

    @property
    def neighbours(self) -> list[tuple[int, int]]:
        side = range(-(self.network.config.kernel // 2), self.network.config.kernel // 2 + 1)
        return [(down, right) for down in side for right in side]

    def size(self, terms: tuple[str, ...]) -> tuple[int, int]:
        return self.config.task.solving_grid(len(terms), self.task.longest(terms))


def _change(cells: Cells) -> "Change":
    """A patch of cells as `unroll` takes it."""

    def change(n: int, grid: "Tensor") -> "Tensor":
        import torch

        here = {place: state for place, state in cells.items() if place[0] == n}
        if here:
            grid = grid.clone()
        for (_, row, column), state in here.items():
            try:
                grid[0, 0, row, column] = torch.as_tensor(state, dtype=grid.dtype, device=grid.device)
            except (IndexError, RuntimeError, TypeError) as error:
                raise ModelError(
                    f"the patch at {(n, row, column)} does not fit a grid {list(grid.shape)}: {error}"
                ) from None
        return grid

    return change
