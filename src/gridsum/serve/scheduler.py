"""Who computes: one at a time, clients in turn, and of a client's jobs the one that has computed least.

Threads of Python's share one lock: together they are slower than one alone. So one thread computes at a time. Between
recurrent steps it lets another go first: one of the client who has computed least, and of that client's jobs the one
that has computed least. Short work is done before long work that came earlier, and nobody is starved by a client with
many requests.

Jobs of one kind that wait at the same time are done together: a batch of many costs little more than one, and an answer
does not depend on what else is asked.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

_SLICE_SECONDS = 0.1
"""Work gives its turn away once it has computed so much longer than one that waits. Short sums end before that."""
_BATCH = 64
"""So few that they are done before somebody else's turn comes."""
_THREADS = 1024
"""Begun jobs that wait for their turn; each has a thread of its own. `max_waiting` is reached before."""

GoOn = Callable[[], None]
"""Called between recurrent steps; raises once nobody waits for the result."""
Work = Callable[[Sequence[Any], GoOn], Sequence[Any]]
"""From what several jobs ask to a result for each."""


class BusyError(ValueError):
    """Work for which there is no room now."""


class GivenUp(Exception):
    """Nobody waits for this work any more."""


@dataclass(eq=False)
class Job:
    client: str
    kind: Hashable
    asked: Any
    work: Work
    result: Future[Any] = field(default_factory=Future)
    seconds: float = 0.0
    waits: bool = True
    """For its turn: to begin, or to go on."""
    batch: "list[Job]" = field(default_factory=list)
    """This job and those that are done with it, once it has begun."""
    turn: threading.Event = field(default_factory=threading.Event)

    @property
    def wanted(self) -> bool:
        return any(not job.result.done() for job in self.batch or [self])


class Scheduler:
    def __init__(self, workers: int, waiting: int) -> None:
        """`workers` jobs of a client may have begun; `waiting` more may wait."""
        self._workers, self._waiting = workers, waiting
        self._pool = ThreadPoolExecutor(_THREADS, "gridsum-worker")
        self._lock = threading.Lock()
        self._jobs: list[Job] = []
        """All that wait or are being worked on, in the order in which they came."""
        self._seconds: dict[str, float] = {}
        """How long each client's jobs have computed since it has had some."""
        self._computing: Job | None = None
        self._since = 0.0

    @property
    def taken(self) -> int:
        """Jobs that are being worked on or wait."""
        return len(self._jobs)

    async def do(self, client: str, work: Work, asked: Any = None, kind: Hashable = None) -> Any:
        """The result of a client's work. It is given up when this is cancelled."""
        with self._lock:
            self._make_room(client)
            self._seconds.setdefault(client, min(self._seconds.values(), default=0.0))
            job = Job(client, object() if kind is None else kind, asked, work)
            self._jobs.append(job)
            if self._computing is None:
                self._next()
        try:
            return await asyncio.wrap_future(job.result)
        finally:
            with self._lock:
                if job.waits and not job.batch:  # once begun, it goes on until it asks whether it is wanted
                    self._leave([job])

    def _make_room(self, client: str) -> None:
        """Where no more may wait, the newest job of the client who has most gives way, unless it is this one."""
        wanted = [job for job in self._jobs if not job.result.done()]
        if len(wanted) < self._workers + self._waiting:
            return
        waiting = f"{self._waiting:,} requests wait already (max-waiting)"
        refusal = BusyError(f"all workers are busy and {waiting}; try again in a moment")
        counts = Counter(job.client for job in wanted)
        greedy, most = counts.most_common(1)[0]
        if most <= counts[client] + 1:
            raise refusal
        next(job for job in reversed(wanted) if job.client == greedy).result.set_exception(refusal)

    def _next(self) -> None:
        """Hand the turn on, or let a job begin."""
        begun = Counter(job.client for job in self._jobs if job.batch)
        ready = [job for job in self._jobs if job.waits and (job.batch or begun[job.client] < self._workers)]
        least = min(ready, key=lambda job: (job.wanted, self._seconds[job.client], job.seconds), default=None)
        self._computing, self._since = least, time.monotonic()
        if least is None:
            return
        if least.batch:
            least.waits = False
            least.turn.set()
            return
        alike = [job for job in self._jobs if job.waits and not job.batch and job.kind == least.kind and job != least]
        least.batch = [least, *alike[: _BATCH - 1]]
        for job in least.batch:
            job.waits = False
        self._pool.submit(self._run, least)

    def _run(self, job: Job) -> None:
        try:
            results = job.work([each.asked for each in job.batch], lambda: self._go_on(job)) if job.wanted else ()
            told = [(each.result.set_result, result) for each, result in zip(job.batch, results, strict=job.wanted)]
        except Exception as error:
            told = [(each.result.set_exception, error) for each in job.batch]
        with self._lock:
            self._count(job)
            self._leave(job.batch)
            self._next()
        for tell, outcome in told:
            with suppress(InvalidStateError):  # nobody waits for it
                tell(outcome)

    def _go_on(self, job: Job) -> None:
        """Let another go first that has computed much less."""
        if not job.wanted:
            raise GivenUp
        with self._lock:
            now = time.monotonic() - self._since - _SLICE_SECONDS
            mine, ours = job.seconds + now, self._seconds[job.client] + now
            if not any(
                other.seconds < mine if other.client == job.client else self._seconds[other.client] < ours
                for other in self._jobs
                if other.waits
            ):
                return
            self._count(job)
            job.waits = True
            self._next()
        job.turn.wait()
        job.turn.clear()

    def _count(self, job: Job) -> None:
        seconds = time.monotonic() - self._since
        job.seconds += seconds
        self._seconds[job.client] += seconds

    def _leave(self, jobs: list[Job]) -> None:
        """Who comes back starts level with the others, not with what was computed before."""
        self._jobs = [job for job in self._jobs if job not in jobs]
        here = {job.client for job in self._jobs}
        self._seconds = {client: seconds for client, seconds in self._seconds.items() if client in here}
