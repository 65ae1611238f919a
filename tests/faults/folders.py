"""Folders under faults: killed at every file operation, full, read-only, taken away, damaged, two writers."""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import pytest
import torch

from gridsum.io import version
from gridsum.io.disk import LOCK
from tests.children import stop_at
from tests.faults.injection import FAILED, KILLED, How, Tries, in_child
from tests.faults.trainings import Scenario, outcome


def _operations(scenario: Scenario, place: Path) -> int:
    folder = place / "count"
    status, said = in_child(partial(scenario.go_on, folder))
    assert status == 0, said
    shutil.rmtree(folder)
    return int(said)


def _tried(
    scenario: Scenario,
    place: Path,
    faults: Sequence[tuple[int, How]],
    between: Callable[[Path], str] = lambda _: "",
    last: Callable[[Path], object] | None = None,
    may_refuse: bool = False,
) -> str | None:
    """What is lost in a folder that meets faults at these operations, one after the other, and is then gone on with.

    `between` does what else happens to it, and says what; `last` is the last going on where that is of its own kind.
    That may refuse, if it says where, or has to end as if nothing had been.
    """
    folder, told = place / "run", f"{scenario.name}, {faults}"
    assert not folder.exists(), "every try begins with nothing"
    try:
        for at, how in faults:
            status, said = in_child(partial(scenario.go_on, folder), at, how)
            if status not in (0, KILLED if how in ("kill", "torn") else FAILED):
                return f"{told}: ended with {status}: {said}"
        told += between(folder)
        status, said = in_child(partial(last or scenario.go_on, folder))
        if status == FAILED and may_refuse:
            return None if str(folder) in said else f"{told}: does not say where: {said}"
        wrong = f"going on ended with {status}: {said}" if status else scenario.differs(folder)
        return wrong and f"{told}: {wrong}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def killed_at_every_operation(
    scenarios: list[Scenario],
    place: Path,
    every: int = 1,
    hows: tuple[str, ...] = ("kill", "torn", "full", "read-only"),
) -> Tries:
    for scenario in scenarios:
        for how, at in product(hows, range(1, _operations(scenario, place) + 1, every)):
            yield _tried(scenario, place, [(at, how)])


def killed_again_and_again(scenarios: list[Scenario], place: Path, tries: int, seed: int = 0) -> Tries:
    """Killed at random, also while going on."""
    chance = random.Random(seed)
    counts = [_operations(scenario, place) for scenario in scenarios]
    for index in range(tries):
        kind = index % len(scenarios)
        kills = [(chance.randint(1, counts[kind]), chance.choice(("kill", "torn"))) for _ in range(3)]
        yield _tried(scenarios[kind], place, kills)


def taken_away(scenarios: list[Scenario], place: Path, every: int = 1) -> Tries:
    """The folder gone, or its lock removed, at every file operation: that is told, the folder is not made again, and
    what is left goes on where it is."""
    folder, away = place / "run", place / "away"

    def gone() -> None:
        if folder.exists():
            folder.rename(away)

    def unlocked() -> None:
        (folder / LOCK).unlink(missing_ok=True)

    def brought_back(folder: Path) -> str:
        if away.exists():
            assert not folder.exists(), "the folder was made again"
            away.rename(folder)
        return ""

    for scenario in scenarios:
        operations = range(min(2, every), _operations(scenario, place) + 1, every)
        for harm, at in product((gone, unlocked), operations):
            yield _tried(scenario, place, [(at, harm)], brought_back)


def elsewhere(scenarios: list[Scenario], place: Path, tries: int, seed: int = 0) -> Tries:
    """Killed, then gone on with under another version and with a clock that was set back: nothing is another."""
    chance = random.Random(seed)

    def later(folder: Path) -> str:
        moment = time.time() + 86400
        for path in folder.rglob("*"):
            os.utime(path, (moment, moment))
        return ", going on under another version and clock"

    for index in range(tries):
        scenario = scenarios[index % len(scenarios)]

        def changed(folder: Path, scenario: Scenario = scenario) -> None:
            version.__version__, before = "999.0.0", time.time
            time.time = lambda: before() - 10 * 86400
            scenario.go_on(folder)

        yield _tried(scenario, place, [(chance.randint(1, 90), "kill")], later, changed)


def damaged(scenarios: list[Scenario], place: Path, tries: int, seed: int = 0) -> Tries:
    """A file of a stopped training flipped, cut or zeroed: going on ends as it should, or refuses and says why."""
    chance = random.Random(seed)
    for index in range(tries):  # stopped late, when there are checkpoints
        kill = (chance.randint(80, 100), "kill")
        yield _tried(scenarios[index % len(scenarios)], place, [kill], partial(_damage, chance), may_refuse=True)


def _damage(chance: random.Random, folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    path = chance.choice([file for file in files if file.name != LOCK])
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
    return f", {path.name} {kind} at byte {at}"


def two_writers(scenarios: list[Scenario], place: Path, tries: int) -> Tries:
    """Two processes begin at once: one of them works, the other is told, and what comes out is one training."""
    for index in range(tries):
        scenario = scenarios[index % len(scenarios)]

        def both(folder: Path, scenario: Scenario = scenario) -> str:
            other = os.fork()
            status, said = in_child(partial(scenario.go_on, folder))
            if other == 0:
                os._exit(status)
            _, ended = os.waitpid(other, 0)
            ends = {status, os.waitstatus_to_exitcode(ended)}
            assert 0 in ends <= {0, FAILED}, f"{scenario.name}, two writers: they ended with {ends}: {said}"
            return ", two writers"

        yield _tried(scenario, place, [], both)


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
