"""Folders under faults: killed at every file operation, full, read-only, taken away, damaged, two writers."""

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import pytest
import torch

from gridsum.io import version
from gridsum.io.disk import LOCK
from tests.children import stop_at
from tests.faults.injection import FAILED, KILLED, UNTOLD, Tries, in_child
from tests.faults.trainings import Scenario, outcome


@contextmanager
def _fresh(place: Path) -> Iterator[Path]:
    """A folder for one try. It is gone afterwards, also where whoever asks for tries wants no more of them."""
    folder = place / "run"
    assert not folder.exists(), "every try begins with nothing"
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _operations(scenario: Scenario, place: Path) -> int:
    folder = place / "count"
    status, said = in_child(partial(scenario.begin, folder))
    assert status == 0, said
    shutil.rmtree(folder)
    return int(said)


def _go_on(scenario: Scenario, folder: Path, after: str) -> str | None:
    status, said = in_child(partial(scenario.go_on, folder))
    if status != 0:
        return f"{scenario.name}, {after}: going on ended with {status}: {said}"
    wrong = scenario.differs(folder)
    return f"{scenario.name}, {after}: {wrong}" if wrong else None


def killed_at_every_operation(
    scenarios: list[Scenario],
    place: Path,
    every: int = 1,
    hows: tuple[str, ...] = ("kill", "torn", "full", "read-only"),
) -> Tries:
    """Then going on has to end as if nothing had been."""
    for scenario in scenarios:
        count = _operations(scenario, place)
        for how, at in product(hows, range(1, count + 1, every)):
            with _fresh(place) as folder:
                status, said = in_child(partial(scenario.begin, folder), at, how)
                if status == UNTOLD:
                    yield f"{scenario.name}, {how} at operation {at}: {said}"
                elif status not in (0, KILLED, FAILED):
                    yield f"{scenario.name}, {how} at operation {at}: ended with {status}"
                else:
                    yield _go_on(scenario, folder, f"{how} at operation {at} of {count}")


def taken_away(scenarios: list[Scenario], place: Path, every: int = 1) -> Tries:
    """The folder deleted or moved, or its lock removed, at every file operation: that is told, the folder is not made
    again, and what is left goes on where it is."""
    away = place / "away"
    for scenario in scenarios:
        count = _operations(scenario, place)
        for what, at in product(("deleted", "moved", "lock removed"), range(min(2, every), count + 1, every)):
            with _fresh(place) as folder:
                after = f"{what} at operation {at} of {count}"

                def harm(what: str = what, folder: Path = folder) -> None:
                    if what == "lock removed":
                        (folder / LOCK).unlink(missing_ok=True)
                    elif folder.exists():
                        folder.rename(away)

                status, said = in_child(partial(scenario.begin, folder), at, harm)
                moved = away.exists()
                if status not in (0, FAILED):
                    yield f"{scenario.name}, {after}: {said}"
                elif moved and folder.exists():
                    yield f"{scenario.name}, {after}: the folder was made again"
                elif moved and what == "deleted":
                    shutil.rmtree(away)
                    yield None
                else:
                    if moved:
                        away.rename(folder)
                    yield _go_on(scenario, folder, after)
                shutil.rmtree(away, ignore_errors=True)


def elsewhere(scenarios: list[Scenario], place: Path, tries: int, seed: int = 0) -> Tries:
    """Killed, then gone on with under another version and with a clock that was set back: nothing is another."""
    chance = random.Random(seed)
    for index in range(tries):
        scenario, at = scenarios[index % len(scenarios)], chance.randint(1, 90)

        def changed(scenario: Scenario = scenario, folder: Path = place / "run") -> None:
            version.__version__, before = "999.0.0", time.time
            time.time = lambda: before() - 10 * 86400
            scenario.go_on(folder)

        with _fresh(place) as folder:
            in_child(partial(scenario.begin, folder), at)
            later = time.time() + 86400
            for path in folder.rglob("*"):
                os.utime(path, (later, later))
            status, said = in_child(changed)
            wrong = said if status else scenario.differs(folder)
            yield wrong and f"{scenario.name}, killed at {at}, going on under another version and clock: {wrong}"


def on_another_device(scenarios: list[Scenario], place: Path) -> Tries:
    """Killed on a GPU and gone on with on the CPU, or the other way round: no epoch is missing, no file either."""
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    with ThreadPoolExecutor() as pool:
        both = (("cuda", "cpu"), ("cpu", "cuda"))
        yield from pool.map(lambda moved: _moved(place, *moved), product(scenarios, both))


