"""Pieces on a cluster, and sweeps."""

import os
import pickle
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from gridsum.cli import main
from gridsum.config.fields import override
from gridsum.config.paper import Config, ConfigError
from gridsum.io.disk import locked
from gridsum.study.campaign import QUICK, Campaign, read_campaign, write_campaign
from gridsum.study.cluster import Cluster
from gridsum.study.pieces import Measure, further_pieces, pieces
from gridsum.study.processes import Processes
from gridsum.study.sweep import (
    Range,
    SweepError,
    configurations,
    drawn,
    grid,
    parse_axis,
    parse_range,
    read_sweep,
    sweep_pieces,
    write_sweep,
)
from gridsum.study.whereabouts import epochs_computed, sign, whereabouts
from gridsum.study.workers import WorkersError, do_piece
from gridsum.training.folders import FolderError
from tests.faults.nodes import TINY, killed_sweep
from tests.faults.trainings import PAPER, outcome


def wait_for_port(port: int) -> None:
    end = time.monotonic() + 600  # however busy the machine is
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert time.monotonic() < end, "the cluster did not come up"
            time.sleep(0.5)
        else:
            return


def test_every_combination_or_as_many_as_drawn():
    assert grid({"a": [1, 2], "b": ["x"]}) == [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}]
    ranges = {"training.learning_rate": Range(1e-4, 1e-2, True), "training.batch": Range(2, 9)}
    found = drawn(Config(), ranges, 20, 3)
    assert found == drawn(Config(), ranges, 20, 3) != drawn(Config(), ranges, 20, 4)
    assert all(1e-4 <= change["training.learning_rate"] <= 1e-2 for change in found)
    assert all(type(change["training.batch"]) is int for change in found)


def test_axes_and_ranges_are_read():
    assert parse_axis(Config(), "model.heads=8,64") == ("model.heads", ["8", "64"])
    assert parse_axis(Config(), "task.terms=1,4;1,6") == ("task.terms", ["1,4", "1,6"])
    assert parse_range(Config(), "training.clip=1:10:log") == ("training.clip", Range(1, 10, True))
    for text, message in (
        ("model.heads", "names no values"),
        ("model.haeds=8", "did you mean 'model.heads'"),
        ("model.heads=7", "does not divide"),
    ):
        with pytest.raises((SweepError, ConfigError), match=message):
            parse_axis(Config(), text)
    for text in ("training.clip=10:1", "training.clip=0:1:log", "training.clip=1", "training.clip=a:b"):
        with pytest.raises(SweepError, match=r"write FIELD|runs from"):
            parse_range(Config(), text)
    with pytest.raises(ConfigError, match="takes no number"):
        parse_range(Config(), "training.precision=1:2")


def test_a_sweep_says_what_it_is_and_is_not_mixed_with_another(tmp_path: Path):
    configs = configurations(PAPER, [{"training.learning_rate": 1e-3}, {"training.learning_rate": 2e-3}])
    assert list(configs) == ["0-learning_rate=0.001", "1-learning_rate=0.002"]
    write_sweep(tmp_path, configs, (1, 2))
    write_sweep(tmp_path, configs, (1, 2))
    assert read_sweep(tmp_path) == (configs, (1, 2))
    with pytest.raises(SweepError, match="another sweep"):
        write_sweep(tmp_path, configs, (1,))
    with pytest.raises(SweepError, match="1 to 10,000"):
        configurations(PAPER, [])


