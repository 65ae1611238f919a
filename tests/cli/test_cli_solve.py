"""`gridsum solve`: answers one a line, streams, and the drawing."""

import csv
import errno
import io
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gridsum.api.networks import PaperModel
from gridsum.api.terminal import draw, render
from gridsum.api.traces import Trace
from gridsum.cli.solve import _lines
from gridsum.evaluation.solving import solve, trace_expression
from gridsum.model.store import load
from gridsum.tasks import Addition
from tests.children import command as work_of
from tests.children import in_child

ADD = Addition()

Command = Callable[..., tuple[int, str, str]]
SUMS = ["523+102+9416", "7", "99 + 1 =", "000+0", "12+34+56"]


full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this baseline has no /dev/full to write to")


def _answers(model: str, sums: list[str], **options: object) -> list[str]:
    return [answer.answer for answer in solve(load(model), [ADD.parse(text) for text in sums], **options)]  # type: ignore[arg-type]


def test_one_answer_a_line_in_order_and_nothing_else(command: Command, model: str):
    status, out, err = command("solve", *SUMS[:2], "--model", model, *SUMS[2:])  # options may stand between sums
    assert (status, err) == (0, "")
    assert out.splitlines() == _answers(model, SUMS)


def test_json_says_what_happened(command: Command, model: str):
    status, out, _ = command("solve", *SUMS, "--model", model, "--json", "--halting", "median", "--placement", "hard")
    assert status == 0
    lines = [json.loads(line) for line in out.splitlines()]
    names = "expression answer expected correct steps halting placement capped model"
    assert [list(line) for line in lines] == [names.split()] * len(SUMS)
    assert [line["expected"] for line in lines] == ["10041", "7", "100", "0", "102"]
    assert all(line["correct"] == (line["answer"] == line["expected"]) for line in lines)
    assert {(line["halting"], line["placement"], line["model"]) for line in lines} == {("median", "hard", model)}
    expected = _answers(model, SUMS, halting="median", placement="hard")
    assert [line["answer"] for line in lines] == expected


def test_the_seed_decides_the_sampled_steps(command: Command, model: str):
    def steps(seed: int) -> list[int]:
        out = command("solve", *SUMS, "--model", model, "--json", "--seed", str(seed))[1]
        return [json.loads(line)["steps"] for line in out.splitlines()]

    assert steps(3) == steps(3)
    assert len({tuple(steps(seed)) for seed in range(6)}) > 1


def test_a_bad_sum_leaves_an_empty_line_and_the_others_are_answered(command: Command, model: str):
    status, out, err = command("solve", "12+34", "1++2", "7", "-3", "--model", model)
    first, third = _answers(model, ["12+34", "7"])
    assert (status, out.split("\n")) == (2, [first, "", third, "", ""])
    told = err.splitlines()
    assert told[0].startswith("gridsum: error: argument 2: a term is empty")
    assert told[1].startswith("gridsum: error: argument 4: signs are not part")


