"""Jobs by several workers at once: processes of this machine, and clusters."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from gridsum.cli import main
from gridsum.config.fields import override
from gridsum.io.disk import LockedError, locked
from gridsum.study.heartbeat import heartbeat, last_beats, tell_state
from gridsum.study.reproduction import Reproduction
from gridsum.study.sweep import configurations, grid, sweep_jobs
from gridsum.study.workers import WorkersError, cluster, do_job, processes, run_by
from tests.children import Beside
from tests.faults.nodes import TINY, epochs_computed, killed_sweep
from tests.faults.trainings import PAPER, outcome

ENDLESS = configurations(override(PAPER, {"training.epochs": 10**6}), grid({}))


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


def test_a_reproduction_is_watched(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for job in Reproduction(("SASA",), (0, 1), quick=True).jobs():
        tell_state(tmp_path, job)
    with heartbeat(tmp_path, "train SASA") as beat:
        beat(1, 2, "")
        assert main(["watch", str(tmp_path), "--all"]) == 0
    out = capsys.readouterr().out
    assert f"(process {os.getpid()})" in out
    assert "waits for the training of SASA" in out
    assert not last_beats(tmp_path)["train SASA"].current


def test_a_job_waits_for_a_folder_that_is_being_let_go_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (job,) = sweep_jobs({"one": PAPER}, (1,))
    waits = []
    held = locked(tmp_path / "one")

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        held.__exit__(None, None, None)

    held.__enter__()
    monkeypatch.setattr("gridsum.study.workers.time.sleep", sleep)
    do_job(job, tmp_path, None)
    assert len(waits) == 1
    assert job.state(tmp_path).finished


def test_processes_side_by_side_do_what_this_process_does(tmp_path: Path):
    configs = configurations(PAPER, grid({"training.learning_rate": [1e-3, 2e-3]}))
    told: list[str] = []
    with processes(2) as workers:
        assert run_by(workers, sweep_jobs(configs, (1,)), tmp_path / "beside", None, told.append) == []
    assert len(told) == 2
    for job in sweep_jobs(configs, (1,)):
        do_job(job, tmp_path / "here", None)
    for name in configs:
        assert outcome(tmp_path / "beside" / name) == outcome(tmp_path / "here" / name) != {}


def _working(folder: Path) -> bool:
    return any(beat.current and beat.done for beat in last_beats(folder).values())


def test_processes_are_stopped_with_their_driver_and_an_error_is_told(tmp_path: Path):
    class Enough(Exception):
        pass

    def enough() -> None:
        if _working(tmp_path / "run"):
            raise Enough

    (job,) = sweep_jobs(ENDLESS, (1,))
    with pytest.raises(Enough), processes(1) as workers:
        run_by(workers, [job], tmp_path / "run", None, print, enough)
    with locked(tmp_path / "run" / job.training.name):  # nobody holds it any more
        pass
    broken = tmp_path / "broken" / job.training.name
    broken.mkdir(parents=True)
    (broken / "config.json").write_text("{")
    with pytest.raises((ValueError, RuntimeError), match=r"config\.json"), processes(1) as workers:
        run_by(workers, [job], tmp_path / "broken", None, print)


def test_processes_end_with_a_driver_that_is_killed(tmp_path: Path):
    """Nobody tells them; and the same command goes on at once."""

    def drive() -> None:
        with processes(1) as workers:
            run_by(workers, sweep_jobs(ENDLESS, (1,)), tmp_path, None, lambda _: None)

    driver = Beside(drive)
    try:
        end = time.monotonic() + 120
        while not _working(tmp_path):
            assert time.monotonic() < end
            time.sleep(0.1)
    finally:
        driver.signal(signal.SIGKILL)
        driver.end()
    place, end = tmp_path / next(iter(ENDLESS)), time.monotonic() + 60
    while True:
        try:
            with locked(place):
                break
        except LockedError:
            assert time.monotonic() < end, "it trains on as an orphan"
            time.sleep(0.1)
    assert list(place.glob("checkpoint*"))


def test_a_process_that_is_killed_is_followed_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gridsum.study.workers._TRIES", 2)
    killed: set[int] = set()

    def kill() -> None:
        for beat in last_beats(tmp_path).values():
            if beat.current and beat.done and beat.process not in killed:
                killed.add(beat.process)
                os.kill(beat.process, signal.SIGKILL)

    said = "the process that did train 0 was killed 2 times; the same command goes on"
    with pytest.raises(WorkersError, match=said), processes(1) as workers:
        run_by(workers, sweep_jobs(ENDLESS, (1,)), tmp_path, None, print, kill)
    assert len(killed) == 2
    epochs = epochs_computed(tmp_path, "train 0")
    assert len(epochs) - len(set(epochs)) <= 2, "each went on where the one before it stopped"


def test_without_a_cluster_it_says_so(monkeypatch: pytest.MonkeyPatch):
    ray = pytest.importorskip("ray")
    for address in ("127.0.0.1:1", "ray://127.0.0.1:1", "nonsense"):
        with pytest.raises(WorkersError, match="no cluster of Ray's at"), cluster(address):
            pass

    def too_busy(*_: object, **__: object) -> None:
        raise Exception("The current node timed out during startup.")  # as Ray does

    monkeypatch.setattr(ray, "init", too_busy)
    with pytest.raises(WorkersError, match="could be started here: The current node timed out"), cluster("ray"):
        pass


@pytest.mark.slow
@pytest.mark.timeout(3600)  # however busy the machine is
def test_a_local_cluster_does_what_this_process_does(tmp_path: Path):
    pytest.importorskip("ray")
    configs = configurations(PAPER, grid({"training.learning_rate": [1e-3, 2e-3]}))
    told: list[str] = []
    with cluster("ray", cpus=2) as workers:
        assert run_by(workers, sweep_jobs(configs, (1, 2)), tmp_path / "ray", None, told.append) == []
        broken = tmp_path / "broken" / "0"
        broken.mkdir(parents=True)
        (broken / "config.json").write_text("{")
        with pytest.raises(ValueError, match=r"config\.json"):
            run_by(workers, sweep_jobs(ENDLESS, (1,)), tmp_path / "broken", None, print)
    assert len(told) == 2
    for job in sweep_jobs(configs, (1, 2)):
        do_job(job, tmp_path / "here", None)
    for name in configs:
        assert outcome(tmp_path / "ray" / name) == outcome(tmp_path / "here" / name)


@pytest.mark.slow
@pytest.mark.timeout(3600)  # however busy the machine is
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
@pytest.mark.timeout(3600)  # however busy the machine is
def test_nodes_workers_and_driver_are_killed_and_nothing_is_lost(tmp_path: Path):
    pytest.importorskip("ray")
    ended = list(killed_sweep(tmp_path, 6))
    assert [lost for lost in ended if lost] == []
    assert len(ended) >= 4, "some kills came before the end"
