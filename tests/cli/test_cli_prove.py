"""`gridsum prove`: a theorem, or what fails and a sum to try."""

import dataclasses
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gridsum.automaton.run import solve
from gridsum.automaton.table import RuleTable
from gridsum.cli.prove import counterexample
from gridsum.config.exact import ExactConfig, RuleConfig
from gridsum.data.symbols import exact_sum, parse
from gridsum.model.rule import RuleNetwork
from gridsum.model.store import save_run
from tests.oracles.column_addition import carry_of, code, column_addition

Command = Callable[..., tuple[int, str, str]]


def forgetful() -> RuleTable:
    """Column addition that forgets the carry of 7 + 5."""
    steps = column_addition().steps.copy()
    for right in range(column_addition().outside + 1):
        if not carry_of(right):
            steps[7, :, right, code(5, 0)] = code(2, 0)
    return dataclasses.replace(column_addition(), steps=steps)


@pytest.fixture
def written(tmp_path: Path) -> Callable[[RuleTable], str]:
    def write(table: RuleTable) -> str:
        path = tmp_path / "rule.json"
        path.write_text(table.to_json())
        return str(path)

    return write


def test_a_table_that_adds_is_proved(written: Callable[[RuleTable], str], command: Command, tmp_path: Path):
    report = tmp_path / "proof.json"
    status, out, err = command("prove", "--table", written(column_addition()), "--out", str(report))
    assert (status, err) == (0, f"gridsum: wrote {report}\n")
    assert "The rule: every condition holds" in out
    assert "Theorem. For any number of terms N of at most D digits" in out
    assert "(21 codes of 6 bits) comes to rest" in out
    assert "fail" not in out
    kept = json.loads(report.read_text())
    assert kept["proved"] is True
    assert (kept["failures"], kept["codes"], kept["network"]) == ([], 21, {})
    assert kept["evaluations"] == 22 * kept["contexts"] > 0
    assert f"{kept['contexts']:,} contexts" in out


def test_a_table_that_does_not_add_is_not_proved(written: Callable[[RuleTable], str], command: Command):
    status, out, err = command("prove", "--table", written(forgetful()))
    assert (status, err) == (1, "")
    assert "Theorem" not in out
    assert "Not proved. The first conditions that fail:" in out
    assert re.search(r"^  digits: a cell with 7, .* below 6 goes to code 3, not to 2 with carry 1", out, re.MULTILINE)
    wrong = re.search(r"A sum that it gets wrong: (.*)", out)
    assert wrong is not None
    terms = parse(wrong[1])
    assert solve(forgetful(), terms).answer != exact_sum(terms)


def test_json_alone(written: Callable[[RuleTable], str], command: Command):
    status, out, err = command("prove", "--table", written(forgetful()), "--json")
    assert (status, err) == (1, "")
    kept = json.loads(out)
    assert kept["proved"] is False
    assert kept["failures"]


def test_no_wrong_sum_is_made_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gridsum.cli.prove._SEARCHED", 60)
    assert counterexample(column_addition()) is None
    assert counterexample(forgetful()) is not None


def test_an_edited_file_is_refused(written: Callable[[RuleTable], str], command: Command):
    path = Path(written(column_addition()))
    data = json.loads(path.read_text())
    data["reading"][3] = data["reading"][4]
    path.write_text(json.dumps(data))
    status, out, err = command("prove", "--table", str(path))
    assert (status, out) == (2, "")
    assert "rule.json: the rule was changed after it was written (its checksum differs)" in err


def test_a_network_of_vectors_cannot_be_proved(command: Command):
    status, out, err = command("prove", "--model", "base")
    assert (status, out) == (2, "")
    assert "base keeps vectors in its cells, not bits" in err
    assert "nothing be proved of all sums; name exact" in err


def test_a_run_of_ones_own(command: Command, tmp_path: Path):
    """Untrained, so not proved."""
    config = ExactConfig(rule=RuleConfig(bits=3, width=8, hidden=8, placement_hidden=8, groups=2))
    path = tmp_path / "seed-4" / "weights.safetensors"
    save_run(path, RuleNetwork(config.rule, [4]), 0, config, 4)
    status, out, err = command("prove", "--model", str(path.parent))
    assert (status, err) == (1, "")
    assert re.search(r"^The rule: \d+ conditions fail", out, re.MULTILINE)
    assert "The network" not in out
    assert "Theorem" not in out


def test_several_runs_are_not_one(command: Command, tmp_path: Path):
    config = ExactConfig(rule=RuleConfig(bits=3, width=8, hidden=8, placement_hidden=8, groups=2))
    for seed in (0, 1):
        save_run(tmp_path / f"seed-{seed}" / "weights.safetensors", RuleNetwork(config.rule, [seed]), 0, config, seed)
    status, out, err = command("prove", "--model", str(tmp_path))
    assert (status, out) == (2, "")
    assert f"{tmp_path} holds 2 trained seeds; name one of them, such as {tmp_path / 'seed-0'}" in err


def test_the_shipped_rule_is_proved_with_its_network(command: Command):
    status, out, err = command("prove")
    assert (status, err) == (0, "")
    assert "The rule: every condition holds" in out
    assert "Theorem." in out
    margins = re.findall(r"The network in float(?:32|64) does the same .* ([0-9.]+) from 0", out)
    assert len(margins) == 2
    assert all(float(margin) > 1 for margin in margins)


def test_a_table_is_proved_without_torch(written: Callable[[RuleTable], str], environment: dict[str, str]):
    name = written(column_addition())
    code_ = f"import sys\nfrom gridsum.cli import main\nassert main(['prove', '--table', {name!r}]) == 0\n"
    code_ += "assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code_], env=environment, check=True, capture_output=True)
