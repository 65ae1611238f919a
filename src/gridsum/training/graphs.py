"""Training on a GPU: gradients and updates as CUDA graphs, so that thousands of operations are one launch."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from gridsum.config.paper import Config
from gridsum.model.rollout import Network
from gridsum.model.runs import as_written
from gridsum.ops.forms import served
from gridsum.training.gradients import EagerGradients, Gradients, mean_of, part_gradient


class GraphGradients(EagerGradients):
    """The same as CUDA graphs, one for each group and number of recurrent steps.

    Shapes are static: every run's grid is masked inside the largest. How many recurrent steps a batch needs is guessed
    from the steps before; if it was too few, the part is computed again, with what it would have given at once.
    """

    # Few: a graph takes seconds to make, and steps that no sample needs any more cost little.
    _LENGTHS = (4, 8, 14, 24, 32, 40)
    _MEMORY = 10

    def __init__(self, network: Network, config: Config, seeds: tuple[int, ...]) -> None:
        super().__init__(network, config, seeds)
        self.step = torch.zeros((), dtype=torch.int64, device=self.stream.key.device)
        # The groups are computed side by side: each in a stream and in memory of its own.
        self.lanes = [(torch.cuda.Stream(), torch.cuda.graph_pool_handle()) for _ in config.task.groups]
        self.captured: dict[tuple[int, int | None], tuple[torch.cuda.CUDAGraph, Gradients]] = {}
        self.reduced = served(config.training.precision, self.stream.key.device) == "bf16"
        self.recent: list[list[int]] = [[] for _ in config.task.groups]

    def __call__(self, step: int) -> Gradients:
        if not as_written(self.network):  # a graph that is replayed calls no modules
            return super().__call__(step)
        self.step.fill_(step + self.config.training.first_step)
        ponders, guess = self.config.model.halting == "ponder", self._LENGTHS[2]
        lengths = [self._length(max(recent, default=guess)) if ponders else None for recent in self.recent]
        for group in self.groups:  # captures wait for all else to finish, so they come first
            self._capture(group, lengths[group])
        parts = [self._replay(group, lengths[group]) for group in self.groups]
        for lane, _ in self.lanes:
            torch.cuda.current_stream().wait_stream(lane)
        for group in self.groups:
            while ponders:
                taken, unfinished = parts[group].truncation.tolist()
                if not unfinished:
                    self.recent[group] = [*self.recent[group], taken][-self._MEMORY :]
                    break
                # At least half as many again: a graph for every length in between would cost more than it saves.
                lengths[group] = self._length(1.5 * (lengths[group] or 0))
                parts[group] = self._replay(group, lengths[group])
                torch.cuda.current_stream().wait_stream(self.lanes[group][0])
        return mean_of(parts)

    def _length(self, needed: float) -> int:
        """The length of the shortest graph that takes so many steps, if any does, else of the longest."""
        most = self.config.model.max_steps
        return next((length for length in self._LENGTHS if needed <= length < most), most)

    def _replay(self, group: int, length: int | None) -> Gradients:
        """What the graph computes; the current stream has to wait for the group's own."""
        graph, part = self._capture(group, length)
        lane, _ = self.lanes[group]
        lane.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(lane):
            graph.replay()
            # A group's graphs share their memory: what one leaves behind the next may overwrite.
            costs = {name: cost.clone() for name, cost in part.costs.items()}
            return Gradients(part.gradient.clone(), costs, part.truncation.clone())

    def _compute(self, group: int, length: int | None) -> Gradients:
        with torch.autocast("cuda", torch.bfloat16, enabled=self.reduced):
            return part_gradient(self.network, self.config, self.stream.fold(self.step), group, length, True)

    def _capture(self, group: int, length: int | None) -> tuple[torch.cuda.CUDAGraph, Gradients]:
        """The graph, made the first time, and where it leaves what it computes."""
        if (group, length) in self.captured:
            return self.captured[group, length]
        torch.cuda.synchronize()
        lane, pool = self.lanes[group]
        if not any(other == group for other, _ in self.captured):
            with torch.cuda.stream(lane):  # what is compiled or allocated once must be so before the capture
                compile_kernels(lambda: self._compute(group, length))
                self._compute(group, length)
            torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool, stream=lane):
            self.captured[group, length] = graph, self._compute(group, length)
        return self.captured[group, length]


def compile_kernels(work: Callable[[], Any]) -> None:
    """Compile all kernels that `work` launches, side by side: one after the other, they take half a minute. Triton asks
    its hook before it compiles, and launches nothing where the hook says that it has seen to it."""
    from triton import knobs

    runtime: Any = knobs.runtime
    wanted: dict[str, Any] = {}

    def note(*, fn: Any, compile: dict[str, Any], **_: Any) -> bool:
        wanted[compile["specialization_data"]] = fn.jit_function
        return True

    before, runtime.jit_cache_hook = runtime.jit_cache_hook, note
    try:
        work()
    finally:
        runtime.jit_cache_hook = before
    device = torch.cuda.current_device()
    with ThreadPoolExecutor(initializer=torch.cuda.set_device, initargs=(device,)) as pool:
        list(pool.map(lambda named: named[1].preload(named[0]), wanted.items()))
