"""Whose turn it is to compute.

Torch lets go of Python's lock in every operation. Two threads with many small ones then spend more time on handing that
lock to and fro than on the sums: together they are slower than one alone. So one thread computes at a time. Between
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

from gridsum.serve.limits import LimitError

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


class GivenUp(Exception):
    """Nobody waits for this work any more."""


@dataclass(eq=False)
class Client:
    """Who has jobs here, how long they have computed, and how many have begun."""

    seconds: float
    begun: int = 0


@dataclass(eq=False)
class Job:
    client: Client
    kind: Hashable
    asked: Any
    work: Work
    result: Future[Any] = field(default_factory=Future)
    seconds: float = 0.0
    batch: "list[Job]" = field(default_factory=list)
    """This job and those that are done with it, once it has begun."""
    turn: threading.Event = field(default_factory=threading.Event)

    @property
    def wanted(self) -> bool:
        return any(not job.result.done() for job in self.batch or [self])


class Scheduler:
    def __init__(self, workers: int, waiting: int) -> None:
        """`workers` jobs of a client may have begun; `waiting` more may wait."""
        self._workers, self._waiting_most = workers, waiting
        self._pool = ThreadPoolExecutor(_THREADS, "gridsum-worker")
        self._lock = threading.Lock()
        self._clients: dict[str, Client] = {}
        self._jobs: list[Job] = []
        """All that have no result yet, in the order in which they came."""
        self._waiting: list[Job] = []
        """Those that have not begun, and those that have given their turn away."""
        self._computing: Job | None = None
        self._since = 0.0

    @property
    def taken(self) -> int:
        """Jobs that are being worked on or wait."""
        return len(self._jobs)

    async def do(self, name: str, work: Work, asked: Any = None, kind: Hashable = None) -> Any:
        """The result of a client's work. It is given up when this is cancelled."""
        with self._lock:
            client = self._clients.setdefault(name, Client(min((c.seconds for c in self._clients.values()), default=0)))
            self._make_room(client)
            job = Job(client, object() if kind is None else kind, asked, work)
            self._jobs.append(job)
            self._waiting.append(job)
            if self._computing is None:
                self._next()
        try:
            return await asyncio.wrap_future(job.result)
        finally:
            with self._lock:
                self._leave_queue(job)

    def _make_room(self, client: Client) -> None:
        """Where no more may wait, the newest job of the client who has most gives way, unless it is this one."""
        if self.taken < self._workers + self._waiting_most:
            return
        refusal = LimitError(
            "max_waiting",
            f"all workers are busy and {self._waiting_most:,} requests wait already (max-waiting); "
            "try again in a moment",
        )
        counts = Counter(job.client for job in self._jobs)
        greedy, most = counts.most_common(1)[0]
        if most <= counts[client] + 1:
            self._forget_idle()
            raise refusal
        newest = next(job for job in reversed(self._jobs) if job.client is greedy)
        self._leave_queue(newest)
        self._leave(newest)
        newest.result.set_exception(refusal)

    def _next(self) -> None:
        """Hand the turn on, or let a job begin."""
        ready = [job for job in self._waiting if job.batch or job.client.begun < self._workers]
        self._computing = min(ready, key=lambda job: (job.wanted, job.client.seconds, job.seconds), default=None)
        if self._computing is None:
            return
        job, self._since = self._computing, time.monotonic()
        self._waiting.remove(job)
        if job.batch:
            job.turn.set()
            return
        alike = [other for other in self._waiting if other.kind == job.kind and not other.batch]
        job.batch = [job, *alike[: _BATCH - 1]]
        self._waiting = [other for other in self._waiting if other not in job.batch]
        job.client.begun += 1
        self._pool.submit(self._run, job)

    def _run(self, job: Job) -> None:
        try:
            results = job.work([each.asked for each in job.batch], lambda: self._go_on(job)) if job.wanted else ()
            told = [(each.result.set_result, result) for each, result in zip(job.batch, results, strict=job.wanted)]
        except Exception as error:
            told = [(each.result.set_exception, error) for each in job.batch]
        with self._lock:
            self._count(job)
            job.client.begun -= 1
            for each in job.batch:
                self._leave(each)
            self._next()
        for tell, outcome in told:
            with suppress(InvalidStateError):  # nobody waits for it
                tell(outcome)

    def _go_on(self, job: Job) -> None:
        """Let another go first that has computed much less."""
        if not job.wanted:
            raise GivenUp
        computed = time.monotonic() - self._since

        def is_before(other: Job) -> bool:
            if other.client is job.client:
                return other.seconds + _SLICE_SECONDS < job.seconds + computed
            return other.client.seconds + _SLICE_SECONDS < job.client.seconds + computed

        # Without the lock: whoever comes a moment later is seen at the next step.
        if any(is_before(other) for other in tuple(self._waiting)):
            with self._lock:
                self._count(job)
                self._waiting.append(job)
                self._next()
            job.turn.wait()
            job.turn.clear()

    def _count(self, job: Job) -> None:
        seconds = time.monotonic() - self._since
        job.seconds += seconds
        job.client.seconds += seconds

    def _leave_queue(self, job: Job) -> None:
        """If it has not begun; else it goes on until it asks whether it is wanted."""
        if job in self._waiting and not job.batch:
            self._waiting.remove(job)
            self._leave(job)

    def _leave(self, job: Job) -> None:
        if job in self._jobs:
            self._jobs.remove(job)
            self._forget_idle()

    def _forget_idle(self) -> None:
        """Who comes back starts level with the others, not with what was computed before."""
        here = {job.client for job in self._jobs}
        self._clients = {name: client for name, client in self._clients.items() if client in here}
