"""`gridsum page`, as a person gives it."""

from pathlib import Path

import pytest

from gridsum.cli import main


def test_it_writes_a_page_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "deep" / "site"
    assert main(["page", "--out", str(out), "--model", "exact"]) == 0
    told = capsys.readouterr().err
    assert told.startswith("gridsum: wrote ")
    assert told.endswith(f"open {out / 'index.html'}\n")
    for name in ("rule.js", "style.css", "preview.png"):
        assert (out / name).stat().st_size > 1000
    assert not (out / "docs.html").exists()
    assert not (out / "models").exists()
