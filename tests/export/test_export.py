"""Models for other programs: what is written is read again, and says what it is."""

import json
from pathlib import Path

import pytest
import torch

import gridsum
from gridsum.api.models import ModelError
from gridsum.cli import main
from gridsum.exporting import graphs
from gridsum.exporting.graphs import ExportError, compare, write_graphs
from gridsum.io.names import MODELS


@pytest.mark.parametrize("name", ["exact", "fixedTime"])
def test_a_hub_folder_loads_again(name: str, tmp_path: Path):
    assert main(["export", name, "--to", "hf", "--out", str(tmp_path)]) == 0
    again, before = gridsum.load(tmp_path), gridsum.load(name)
    assert again.solve("58+67").answer == before.solve("58+67").answer
    for key, value in before.network.state_dict().items():
        assert torch.equal(value, again.network.state_dict()[key])
    assert {path.suffix for path in tmp_path.iterdir()} <= {".md", ".json", ".safetensors"}, "never a pickle"
    config = json.loads((tmp_path / "config.json").read_text())
    assert (config["model_type"], config["variant"]) == ("gridsum", name)
    card = (tmp_path / "README.md").read_text()
    assert card.startswith("---\nlicense: mit\nlibrary_name: gridsum\n")
    assert "**Scores**" in card
    assert f"Use it for {MODELS[name]}" in card


def test_the_json_of_a_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["export", "exact", "--to", "json", "--out", str(tmp_path / "rule.json")]) == 0
    model = gridsum.load(tmp_path / "rule.json")
    exported, shipped = model.table, gridsum.load("exact").table  # type: ignore[attr-defined]
    assert exported.to_json() == shipped.by_reading().to_json()
    assert model.solve("58+67") == "125"
    assert model.trace("58+67").text == gridsum.trace("58+67").text
    with pytest.raises(ModelError, match="a rule without its network"):
        model.solve("58+67", network=True)
    assert main(["export", "base", "--to", "json", "--out", str(tmp_path / "none.json")]) == 2
    assert "no finite table describes it" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["base", "fixedTime", "exact"])
def test_graphs_compute_what_torch_does(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Each is compared on grids of several sizes before it is kept; of a changed network nothing is."""
    network = gridsum.load(name).network
    written = write_graphs(network, tmp_path)
    assert [path.name for path in written] == ["input.onnx", "step.onnx"]
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with torch.no_grad():
        network.embedding.weight.add_(1)
    monkeypatch.setattr(graphs, "compare", lambda module, _, inputs: compare(module, before[written[0]], inputs))
    with pytest.raises(ExportError, match="differs from torch"):
        write_graphs(network, tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
