"""`gridsum page`, as a person gives it."""

from pathlib import Path

import pytest

from gridsum.cli import main


def test_it_writes_a_page_that_knows_its_address(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "deep" / "site"
    assert main(["page", "--out", str(out), "--model", "exact", "--address", "https://example.org/sums/"]) == 0
    told = capsys.readouterr().err
    assert told.startswith("gridsum: wrote ")
    assert told.endswith(f"open {out / 'index.html'}\n")
    page = (out / "index.html").read_text()
    assert '<meta property="og:image" content="https://example.org/sums/preview.png">' in page
    for name in ("rule.js", "style.css", "preview.png"):
        assert (out / name).stat().st_size > 1000
    assert not (out / "docs.html").exists()
    assert not (out / "models").exists()