def test_a_file_keeps_lines_and_answers_in_step(command: Command, model: str, tmp_path: Path):
    path = tmp_path / "sums.txt"
    sums = [str(number) for number in range(150)]  # more than are read at once
    sums[3], sums[149] = "+", "1+x"
    content = "\ufeff" + "\r\n".join(sums)  # as some editors write it, without an end of line at the end
    path.write_bytes(content.encode())
    status, out, err = command("solve", "--file", str(path), "--model", model, "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert status == 2
    assert [line["expression"] for line in lines if "answer" in line] == [f"{n}=" for n in range(149) if n != 3]
    assert lines[3]["line"] == 4
    assert "begins with '+'" in lines[3]["error"]
    assert lines[149]["line"] == 150
    assert [line.split(": ")[2] for line in err.splitlines()] == ["line 4", "line 150"]


def test_a_line_that_is_no_text(command: Command, model: str, tmp_path: Path):
    path = tmp_path / "sums.txt"
    path.write_bytes(b"1+1\n\xff\xfe\n2+2\n")
    status, out, err = command("solve", "--file", str(path), "--model", model)
    first, third = _answers(model, ["1+1", "2+2"])
    assert (status, out) == (2, f"{first}\n\n{third}\n")
    assert "line 2: this is not UTF-8 text" in err
    path.write_bytes(b"")
    assert command("solve", "--file", str(path), "--model", model) == (0, "", "")


def test_standard_input_is_answered_as_it_comes(model: str, environment: dict[str, str]):
    arguments = [sys.executable, "-m", "gridsum", "solve", "--file", "-", "--model", model]
    with subprocess.Popen(
        arguments, text=True, bufsize=1, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        watchdog = threading.Timer(600, running.kill)  # an answer that is held back would be waited for forever
        watchdog.start()
        for text, answer in zip(SUMS, _answers(model, SUMS), strict=True):
            running.stdin.write(text + "\n")
            assert running.stdout.readline() == answer + "\n"  # before the next question is asked
        running.stdin.close()
        assert running.stdout.read() == ""
        watchdog.cancel()
    assert running.returncode == 0


def test_a_reader_that_has_enough_is_no_error(tmp_path: Path, environment: dict[str, str]):
    command = f"yes 12+34 | {sys.executable} -m gridsum solve --file - 2>errors | head -n 2"
    script = f"set -o pipefail; {command}; echo ${{PIPESTATUS[1]}}; cat errors"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
    )
    assert done.stdout.splitlines() == ["46", "46", "141"]


def test_closed_streams_are_no_bug(environment: dict[str, str]):
    script = f"{sys.executable} -m gridsum solve 12+34 2>&1 >&-; echo $?; {sys.executable} -m gridsum solve 12+34 2>&-"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, check=False)
    told, status, answer = done.stdout.splitlines()
    assert told.startswith("gridsum: error: standard output could not be written")
    assert (status, answer) == ("2", "46")


@full
def test_a_full_standard_output_is_told(environment: dict[str, str]):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gridsum", "solve", "12+34"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == (
        f"gridsum: error: standard output could not be written ({os.strerror(errno.ENOSPC)}); "
        "make room, or choose another place\n"
    )


def test_without_a_name_the_rule_of_exact_answers(command: Command):
    """Also what no network of the paper can: a carry through a thousand nines."""
    long = "9" * 1000 + "+1"
    status, out, err = command("solve", *SUMS, long, "--json")
    assert (status, err) == (0, "")
    lines = [json.loads(line) for line in out.splitlines()]
    assert {(line["model"], line["halting"], line["placement"]) for line in lines} == {("exact", "fixed-point", "hard")}
    assert all(line["correct"] for line in lines)
    assert lines[-1]["steps"] >= 1000


def test_the_network_of_exact_answers_as_its_rule_does(command: Command):
    plain = command("solve", *SUMS, "9999+1", "--json")
    assert plain[0] == 0
    alone = command("solve", *SUMS, "9999+1", "--json", "--network")
    assert alone[0] == 0
    # On the way there the network may take other codes than the rule, and so other steps.
    first, second = ([json.loads(line) for line in out.splitlines()] for out in (plain[1], alone[1]))
    assert [answer["answer"] for answer in first] == [answer["answer"] for answer in second]
    assert all(answer["correct"] for answer in second)


def test_rules_that_exact_does_not_have_are_refused(command: Command, model: str):
    for option in (["--halting", "median"], ["--placement", "soft"]):
        status, out, err = command("solve", "1+1", *option)
        assert (status, out) == (2, "")
        assert "exact always halts at a fixed point and uses hard placement; leave halting and placement out" in err
    status, out, err = command("solve", "1+1", "--model", model, "--network")
    assert (status, out) == (2, "")
    assert "network is for models that answer by a rule" in err


def _drawing(command: Command, model: str, *arguments: str) -> list[list[str]]:
    """The blocks of a drawing, by their lines."""
    status, out, err = command("solve", *arguments, "--model", model, "--show")
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    return [block.split("\n") for block in out.strip("\n").split("\n\n")]


def _cells(row: str, columns: int) -> list[tuple[str, bool]]:
    """Each cell's symbol, and whether it stands in brackets."""
    body = row[4:].ljust(3 * columns)
    return [(body[3 * c + 1], body[3 * c] == "[") for c in range(columns)]


