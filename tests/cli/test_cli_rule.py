"""`gridsum rule`: a rule as text, as a file and as a picture."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from gridsum.automaton.table import RuleTable
from tests.oracles.column_addition import column_addition, column_addition_in_other_codes, random_table

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def written(tmp_path: Path) -> str:
    path = tmp_path / "rule.json"
    path.write_text(column_addition().to_json())
    return str(path)


def test_a_person_sees_column_addition(written: str, command: Command):
    status, out, err = command("rule", "--table", written)
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines()[1:])) <= 80
    assert "21 codes of 6 bits" in out
    assert "Bit 5 is the carry" in out
    assert "This is column addition" in out
    lines = [line.split() for line in out.splitlines()]
    assert ["7", "010111", "110111"] in lines
    assert ["blank", "000000"] in lines
    for x in range(10):
        plain, carried = ([str(x + below + carry) for below in range(10)] for carry in (0, 1))
        assert [str(x), *plain, str(x), *carried] in lines
    assert ["+", "the", "start", "of", "a", "new", "top", "row"] in lines


def test_a_rule_that_does_not_add_is_not_called_addition(tmp_path: Path, command: Command):
    path = tmp_path / "rule.json"
    path.write_text(random_table(3, 0).to_json())
    status, out, _ = command("rule", "--table", str(path))
    assert status == 0
    assert "This is not column addition" in out
    assert "gridsum prove" not in out


def test_the_file_is_the_rule(written: str, tmp_path: Path, command: Command):
    copy = tmp_path / "copy.json"
    status, _, err = command("rule", "--table", written, "--out", str(copy))
    assert (status, err) == (0, f"gridsum: wrote {copy}\n")
    assert np.array_equal(RuleTable.from_json(copy.read_text()).steps, column_addition().steps)
    status, out, err = command("rule", "--table", written, "--json")
    assert (status, err) == (0, "")
    assert out == copy.read_text()


@pytest.mark.parametrize("table", [column_addition_in_other_codes(1), random_table(3, 0)])
def test_the_picture(table: RuleTable, tmp_path: Path, command: Command):
    path, picture = tmp_path / "rule.json", tmp_path / "rule.svg"
    path.write_text(table.to_json())
    assert command("rule", "--table", str(path), "--out", str(picture))[0] == 0
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


def test_what_cannot_be_shown_is_explained(written: str, tmp_path: Path, command: Command):
    status, out, err = command("rule", "--table", written, "--out", str(tmp_path / "rule.gif"))
    assert (status, out) == (2, "")
    assert ".svg, .png or .pdf" in err
    status, out, err = command("rule", "--table", str(tmp_path / "none.json"))
    assert (status, out) == (2, "")
    assert "none.json" in err
    status, _, err = command("rule", "--table", written, "--model", "base")
    assert status == 2
    assert "not allowed with" in err


def test_an_edited_file_is_refused(written: str, command: Command):
    data = json.loads(Path(written).read_text())
    data["reading"][3] = data["reading"][4]
    Path(written).write_text(json.dumps(data))
    status, out, err = command("rule", "--table", written)
    assert (status, out) == (2, "")
    assert "rule.json: the rule was changed after it was written (its checksum differs)" in err


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{}", b"[1, 2]"])
def test_what_is_no_rule_is_refused(content: bytes, tmp_path: Path, command: Command):
    path = tmp_path / "rule.json"
    path.write_bytes(content)
    status, out, err = command("rule", "--table", str(path))
    assert (status, out) == (2, "")
    assert "gridsum rule --out FILE" in err


def test_a_model_of_vectors_has_no_rule(model: str, command: Command):
    status, out, err = command("rule", "--model", model)
    assert (status, out) == (2, "")
    assert "keeps vectors in its cells, not bits: what it does in a cell is no finite table, so no rule can" in err


def test_a_rule_from_a_file_needs_no_torch(written: str, environment: dict[str, str]):
    code = f"import sys\nfrom gridsum.cli import main\nassert main(['rule', '--table', {written!r}]) == 0\n"
    code += "assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True)
