"""Every mistake of a user gets one clear line on standard error, exit status 2, and leaves nothing behind."""

import errno
import os
import sys
from pathlib import Path
from unittest import mock

import pytest
import torch

from tests.cli.conftest import Command


def refused(result: tuple[int, str, str]) -> str:
    """The message, once it is certain that it is all that was said."""
    status, out, err = result
    assert status == 2
    assert out.strip() == ""
    assert err.startswith("gridsum: error: ")
    assert err.count("\n") == 1, err
    return err


OPTIONS = {
    "slove 1+1": "did you mean 'solve'?",
    "--verison": "did you mean --version?",
    "solve": "there is nothing to solve",
    "solve 1+1 --file sums.txt": "not both",
    "solve 1+1 --json --show": "not allowed with",
    "solve 1+1 --modle x": "did you mean --model?",
    "solve 1+1 --halting medain": "did you mean 'median'?",
    "evaluate --model base --halting fixed --out r.jsonl": "use 'sampled' or 'median'",
    "solve 1+1 --device gpu": "unknown device 'gpu'; use auto, cpu, cuda for a GPU",
    "solve 1=2=": "before the end",
    "solve １+2": "U+FF11",
    "solve 1+1 --seed 9223372036854775808": "from 0 to 9223372036854775807",
    "solve --file NOWHERE": "no such file",
    "solve --file .": "is a directory",
    "solve 1+1 --model NOWHERE": "unknown model 'NOWHERE'",
    "train --resume": "which training is to go on? Name its folder with --out",
    "train --out OUT --training.epoch 3": "did you mean --training.epochs?",
    "train --out OUT --model.groups one": "model.groups takes a whole number, not 'one'",
    "train --out OUT --model.query_encoding maybe": "model.query_encoding takes true or false, not 'maybe'",
    "train --out OUT --objective.regulariser l2": "one of explore-reinforce, kl, none",
    "train --out OUT --variant nogroup": "did you mean 'noGroups'?",
    "train --out OUT --setting txt": "base has no setting 'txt'; did you mean 'text'?",
    "train --out OUT --resume": "no training run to resume",
    "train --out OUT --start-from base --resume": "leave out start_from",
    "train --out OUT --start-from base --variant base": "not allowed with argument",
    f"train --out {__file__}": "that is a file; name a folder",
    "evaluate --suite comparsion": "did you mean 'comparison'?",
    "evaluate --samples 0": "from 1 to",
    "evaluate --out .": "is a folder",
    "table scors": "did you mean 'scores'?",
    "table --records r.jsonl": "required: TABLE (see gridsum table --help)",
    "figure rings --out a.svg": "did you mean 'ring'?",
    "figure steps": "no file to write to; add --out steps.svg",
    "figure --out a.svg": "required: FIGURE (see gridsum figure --help)",
    "figure training --out a.svg": "--runs FOLDER",
    "figure steps --out a.bmp": "use a name that ends in .svg, .png or .pdf",
    "figure attention --model exact --out a.svg": "needs a network of the paper",
    "figure ring --model exact --out a.svg": "exact is a run of exact; only the paper's networks have a ring",
    f"figure steps {'1' * 90} --out a.svg": "too large for a picture",
    f"figure placement {'1' * 90} --out a.svg": "too large for a picture",
    "figure film 58+67": "no file to write to; add --out film.gif",
    "page": "required: --out",
    f"page --out {__file__}": "is a file; name a folder",
    "rule --model none.json": "none.json",
    "export exact --to onxx --out OUT": "did you mean 'onnx'",
    f"export exact --to hf --out {__file__}": "is a file; name a folder",
    "reproduce --only repot": "did you mean 'report'?",
    "reproduce --variants nogroups": "did you mean 'noGroups'?",
    "reproduce --variants dngp": "did you mean 'dngpu'?",
    "reproduce --setting txt --out OUT": "did you mean 'text'?",
    "reproduce --setting text": "add --out out/text",
    "reproduce --seeds 9-0": "write it as 0-9",
    "reproduce --time-limit 0": "not a whole number from 1",
    f"reproduce --out {__file__}": "--out takes a folder",
    "reproduce --only report --out nowhere --report page.md": "no training run in nowhere yet",
    f"reproduce --only report --report {Path(__file__).parent}": "is a folder; name a file in it",
    "reproduce --dryrun": "did you mean --dry-run?",
    "sweep --out OUT": "the following arguments are required: --grid",
    "sweep --out OUT --grid model.heads=8 --on processes:0": "write processes:4 for four",
    "sweep --out OUT --grid model.heads=8 --on process:4x": "unknown workers 'process:4x'; there are processes:4,",
    "watch none": "none: no such folder",
    "watch .": "no training run, reproduction or sweep in",
    "serve --port 65536": "from 0 to 65535",
    "serve --port 0 --host 192.0.2.1": "cannot listen on port 0 of 192.0.2.1",
}