def test_a_sweep_on_this_machine_is_listed_and_its_status_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    arguments = ["--out", str(tmp_path / "s"), "--seeds", "0-1", "--grid", "training.learning_rate=1e-3,3e-4"]
    options = [*TINY, "--training.epochs", "1", "--device", "cpu", "--measure", "2x15", "--samples", "2"]
    assert main(["sweep", *arguments, *options]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["accuracy", "loss", "runs", "configuration"]
    assert len(out) == 3
    assert len((tmp_path / "s" / "records" / "0-learning_rate=1e-3.jsonl").read_text().splitlines()) == 2
    (tmp_path / "s" / "1-learning_rate=3e-4" / "config.json").unlink()
    assert main(["status", str(tmp_path / "s")]) == 0
    told = capsys.readouterr().out
    assert "train 1-learning_rate=3e-4" in told
    assert told.splitlines()[-1] == "1 done; 0 running; 0 waiting; 1 ready"
    assert main(["sweep", "--out", str(tmp_path / "t")]) == 2
    assert "say what to sweep over" in capsys.readouterr().err


def test_a_sweep_of_exact_lists_what_is_proved(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    fields = ["rule.width", "rule.hidden", "rule.placement_hidden"]
    small = [
        *(f"--{field}=8" for field in fields),
        "--rule.groups=2",
        "--discovery.batch=4",
        "--consolidation.rounds=1",
    ]
    small += [f"--phases.{name}.steps=1" for name in ("place", "soft", "anneal", "hard", "robust")]
    small += ["--consolidation.problems=10", "--consolidation.steps=1", "--consolidation.batch=4"]
    command = ["sweep", "--variant", "exact", "--out", str(tmp_path), "--grid", "rule.bits=2,3", *small]
    assert main([*command, "--device", "cpu"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["proved", "runs", "configuration"]
    assert sorted(line.split() for line in out[1:]) == [["0", "1", "0-bits=2"], ["0", "1", "1-bits=3"]]
    assert main(["status", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 done; 0 running; 0 waiting; 0 ready"
    assert main([*command, "--measure", "2x15"]) == 2
    assert "leave --measure out" in capsys.readouterr().err
    (tmp_path / "sweep.json").unlink()
    (tmp_path / "0-bits=2").rename(tmp_path / "exact")  # as the study of exact has it
    assert main(["status", str(tmp_path), "--all"]) == 0
    assert "train exact" in capsys.readouterr().out


def test_what_is_computed_twice_can_be_told(tmp_path: Path):
    piece = "train 0-learning_rate=0.001"
    for epochs in ((1, 2, 3), (3, 4)):
        with sign(tmp_path, piece) as shown:
            for epoch in epochs:
                shown.epoch(epoch, 4)
    assert epochs_computed(tmp_path, piece) == [1, 2, 3, 3, 4]
    assert epochs_computed(tmp_path, "train another") == []


def test_status_of_a_campaign(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    campaign = Campaign(tmp_path, ("SASA",), (0, 1), "fp32", QUICK)
    write_campaign(campaign)
    assert read_campaign(tmp_path) == campaign
    with sign(tmp_path, "train SASA") as told:
        told.tell(1, 2)
        assert main(["status", str(tmp_path), "--all"]) == 0
    out = capsys.readouterr().out
    assert f"(process {os.getpid()})" in out
    assert "waits for the training of SASA" in out
    assert whereabouts(tmp_path) == {}
    with pytest.raises(FolderError, match="neither a campaign nor a sweep"):
        read_campaign(tmp_path / "nowhere")


def test_measuring_is_parted_by_suite(tmp_path: Path):
    campaign = Campaign(tmp_path, ("SASA",), (0,), "fp32", QUICK)
    measures = [piece for piece in pieces(campaign) if isinstance(piece, Measure)]
    for piece in measures:
        parts = piece.parts()
        assert [part.name for part in parts] == [f"{piece.stage} SASA on {suite.name}" for suite in piece.collection]
        assert len({part.name for part in parts}) == len(parts) > 1


def test_a_piece_waits_for_a_folder_that_is_being_let_go_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (piece,) = sweep_pieces(tmp_path, {"one": PAPER}, (1,))
    waits = []
    held = locked(tmp_path / "one")

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        held.__exit__(None, None, None)

    held.__enter__()
    monkeypatch.setattr("gridsum.study.workers.time.sleep", sleep)
    do_piece(piece, tmp_path, None)
    assert len(waits) == 1
    assert piece.state().finished


def test_without_a_cluster_it_says_so():
    pytest.importorskip("ray")
    for address in ("127.0.0.1:1", "ray://127.0.0.1:1", "nonsense"):
        with pytest.raises(WorkersError, match="no cluster of Ray's at"):
            Cluster(address)


def test_a_cluster_that_does_not_come_up_is_told_of(monkeypatch: pytest.MonkeyPatch):
    ray = pytest.importorskip("ray")

    def too_busy(*_: object, **__: object) -> None:
        raise Exception("The current node timed out during startup.")  # as Ray does

    monkeypatch.setattr(ray, "init", too_busy)
    with pytest.raises(WorkersError, match="no cluster could be started here: The current node timed out"):
        Cluster("ray")


def test_processes_side_by_side_do_what_this_process_does(tmp_path: Path):
    configs = configurations(PAPER, grid({"training.learning_rate": [1e-3, 2e-3, 3e-3]}))
    told: list[str] = []
    with Processes(2) as processes:
        left = processes.run(sweep_pieces(tmp_path / "beside", configs, (1,)), tmp_path / "beside", None, told.append)
    assert left == []
    assert len(told) == 3
    for piece in sweep_pieces(tmp_path / "here", configs, (1,)):
        do_piece(piece, tmp_path / "here", None)
    for name in configs:
        assert outcome(tmp_path / "beside" / name) == outcome(tmp_path / "here" / name) != {}


def test_every_piece_can_be_sent_to_another_process(tmp_path: Path):
    campaign = Campaign(tmp_path, ("base", "fixedTime"), (0, 1), scale=QUICK)
    all_pieces = [*pieces(campaign), *further_pieces(campaign)]
    assert {type(piece).__name__ for piece in all_pieces} == {"Train", "Overtrain", "Measure"}
    for piece in all_pieces:
        assert pickle.loads(pickle.dumps(piece)).name == piece.name


def test_processes_are_stopped_with_their_driver_and_an_error_is_told(tmp_path: Path):
    class Enough(Exception):
        pass

    def enough() -> None:
        if whereabouts(tmp_path / "run"):  # it has begun
            raise Enough

    endless = configurations(override(PAPER, {"training.epochs": 10**6}), grid({}))
    with pytest.raises(Enough), Processes(1) as processes:
        processes.run(sweep_pieces(tmp_path / "run", endless, (1,)), tmp_path / "run", None, print, enough)
    (piece,) = sweep_pieces(tmp_path / "run", endless, (1,))
    with locked(piece.places()[0]):  # nobody holds it any more
        pass
    broken = configurations(PAPER, grid({}))
    (piece,) = sweep_pieces(tmp_path / "broken", broken, (1,))
    piece.places()[0].mkdir(parents=True)
    (piece.places()[0] / "config.json").write_text("{")
    with pytest.raises((ValueError, RuntimeError), match=r"config\.json"), Processes(1) as processes:
        processes.run([piece], tmp_path / "broken", None, print)


@pytest.mark.parametrize("kill", ["terminate", "kill"])
def test_a_process_that_is_killed_is_told_of(kill: str):
    with Processes(1) as processes:
        job = processes.call("the slow one", time.sleep, (60,))
        getattr(job.process, kill)()
        while not (done := processes.ended()):
            pass
        assert done == [job]
        with pytest.raises(WorkersError, match="the process that did the slow one ended with"):
            job.result()


@pytest.mark.parametrize("where", ["processes", "processes:", "processes:0", "processes:many"])
def test_how_many_processes_has_to_be_said(where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "sweep"
    assert main(["sweep", "--out", str(out), "--grid", "training.learning_rate=1e-3", "--on", where]) == 2
    assert "write processes:4 for four" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.slow
def test_a_local_cluster_does_what_this_process_does(tmp_path: Path):
    pytest.importorskip("ray")
    configs = configurations(PAPER, grid({"training.learning_rate": [1e-3, 2e-3]}))
    told: list[str] = []
    with Cluster("ray", cpus=2) as cluster:
        left = cluster.run(sweep_pieces(tmp_path / "ray", configs, (1, 2)), tmp_path / "ray", None, told.append)
    assert left == []
    assert len(told) == 2
    for piece in sweep_pieces(tmp_path / "here", configs, (1, 2)):
        do_piece(piece, tmp_path / "here", None)
    for name in configs:
        assert outcome(tmp_path / "ray" / name) == outcome(tmp_path / "here" / name)


@pytest.mark.slow
def test_a_cluster_that_runs_is_reached_by_either_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ray = Path(pytest.importorskip("ray").__file__).parents[4] / "bin" / "ray"
    for name, value in (("RAY_AUTH_MODE", "disabled"), ("RAY_USAGE_STATS_ENABLED", "0")):
        monkeypatch.setenv(name, value)
    with socket.socket() as one, socket.socket() as other:
        ports = [each.bind(("127.0.0.1", 0)) or each.getsockname()[1] for each in (one, other)]
    command = f"{ray} start --head --block --node-ip-address 127.0.0.1 --num-cpus 2 --include-dashboard false"
    command += f" --port {ports[0]} --ray-client-server-port {ports[1]} --temp-dir {tempfile.mkdtemp(dir='/tmp')}"
    with subprocess.Popen(command.split(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as head:
        try:
            wait_for_port(ports[1])
            for name, address in (("client", f"ray://127.0.0.1:{ports[1]}"), ("driver", f"127.0.0.1:{ports[0]}")):
                line = ["sweep", "--out", str(tmp_path / name), "--grid", "training.learning_rate=1e-3", *TINY]
                told = subprocess.run(
                    [sys.executable, "-m", "gridsum", *line, "--training.epochs", "1", "--on", address],
                    capture_output=True,
                    text=True,
                )
                assert told.returncode == 0, told.stderr
                assert "1 machines with 2 cores" in told.stderr
        finally:
            head.terminate()
    same = [outcome(tmp_path / name / "0-learning_rate=1e-3") for name in ("client", "driver")]
    assert same[0] == same[1] != {}


@pytest.mark.slow
@pytest.mark.parametrize("at_address", [False, True])
def test_nodes_workers_and_driver_are_killed_and_nothing_is_lost(at_address: bool, tmp_path: Path):
    pytest.importorskip("ray")
    ended = list(killed_sweep(tmp_path, 6, at_address=at_address))
    assert [lost for lost in ended if lost] == []
    assert len(ended) >= 4, "some kills came before the end"
