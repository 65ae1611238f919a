"""Weights packed as the wheel carries them: the same tensors, the same refusals, and no more bytes than are sound."""

from pathlib import Path

import pytest
import torch

from gridsum.io import packed
from gridsum.model import store
from gridsum.model.store import StoreError, load, load_runs, shipped


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "base.safetensors.xz"
    path.write_bytes(packed.pack(shipped()["base"].read_bytes()))
    return path


def test_the_same_is_read(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    plain, exact = load("base"), shipped()["exact"]
    (tmp_path / "exact.safetensors.xz").write_bytes(packed.pack(exact.read_bytes()))
    assert packed.content(base) == shipped()["base"].read_bytes()
    assert base.stat().st_size < 0.85 * len(packed.content(base))
    monkeypatch.setattr(store, "SHIPPED", tmp_path)
    assert {name: path.name for name, path in shipped().items()} == {
        name: f"{name}.safetensors.xz" for name in ("exact", "base")
    }
    found = load("base")
    assert (found.config, found.seeds) == (plain.config, plain.seeds)
    for name, tensor in found.network.state_dict().items():
        assert torch.equal(tensor, plain.network.state_dict()[name])
    assert load("exact").seeds == load_runs("exact", [exact]).seeds


def test_a_harmed_file_is_refused(base: Path):
    whole = base.read_bytes()
    flipped = bytearray(whole)
    flipped[-1000] ^= 4
    for content, message in (
        (whole[:-100], "not a whole packed file"),
        (b"", "not a whole packed file"),
        (b"PK\x03\x04 this is a zip file, or says so", "not a whole packed file"),
        (packed.pack(b"no tensors at all"), "not a whole safetensors file"),
        (bytes(flipped), "not a whole packed file"),
    ):
        base.write_bytes(content)
        with pytest.raises(StoreError, match=message):
            load(str(base))


def test_it_unpacks_to_so_much_and_no_more(base: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(packed, "_MOST_BYTES", 10**6)
    base.write_bytes(packed.pack(bytes(2 * 10**6)))
    with pytest.raises(StoreError, match="not a whole packed file"):
        load(str(base))
