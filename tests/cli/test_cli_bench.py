"""`gridsum bench`."""

import json

from gridsum.cli import main

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


def test_bench_prints_and_keeps_every_figure(tmp_path, capsys):
    path = tmp_path / "bench.json"
    assert main(["bench", *LITTLE, "--json", str(path)]) == 0
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
    assert len(printed.splitlines()) == 8


def test_mistakes_are_answered(capsys, tmp_path):
    assert main(["bench", "--runs", "none"]) == 2
    assert "separated by commas" in capsys.readouterr().err
    assert main(["bench", "--variants", "bse"]) == 2
    assert "did you mean 'base'" in capsys.readouterr().err
    assert main(["bench", "--json", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err