def _moved(place: Path, scenario: Scenario, devices: tuple[str, str]) -> str | None:
    folder = place / f"{scenario.name} {devices}"
    for device, ends in zip(devices, (-signal.SIGKILL, 0), strict=True):
        # A process that is forked from one that has asked for a GPU cannot use it.
        child = get_context("spawn").Process(target=_on_device, args=(scenario, folder, device, ends))
        child.start()
        child.join()
        if child.exitcode != ends or (ends and not list(folder.glob("checkpoint*"))):
            return f"{scenario.name}, {devices}: it ended with {child.exitcode} on {device}"
    found = {name: content.count(b"epoch") for name, content in outcome(folder).items()}
    whole = {name: content.count(b"epoch") for name, content in scenario.expected.items()}
    wrong = [name for name in whole if name not in found or (name.endswith("jsonl") and found[name] != whole[name])]
    return f"{scenario.name}, {devices}: {wrong}" if wrong else None


def _on_device(scenario: Scenario, folder: Path, device: str, ends: int) -> None:
    if ends:
        stop_at(signal.SIGKILL, "metrics.jsonl", lines=2)
    scenario.go_on(folder, device)


def killed_again_and_again(scenarios: list[Scenario], place: Path, tries: int, seed: int = 0) -> Tries:
    """Killed at random, also while going on, until it comes to its end."""
    chance = random.Random(seed)
    counts = [_operations(scenario, place) for scenario in scenarios]
    for index in range(tries):
        scenario, count = scenarios[index % len(scenarios)], counts[index % len(scenarios)]
        moments = [chance.randint(1, count) for _ in range(3)]
        with _fresh(place) as folder:
            for at in moments:
                how = chance.choice(("kill", "torn"))
                status, said = in_child(partial(scenario.go_on, folder), at, how)
                if status not in (0, KILLED):
                    yield f"{scenario.name}, killed at {moments}: {said}"
                    break
            else:
                yield _go_on(scenario, folder, f"killed at {moments}")


def damaged(scenarios: list[Scenario], place: Path, tries: int, seed: int = 0) -> Tries:
    """A file of a stopped training flipped, cut or zeroed: going on ends as it should, or refuses and says why."""
    chance = random.Random(seed)
    for index in range(tries):
        scenario = scenarios[index % len(scenarios)]
        with _fresh(place) as folder:
            # stopped late, when there are checkpoints
            in_child(partial(scenario.begin, folder), chance.randint(80, 100))
            files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
            path = chance.choice([file for file in files if file.name != ".lock"])
            done = _damage(path, chance)
            after = f"{path.name} {done}"
            status, said = in_child(partial(scenario.go_on, folder))
            if status == FAILED:
                # a refusal has to say which file, or what of it is not as it was
                yield None if str(folder) in said else f"{scenario.name}, {after}: does not say where: {said}"
            elif status:
                yield f"{scenario.name}, {after}: {said}"
            else:
                wrong = scenario.differs(folder)
                yield f"{scenario.name}, {after}: {wrong}, and nothing was said" if wrong else None


def _damage(path: Path, chance: random.Random) -> str:
    content = bytearray(path.read_bytes())
    kind, at = chance.choice(("flipped", "cut", "zeroed", "doubled")), chance.randrange(len(content))
    if kind == "flipped":
        content[at] ^= 1 << chance.randrange(8)
    elif kind == "cut":
        del content[at:]
    elif kind == "zeroed":
        content[at : at + 64] = bytes(len(content[at : at + 64]))
    else:
        content[at:at] = content[at : at + 40]
    path.write_bytes(content)
    return f"{kind} at byte {at}"


def two_writers(scenarios: list[Scenario], place: Path, tries: int) -> Tries:
    """Two processes begin at once: one of them works, the other is told, and what comes out is one training."""
    for index in range(tries):
        scenario = scenarios[index % len(scenarios)]
        with _fresh(place) as folder:
            other = os.fork()
            if other == 0:
                status, _ = in_child(partial(scenario.go_on, folder))
                os._exit(status)
            status, said = in_child(partial(scenario.go_on, folder))
            _, ended = os.waitpid(other, 0)
            ends = {status, os.waitstatus_to_exitcode(ended)}
            if not ends <= {0, FAILED} or 0 not in ends:
                yield f"{scenario.name}, two writers: they ended with {ends}: {said}"
            else:
                yield _go_on(scenario, folder, "two writers")
