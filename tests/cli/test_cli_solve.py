"""`gridsum solve`: answers one a line, streams, and the drawing."""

import errno
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import gridsum
from gridsum.cli.solve import _lines
from gridsum.data.answers import SolveOptions
from gridsum.evaluation.solving import solve
from gridsum.model.store import load
from tests.children import command as work_of
from tests.children import in_child
from tests.cli.conftest import Command
from tests.oracles.column_addition import ADD

SUMS = ["523+102+9416", "7", "99 + 1 =", "000+0", "12+34+56"]
RESULTS = ["10041", "7", "100", "0", "102"]


def _answers(model: str, sums: list[str], **options: Any) -> list[str]:
    return [answer.answer for answer in solve(load(model), [ADD.parse(text) for text in sums], SolveOptions(**options))]


def test_one_answer_a_line_in_order_and_nothing_else_or_what_happened_as_json(command: Command, model: str):
    status, out, _ = command("solve", *SUMS[:2], "--model", model, *SUMS[2:])  # options may stand between sums
    assert status == 0
    assert out.splitlines() == _answers(model, SUMS)
    status, out, _ = command("solve", *SUMS, "--model", model, "--json", "--halting", "median", "--placement", "hard")
    assert status == 0
    lines = [json.loads(line) for line in out.splitlines()]
    names = "expression answer expected correct steps halting placement capped model"
    assert [list(line) for line in lines] == [names.split()] * len(SUMS)
    assert [line["expected"] for line in lines] == RESULTS
    assert all(line["correct"] == (line["answer"] == line["expected"]) for line in lines)
    assert {(line["halting"], line["placement"], line["model"]) for line in lines} == {("median", "hard", model)}
    expected = _answers(model, SUMS, halting="median", placement="hard")
    assert [line["answer"] for line in lines] == expected


def test_a_bad_sum_leaves_an_empty_line_and_the_others_are_answered(command: Command, model: str):
    status, out, err = command("solve", "12+34", "1++2", "7", "-3", "--model", model)
    first, third = _answers(model, ["12+34", "7"])
    assert (status, out.split("\n")) == (2, [first, "", third, "", ""])
    told = err.splitlines()
    assert told[0].startswith("gridsum: error: argument 2: a term is empty")
    assert told[1].startswith("gridsum: error: argument 4: minus signs are not allowed")