def test_the_drawing_shows_every_step(command: Command, model: str):
    seed = "16"
    head, placed, *blocks, verdict = _drawing(command, model, "523+102+9416", "--seed", seed)
    steps: list[list[str]] = []
    for line in (line for block in blocks for line in block):
        if line.startswith(("step", "before")):
            steps.append([])
        steps[-1].append(line)
    loaded, terms = load(model), ("523", "102", "9416")
    (answer,) = solve(loaded, [terms], seed=int(seed))
    trace = trace_expression(loaded, terms, answer.steps)
    readings = trace.decoded.argmax(-1)
    assert answer.steps > 1, "the seed must make for something to see"
    assert head[0] == "523+102+9416="
    assert placed[0] == "placed on the grid"
    height, width = readings.shape[1:]
    assert len(placed) == 1 + height
    assert len(steps) == answer.steps + 1
    changes = 0
    for n, (title, *rows) in enumerate(steps):
        assert trace.halting is not None
        assert trace.probability is not None
        assert title.startswith(f"step {n} " if n else "before any step")
        assert f"λ {float(trace.halting[n]):.3f}" in title
        assert f"halted by now {float(trace.probability[: n + 1].sum()):.3f}" in title
        symbols = readings[n].tolist()
        if n and symbols == readings[n - 1].tolist():
            assert title.endswith("no symbol has changed")
            assert rows == []
            continue
        reads = "".join(ADD.alphabet.symbols[code] for code in symbols[0] if code)
        assert title.endswith(f"reads {reads or 'nothing'}")
        drawn = [_cells(row, width) for row in rows]
        assert [[s for s, _ in row] for row in drawn] == [
            ["·" if code == 0 else ADD.alphabet.symbols[code] for code in row] for row in symbols
        ]
        changed = (readings[n] != readings[n - 1]).tolist() if n else [[False] * width] * height
        assert [[mark for _, mark in row] for row in drawn] == changed
        changes += sum(map(sum, changed))
        assert rows[0].startswith("  > ")
    assert changes > 0
    assert verdict[0].startswith(f"halted after {answer.steps} steps, answer {answer.answer}, which is ")
    assert verdict[0].endswith("right" if answer.correct else "wrong")
    assert answer.correct or verdict[1] == "the sum is 10041"


def test_the_drawing_shows_what_was_placed_where(model: str):
    """With actions as a trained network takes them, the terms stand below each other."""
    import dataclasses

    import torch

    loaded, terms = load(model), ("523", "102", "9416")
    (answer,) = solve(loaded, [terms])
    trace = trace_expression(loaded, terms, answer.steps)
    digit, plus, equals = [0.98, 0.01, 0.01], [0.01, 0.98, 0.01], [0.01, 0.01, 0.98]
    actions = [equals if code == 12 else plus if code == 11 else digit for code in trace.symbols.tolist()]
    trained = dataclasses.replace(trace, actions=torch.tensor(actions))
    for placement in ("soft", "hard"):
        shown = Trace(PaperModel(loaded), terms, dataclasses.replace(answer, placement=placement), trained)
        lines = render(draw(shown), io.StringIO())
        _, placed, *_ = lines.split("\n\n")
        assert placed.split("\n")[1:] == [
            "  >  ·  ·  +  9  4  1  6",
            "     ·  ·  ·  +  1  0  2",
            "     ·  ·  ·  ·  5  2  3",
            "     ·  ·  ·  ·  ·  ·  ·",
        ]


def test_long_sums_are_drawn_without_their_middle(command: Command, model: str):
    wide = _drawing(command, model, "12" * 150 + "+1", "--seed", "5")
    assert "3 rows × 303 columns" in wide[0][-1]
    assert all(" … " in row for row in wide[1][1:])
    tall = _drawing(command, model, "+".join("1" * 40), "--seed", "5")
    assert "41 rows" in tall[0][-1]
    assert len(tall[1]) == 1 + 16


