"""One computes at a time, and whoever has computed least goes first."""

import threading
import time

import pytest

from gridsum.serve import turns as module
from gridsum.serve.turns import Turns


def wait_for(turns: Turns, waiting: int) -> None:
    end = time.monotonic() + 600
    while len(turns._waiting) != waiting:
        assert time.monotonic() < end, "nobody came"
        time.sleep(0.001)


def test_only_one_computes_at_a_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_SLICE_SECONDS", 0.0)
    turns, computing, most = Turns(), 0, 0

    def work() -> None:
        nonlocal computing, most
        with turns.turn() as turn:
            for _ in range(50):
                computing += 1
                most = max(most, computing)
                time.sleep(0.0002)
                computing -= 1
                turn.pass_on()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert most == 1
    assert computing == 0


def test_short_work_overtakes_long_work(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_SLICE_SECONDS", 0.05)
    turns, done = Turns(), []
    begun = threading.Event()

    def long() -> None:
        with turns.turn() as turn:
            begun.set()
            while "second" not in done:
                time.sleep(0.01)
                turn.pass_on()
            done.append("long")

    def short(name: str) -> None:
        with turns.turn() as turn:
            turn.pass_on()
            done.append(name)

    threads = [threading.Thread(target=long)]
    threads[0].start()
    assert begun.wait(600)
    for name in ("first", "second"):
        threads.append(threading.Thread(target=short, args=(name,)))
        threads[-1].start()
    for thread in threads:
        thread.join(600)
    assert sorted(done[:2]) == ["first", "second"]
    assert done[2:] == ["long"]


def test_of_equals_the_first_goes_first():
    turns, order = Turns(), []

    def work(name: int) -> None:
        with turns.turn():
            order.append(name)

    with turns.turn():
        threads = []
        for name in range(5):
            threads.append(threading.Thread(target=work, args=(name,)))
            threads[-1].start()
            wait_for(turns, name + 1)
    for thread in threads:
        thread.join(600)
    assert order == list(range(5))


def test_a_turn_ends_with_its_work_even_if_that_fails():
    turns = Turns()
    with pytest.raises(ZeroDivisionError), turns.turn():
        _ = 1 / 0
    with turns.turn() as turn:
        turn.pass_on()
