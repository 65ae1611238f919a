"""`gridsum bench`."""

import errno
import json
import os
from functools import partial

from gridsum.benchmark.measures import throughput
from gridsum.cli import main
from gridsum.config.fields import override
from gridsum.config.variants import variant

LITTLE = [
    "--variants",
    "fixedTime",
    "--runs",
    "1",
    "--steps",
    "1",
    "--digits",
    "10,40",
    "--terms",
    "2,4",
    "--device",
    "cpu",
]


def test_bench_prints_and_keeps_every_figure(tmp_path, capsys, monkeypatch):
    little = {"training.batch": 4, "model.fixed_steps": 2}
    monkeypatch.setattr("gridsum.config.variants.variant", lambda name: override(variant(name), little))
    monkeypatch.setattr("gridsum.benchmark.measures.product_rate", lambda *_: 1e11)
    monkeypatch.setattr("gridsum.benchmark.measures.throughput", partial(throughput, problems=4))
    path, picture = tmp_path / "bench.json", tmp_path / "bench.svg"
    assert main(["bench", *LITTLE, "--out", str(path), "--figure", str(picture)]) == 0
    printed = capsys.readouterr().out
    data = json.loads(path.read_text())
    assert [record["measure"] for record in data["records"]] == [
        "training",
        *["solving"] * 4,
        "throughput",
        "exponent",
        "exponent",
    ]
    assert "CPU" in data["device"]
    lines, shown = printed.split("\n\n", 1)
    assert len(lines.splitlines()) == 8
    assert "fixedTime" in shown
    assert "2 × 40" in shown
    assert picture.read_text().startswith("<?xml")

    assert main(["bench", "--from", str(path)]) == 0
    assert capsys.readouterr().out.strip() == shown.strip(), "what was kept is shown as what was measured"
    assert main(["bench", "--from", str(path), "--markdown"]) == 0
    assert "| fixedTime | 1 " in capsys.readouterr().out


def test_what_was_measured_is_kept_when_the_rest_is_broken_off(tmp_path, monkeypatch):
    def one_and_no_more(*_arguments):
        yield {"measure": "exponent", "of": "seconds per step against digits", "value": 1.0}
        raise KeyboardInterrupt

    monkeypatch.setattr("gridsum.benchmark.measures.all_measures", one_and_no_more)
    assert main(["bench", *LITTLE, "--out", str(tmp_path / "bench.json")]) == 130
    assert len(json.loads((tmp_path / "bench.json").read_text())["records"]) == 1


def test_memory_is_left_out_where_the_system_does_not_tell(monkeypatch, capsys):
    measured = {
        "measure": "training",
        "variant": "fixedTime",
        "precision": "fp32",
        "runs": 1,
        "weights": "random",
        "ms_per_step": 5.0,
        "ms_per_step_and_run": 5.0,
        "recurrent_steps_computed": 12.0,
        "start_up_seconds": 1.0,
        "peak_gigabytes": None,
        "operations_per_step": 1e10,
        "share_of_product_rate": 0.05,
    }
    monkeypatch.setattr("gridsum.benchmark.measures.all_measures", lambda *_: iter([measured]))
    assert main(["bench", *LITTLE]) == 0
    line, _ = capsys.readouterr().out.split("\n", 1)
    assert line.endswith("12.0 recurrent steps,  5.0 % of the product rate")


def test_mistakes_are_answered(capsys, tmp_path):
    assert main(["bench", "--runs", "none"]) == 2
    assert "separated by commas" in capsys.readouterr().err
    assert main(["bench", "--variants", "bse"]) == 2
    assert "did you mean 'base'" in capsys.readouterr().err
    assert main(["bench", "--out", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err
    assert main(["bench", "--from", str(tmp_path / "none.json")]) == 2
    assert os.strerror(errno.ENOENT) in capsys.readouterr().err
    (tmp_path / "other.json").write_text("{}")
    assert main(["bench", "--from", str(tmp_path / "other.json")]) == 2
    assert "gridsum bench --out" in capsys.readouterr().err
    assert main(["bench", "--from", str(tmp_path / "other.json"), "--out", "x.json"]) == 2
    assert "leave out --out" in capsys.readouterr().err
    assert main(["bench", "--figure", "bench.gif"]) == 2
    assert ".svg" in capsys.readouterr().err