def test_colour_adds_to_the_drawing_and_takes_nothing_away(
    command: Command, model: str, monkeypatch: pytest.MonkeyPatch
):
    plain = command("solve", "12+34", "--model", model, "--show", "--seed", "5")[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = command("solve", "12+34", "--model", model, "--show", "--seed", "5")[1]
    assert "\x1b[" in coloured
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert [line.rstrip() for line in stripped.splitlines()] == plain.splitlines()


def test_letters_that_the_terminal_lacks_are_replaced(model: str):
    done = in_child(work_of("solve", "12+34", "--model", model, "--show"), encoding="ascii")
    assert done.status == 0, done.err
    assert "? 0." in done.out


def test_a_line_may_come_in_pieces():
    coming = iter([b"12+", b"3", b"4\n5\n\n", b"6"])
    assert list(_lines(lambda _: next(coming, b""))) == [[b"12+34", b"5", b""], [b"6"]]


@pytest.mark.parametrize(
    ("arguments", "answers"),
    [
        (["12", "+", "34"], "46\n"),
        (["12+", "34", "1+1"], "46\n2\n"),
        (["12", "+34", "=", "1", "2"], "46\n1\n2\n"),
    ],
)
def test_a_sum_that_the_shell_has_split(arguments: list[str], answers: str, command: Command):
    assert command("solve", *arguments) == (0, answers, "")


def test_empty_lines_are_answered_by_empty_lines(command: Command, tmp_path: Path):
    (tmp_path / "sums.txt").write_text("1+2\n\n  \n3+4\n")
    assert command("solve", "--file", str(tmp_path / "sums.txt")) == (0, "3\n\n\n7\n", "")
    assert command("solve", "--json", "--file", str(tmp_path / "sums.txt"))[1].count("\n") == 2


@pytest.mark.parametrize("content", ["id,expression\n1,12+34\n2,5+6\n", "12+34\n5+6\n", '"12+34",x\n\n5+6,y\n'])
def test_csv_in_and_out(content: str, command: Command, tmp_path: Path):
    (tmp_path / "sums.csv").write_text(content)
    status, out, err = command("solve", "--file", str(tmp_path / "sums.csv"), "--csv")
    assert (status, err) == (0, "")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["expression"], row["answer"], row["correct"]) for row in rows] == [
        ("12+34=", "46", "True"),
        ("5+6=", "11", "True"),
    ]
    again = tmp_path / "again.csv"
    again.write_text(out)
    assert command("solve", "--file", str(again))[1] == "46\n11\n"


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


@pytest.mark.parametrize("more", [[], ["--json"]], ids=["plain", "json"])
def test_a_line_over_the_limit_is_named_and_the_others_are_answered(
    more: list[str], command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("gridsum.automaton.run._LARGE", 1000)
    monkeypatch.setattr("gridsum.automaton.run.MOST_CELLS", 1000)
    file = tmp_path / "sums.txt"
    file.write_text("1+2\n" + "9" * 2000 + "+1\n30+4\n")
    status, out, err = command("solve", "--file", str(file), *more)
    assert status == 2
    assert re.search(r"line 2: 2 terms of up to 2,000 digits need .* limit is 1,000 cells", err)
    if more:
        lines = [json.loads(line) for line in out.splitlines()]
        assert [line.get("answer") for line in lines] == ["3", None, "34"]
        assert (lines[1]["line"], "limit" in lines[1]["error"]) == (2, True)
    else:
        assert out == "3\n\n34\n"


def test_what_is_piped_is_solved():
    command = [sys.executable, "-m", "gridsum", "solve"]
    done = subprocess.run(command, input="12+34\n99+1", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "46\n100\n"), done.stderr
    pasted = "  523\r\n  102\r\n+ 9,416\r\n-------\r\n1,000+2\n7\n8\n\n99\n+1"
    done = subprocess.run(command, input=pasted.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"10041\n1002\n7\n8\n\n100\n"), done.stderr
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "there is nothing to solve" in done.stderr


def test_a_pasted_column_is_one_sum(command: Command):
    assert command("solve", "523\n102\n+9416\n-----", "1,000+2") == (0, "10041\n1002\n", "")


def test_a_network_that_did_not_learn_long_carries_says_so_once(command: Callable[..., tuple[int, str, str]]):
    _, _, err = command("solve", "--model", "base", "12+34", "9999999+1", "99999+1")
    assert err.count("\n") == 1
    assert "long carries, as in 9999999+1=, are outside what base learned" in err
    assert command("solve", "--model", "base", "58+67")[2] == ""
    assert command("solve", "9999999+1")[1:] == ("10000000\n", "")
