"""The tutorial: its cells run one after the other; with Jupyter's own machinery in the slow tests."""

import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parent.parent / "docs" / "tutorial.ipynb"


def test_the_cells_run():
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] for cell in cells), "it is kept without outputs"
    names: dict[str, object] = {}
    for cell in cells:
        exec(compile("".join(cell["source"]), "tutorial", "exec"), names)


@pytest.mark.slow
def test_jupyter_executes_it():
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(NOTEBOOK, 4)
    nbclient.NotebookClient(notebook, timeout=600).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/gif" in str(output.get("data", {}).get("text/html", "")) for output in shown), "the film"
