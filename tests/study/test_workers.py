"""Jobs by several workers at once: processes of this machine, and clusters."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from unittest import mock

import pytest

from gridsum.cli import main
from gridsum.config.fields import override
from gridsum.io.disk import locked
from gridsum.study.sweep import sweep_jobs
from gridsum.study.workers import WorkersError, cluster, do_job, processes, run_by
from gridsum.training.folders import append_metrics, create
from tests.children import Beside, wait_until
from tests.faults.nodes import TINY, computed_again, kept_logs, killed_sweep, workers_in
from tests.faults.trainings import PAPER, outcome

PATIENCE = 600
pytestmark = pytest.mark.timeout(3 * PATIENCE)  # each process loads torch again, however busy the machine is
ENDLESS = override(PAPER, {"training.epochs": 10**6})
RATES = {"training.learning_rate": [1e-3, 2e-3]}


def listens(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def test_who_trains_is_watched(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for name, epochs in (("begun", 0), ("half", 1), ("stopped", 2)):
        create(tmp_path / name, PAPER, (1,))
        for epoch in range(1, epochs + 1):
            append_metrics(tmp_path / name, 1, {"epoch": epoch, "held_out": 0.25, "seconds": 300.0})
    with locked(tmp_path / "begun"), locked(tmp_path / "half"):
        assert main(["watch", str(tmp_path)]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if " of 3" in line}
    me = f"process {os.getpid()} on {socket.gethostname()}"
    assert lines["begun"].endswith(me)
    assert lines["half"].endswith(f"{me}, about 10 min left")
    assert lines["stopped"].endswith("not running")


def test_a_job_waits_for_a_folder_that_is_being_let_go_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (job,) = sweep_jobs(PAPER, {}, (1,))
    waits = []
    held = locked(tmp_path / "0")

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        held.__exit__(None, None, None)

    held.__enter__()
    monkeypatch.setattr("gridsum.study.workers.time.sleep", sleep)
    do_job(job, tmp_path, None)
    assert len(waits) == 1
    assert job.state(tmp_path).finished


@pytest.mark.parametrize(
    "workers",
    [partial(processes, 2), pytest.param(partial(cluster, "ray", cpus=2), marks=pytest.mark.slow)],
    ids=["processes", "ray"],
)
def test_workers_side_by_side_do_what_this_process_does_and_an_error_is_told(workers, tmp_path: Path):
    if workers.func is cluster:
        pytest.importorskip("ray")
    told: list[str] = []
    broken = tmp_path / "broken" / "0"
    broken.mkdir(parents=True)
    (broken / "config.json").write_text("{")
    with workers() as submit:
        assert run_by(submit, sweep_jobs(PAPER, RATES, (1, 2)), tmp_path / "beside", None, told.append) == []
        with pytest.raises((ValueError, RuntimeError), match=r"config\.json"):
            run_by(submit, sweep_jobs(PAPER, {}, (1,)), tmp_path / "broken", None, print)
    assert len(told) == 2
    for job in sweep_jobs(PAPER, RATES, (1, 2)):
        do_job(job, tmp_path / "here", None)
        name = job.training.name
        assert outcome(tmp_path / "beside" / name) == outcome(tmp_path / "here" / name) != {}


@contextmanager
def beside(look: Callable[[], bool]) -> Iterator[None]:
    """Look again and again in a thread, until there is nothing more to look for."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.05) and look():
            pass

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_processes_are_stopped_with_their_driver(tmp_path: Path):
    def interrupt() -> bool:
        if kept_logs(tmp_path / "run"):
            os.kill(os.getpid(), signal.SIGINT)
            return False
        return True

    (job,) = sweep_jobs(ENDLESS, {}, (1,))
    with pytest.raises(KeyboardInterrupt), processes(1) as submit, beside(interrupt):
        run_by(submit, [job], tmp_path / "run", None, print)
    with locked(tmp_path / "run" / job.training.name):  # nobody holds it any more
        pass


def test_processes_end_with_a_driver_that_is_killed(tmp_path: Path):
    """Nobody tells them; and the same command goes on at once."""

    def drive() -> None:
        with processes(1) as submit:
            run_by(submit, sweep_jobs(ENDLESS, {}, (1,)), tmp_path, None)

    driver = Beside(drive)
    try:
        wait_until(lambda: bool(kept_logs(tmp_path)), PATIENCE)
    finally:
        driver.end()
    wait_until(lambda: not workers_in(tmp_path), PATIENCE)  # else it trains on as an orphan
    assert list(tmp_path.glob("0/checkpoint*"))


def test_after_a_process_was_killed_the_same_command_goes_on(tmp_path: Path):
    kept: list[dict[Path, bytes]] = []

    def kill() -> bool:
        logs, workers = kept_logs(tmp_path), workers_in(tmp_path)
        if not workers or logs in ({}, *kept):  # it is killed when it has done something
            return True
        kept.append(logs)
        os.kill(workers[0], signal.SIGKILL)
        return False

    for _ in range(2):
        with pytest.raises(WorkersError, match="the same command goes on"), processes(1) as submit, beside(kill):
            run_by(submit, sweep_jobs(ENDLESS, {}, (1,)), tmp_path, None, print)
    assert len(kept) == 2
    assert computed_again(kept) == [], "it went on where it had been stopped"


def test_without_a_cluster_it_says_so(monkeypatch: pytest.MonkeyPatch):
    ray = pytest.importorskip("ray")
    for address in ("127.0.0.1:1", "ray://127.0.0.1:1", "nonsense"):
        with pytest.raises(WorkersError, match="no cluster of Ray's at"), cluster(address):
            pass
    too_busy = Exception("The current node timed out during startup.")  # as Ray does
    monkeypatch.setattr(ray, "init", mock.Mock(side_effect=too_busy))
    with pytest.raises(WorkersError, match="could be started here: The current node timed out"), cluster("ray"):
        pass


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
            wait_until(lambda: listens(ports[1]), PATIENCE)
            for name, address in (("client", f"ray://127.0.0.1:{ports[1]}"), ("driver", f"127.0.0.1:{ports[0]}")):
                line = ["sweep", "--out", str(tmp_path / name), "--grid", "training.learning_rate=1e-3", *TINY]
                told = subprocess.run(
                    [sys.executable, "-m", "gridsum", *line, "--training.epochs", "1", "--on", address],
                    capture_output=True,
                    text=True,
                )
                assert told.returncode == 0, told.stderr
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