def test_a_file_keeps_lines_and_answers_in_step(command: Command, model: str, tmp_path: Path):
    path = tmp_path / "sums.txt"
    path.write_bytes(b"1+1\n\xff\xfe\n\n  \n2+2\n")
    status, out, err = command("solve", "--file", str(path))
    assert (status, out) == (2, "2\n\n\n\n4\n")
    assert "line 2: '\ufffd' is not allowed" in err
    assert command("solve", "--json", "--file", str(path))[1].count("\n") == 3, "nothing is said of empty lines"
    sums = [str(number) for number in range(150)]  # more than are read at once
    sums[3], sums[149] = "+", "1+x"
    path.write_bytes(("\ufeff" + "\r\n".join(sums)).encode())  # as some editors write it, without a last end of line
    status, out, err = command("solve", "--file", str(path), "--model", model, "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line.get("expression") for line in lines] == [f"{n}=" if n not in (3, 149) else None for n in range(150)]
    assert [line["line"] for line in lines if "error" in line] == [4, 150]
    assert [line.split(": ")[2] for line in err.splitlines()] == ["line 4", "line 150"]


def test_standard_input_is_answered_as_it_comes(environment: dict[str, str]):
    arguments = [sys.executable, "-m", "gridsum", "solve"]
    with subprocess.Popen(
        arguments, text=True, bufsize=1, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        watchdog = threading.Timer(200, running.kill)  # an answer that is held back would be waited for forever
        watchdog.start()
        for text, answer in zip(SUMS, RESULTS, strict=True):
            running.stdin.write(text + "\n")
            assert running.stdout.readline() == answer + "\n"  # before the next question is asked
        running.stdin.close()
        assert running.stdout.read() == ""
        watchdog.cancel()
    assert running.returncode == 0


def test_a_standard_output_that_takes_no_more_is_no_bug(tmp_path: Path, environment: dict[str, str]):
    """A reader that has enough, streams that are closed, a disk that is full; and nothing to read."""
    program = f"{sys.executable} -m gridsum solve"
    script = (
        f"yes 12+34 | {program} --file - 2>errors | head -n 2; echo ${{PIPESTATUS[1]}}; cat errors\n"
        f"{program} 12+34 2>&1 >&-; echo $?; {program} 12+34 2>&-\n"
        f"{program} 2>&1 </dev/null; echo $?\n"
        f"if [ -e /dev/full ]; then {program} 12+34 2>&1 >/dev/full; echo $?; fi"
    )
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
    )
    told = done.stdout.splitlines()
    assert told[:5] == ["46", "46", "141", "0", "46"]
    assert told[5].startswith("gridsum: error: there is nothing to solve")
    assert told[6] == "2"
    full = f"gridsum: error: standard output: {os.strerror(errno.ENOSPC).lower()}; make room, or "
    assert told[7:] in ([], [f"{full}choose another place", "2"])


@pytest.mark.parametrize("name", ["exact", "base"])
def test_a_drawing_shows_placement_every_change_and_when_it_halts(name: str, command: Command):
    status, out, err = command("solve", "523+102+9416", "--model", name, "--show")
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    trace = gridsum.trace("523+102+9416", name)
    lines = out.splitlines()
    answer = trace.answer
    assert lines[:2] == ["523+102+9416=", f"{answer.halting} halting, {answer.placement} placement, model {name}"]
    placed = lines.index("placed on the grid")
    assert [line.split()[-4:] for line in lines[placed + 1 : placed + 4]] == [list("9416"), list("+102"), list("·523")]
    titles = [number for number, line in enumerate(lines) if line.startswith(("before any step", "step "))]
    assert len(titles) == len(trace) > 3
    for n, number in enumerate(titles):
        if trace.inside.halting is not None:
            assert f"λ {float(trace.inside.halting[n]):.3f}   halted by now " in lines[number]
        after, before = trace.text[n], trace.text[max(n - 1, 0)]
        if after == before and n:
            assert "no symbol has changed" in lines[number]
            continue
        assert lines[number].endswith(f"reads {after[0].replace('·', '') or 'nothing'}")
        for row, (text, was) in enumerate(zip(after, before, strict=True)):
            cells = "".join(f"[{a}]" if a != b else f" {a} " for a, b in zip(text, was, strict=True))
            assert lines[number + 1 + row] == f"{'' if row else '  >':4}{cells}".rstrip()
    assert f"halted after {answer.steps} steps, answer 10041, which is right" in lines


def test_of_a_long_sum_and_of_many_terms_the_ends_are_drawn(command: Command):
    long = "9" * 500 + "+1"
    lines, steps = command("solve", long, "--show").out.splitlines(), gridsum.solve(long).steps
    assert max(map(len, lines)) <= 80
    assert "… and ⋮ stand for what is left out of 3 rows × 502 columns" in lines
    titles = [line.split("   ")[0] for line in lines if line.startswith("step ")]
    assert titles == [f"step {n}" for n in (*range(1, 20), *range(steps - 19, steps + 1))]
    assert any(line.endswith(f"{steps - 39} steps are left out") for line in lines)
    # What changed in the first step after the gap is what changed in it, not since the gap began.
    after_gap = lines[lines.index(next(line for line in lines if line.startswith(f"step {steps - 19} "))) + 1]
    assert after_gap.count("[") <= 1
    many = command("solve", "+".join(["12"] * 100), "--show").out
    assert sum(line.startswith("     ⋮") for line in many.splitlines()) == 1 + 41 - 1


def test_letters_that_the_terminal_lacks_are_replaced(model: str):
    done = in_child(work_of("solve", "12+34", "--model", model, "--show"), encoding="ascii")
    assert done.status == 0, done.err
    assert "? 0." in done.out


def test_a_line_may_come_in_pieces():
    coming = iter([b"12+", b"3", b"4\n5\n\n", b"6"])
    assert list(_lines(lambda _: next(coming, b""))) == [[b"12+34", b"5", b""], [b"6"]]


def test_plain_lines_are_answered_as_those_that_are_not(command: Command, tmp_path: Path):
    """A file of plain sums goes to the rule as it is; a space, a blank line or a mistake sends it line by line."""
    plain = [f"{number}+{number * number}" for number in range(2500)]
    wanted = [str(number + number * number) for number in range(2500)]
    (tmp_path / "sums.txt").write_text("\n".join(plain) + "\n")
    assert command("solve", "--file", str(tmp_path / "sums.txt")) == (0, "\n".join(wanted) + "\n", "")
    mixed = [*plain[:2100], "", " 1 + 2 =", "1+x", *plain[2100:]]
    (tmp_path / "mixed.txt").write_text("\r\n".join(mixed))
    status, out, err = command("solve", "--file", str(tmp_path / "mixed.txt"))
    assert (status, out.split("\n")) == (2, [*wanted[:2100], "", "3", "", *wanted[2100:], ""])
    assert err.startswith("gridsum: error: line 2103: 'x' is not allowed")


def test_a_line_over_the_limit_is_named_and_the_others_are_answered(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for module in ("run", "solve"):
        monkeypatch.setattr(f"gridsum.automaton.{module}.LARGE", 1000)
    monkeypatch.setenv("GRIDSUM_MEMORY", "100KB")
    file = tmp_path / "sums.txt"
    file.write_text("1+2\n" + "9" * 2000 + "+1\n30+4\n")
    status, out, err = command("solve", "--file", str(file))
    assert (status, out) == (2, "3\n\n34\n")
    assert re.search(r"line 2: a grid of 3 rows × 2,002 columns takes about 120 KB of memory.*limit is 100 KB", err)


def test_wrong_answers_of_a_network_are_counted(command: Command):
    assert command("solve", "--model", "base", "12+34", "9999999+1", "99999+1") == (
        0, "46\n9000000\n100000\n", "gridsum: 1 of 3 answers wrong; --json shows the right ones\n"
    )  # fmt: skip
    assert command("solve", "9999999+1") == (0, "10000000\n", "")
