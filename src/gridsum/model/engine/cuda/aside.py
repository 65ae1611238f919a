"""Small kernels beside large ones: work in a stream of its own, which goes first where both have something to do."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from gridsum.devices import on_gpu


class Aside:
    """On a device without streams, work is done at once."""

    def __init__(self, device: torch.device) -> None:
        self.stream = torch.cuda.Stream(device, priority=-1) if on_gpu(device) else None
        self.done: list[torch.cuda.Event] = []

    def lend(self, *given: Tensor | None) -> None:
        """What was made outside and is read aside: its memory must not become another's before that is done."""
        for tensor in given:
            if self.stream is not None and tensor is not None:
                tensor.record_stream(self.stream)

    @contextmanager
    def work(self) -> Iterator[None]:
        """What is computed inside goes beside all that follows."""
        if self.stream is None:
            yield
            return
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            yield
            self.done.append(self.stream.record_event())

    def wait_for_all_but_the_last(self) -> None:
        if len(self.done) > 1:
            torch.cuda.current_stream().wait_event(self.done[-2])

    def wait(self) -> None:
        if self.stream is not None:
            torch.cuda.current_stream().wait_stream(self.stream)

    def hand_over(self, *made: Tensor | None) -> None:
        """What was made aside will be read outside."""
        for tensor in made:
            if self.stream is not None and tensor is not None:
                tensor.record_stream(torch.cuda.current_stream())