# Habits of other tools, things in the wrong place, and other names for what is there.
NATURAL = {
    "12+34": "write: gridsum solve 12+34",
    "base 12+34": "write: gridsum solve --model base 12+34",
    "solve 12+34 --verbose": "unknown option --verbose; see gridsum solve --help",
    "solve 5-3": "Differences are the task subtract",
    "evaluate --suite (2,15)": "did you mean '2x15'?",
    "solve 12+34 --device 0": "or cuda:0 for the first of several",
    "train --seed 3": "did you mean --seeds?",
    "train --precision bf16": "did you mean --training.precision?",
    "evaluate 2x15": "'2x15' is one argument too many; see gridsum evaluate --help",
    "evaluate --suite base": "'base' is a model, not a suite; name it with --model",
    "evaluate --samples 1e3": "'1e3' is not a whole number",
}


@pytest.mark.parametrize(("line", "told"), (OPTIONS | NATURAL).items())
def test_options(line: str, told: str, command: Command, here: Path):
    assert told in refused(command(*line.split()))
    assert list(here.iterdir()) == []


def test_a_device_that_is_not_there(command: Command, model: str):
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    assert "no 'cuda' can be used here, but cpu" in refused(
        command("solve", "1+1", "--model", model, "--device", "cuda")
    )


@pytest.mark.parametrize("name", ["uvicorn", "fastapi"])
def test_a_page_without_its_packages(name: str, command: Command, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "gridsum.serve.app", raising=False)
    monkeypatch.setitem(sys.modules, name, None)  # as if there were no such module
    told = refused(command("serve", "--port", "0"))
    assert f"the page needs {name}, which is not installed; pip install '.[serve]'" in told


@pytest.mark.parametrize("line", ["train --out {}", "evaluate --suite 2x2 --out {}", "figure steps --out {}.svg"])
def test_a_place_below_a_file_or_in_a_read_only_folder(line: str, command: Command, tmp_path: Path):
    (tmp_path / "file").write_text("here already")
    told = refused(command(*line.format(tmp_path / "file" / "below" / "deeper").split()))
    assert str(tmp_path / "file") in told
    assert "choose another place" in told
    assert (tmp_path / "file").read_text() == "here already"
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    if not os.access(locked, os.W_OK):  # unless whoever runs this may write anywhere
        assert str(locked) in refused(command(*line.format(locked / "below").split()))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk here that is always full")
def test_a_full_disk(command: Command, model: str):
    arguments = ["evaluate", "--model", model, "--suite", "2x2", "--samples", "2", "--out", "/dev/full"]
    status, out, err = command(*arguments)
    assert (status, out) == (2, "")
    told = f"gridsum: error: /dev/full: {os.strerror(errno.ENOSPC).lower()}; make room, or choose another place"
    assert told in err


def test_a_bug_keeps_its_traceback_and_too_little_memory_is_no_bug(command: Command, monkeypatch: pytest.MonkeyPatch):
    broken = mock.Mock(side_effect=ValueError("inside"))
    monkeypatch.setattr("gridsum.cli.models.shipped_rules", broken)
    with pytest.raises(ValueError, match="inside"):
        command("models")
    broken.side_effect = MemoryError()
    status, _, err = command("models")
    assert status == 1
    assert err.startswith("gridsum: error: there is not enough memory")
