"""The built wheel alone, in an environment that has nothing but what it needs."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
_MOST_BYTES = 4.2 * 10**6
_OF_TORCH = ("torchgen", "functorch", "sympy", "mpmath", "fsspec", "networkx", "jinja2", "markupsafe")
_OF_TORCH += ("typing_extensions.py",)
_LIBRARIES = ("torch", *_OF_TORCH, "numpy", "numpy.libs", "safetensors", "filelock", "rich", "scipy", "scipy.libs")
"""What gridsum requires, and what that requires; nothing of the extras."""


@pytest.mark.slow
def test_the_wheel_works_in_a_bare_environment(tmp_path: Path):
    """Libraries come from this environment; gridsum itself from the wheel, and no checkout is in sight."""
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert len(list(tmp_path.glob("*.tar.gz"))) == 1
    assert wheel.stat().st_size <= _MOST_BYTES
    venv.create(tmp_path / "bare", with_pip=True)
    python = tmp_path / "bare" / "bin" / "python"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run([python, "-m", "pip", "install", "--no-deps", "--quiet", wheel], check=True, env=clean)
    import torch

    libraries = Path(torch.__file__).parents[1]
    (packages,) = (tmp_path / "bare" / "lib").glob("python*/site-packages")
    for name in _LIBRARIES:
        if (libraries / name).exists() and not (packages / name).exists():
            (packages / name).symlink_to(libraries / name)
    program = str(tmp_path / "bare" / "bin" / "gridsum")
    for arguments, said in (
        (["--version"], "gridsum "),
        (["solve", "58+67"], "125"),
        (["prove"], "Theorem"),
        (["solve", "--network", "58+67"], "125"),
        (["solve", "--model", "base", "58+67"], "125"),
        (["models"], "noGroups"),
        (["table", "baselines"], "reversed digits"),
        (["export", "--to", "hf", "SASA", "--out", "sasa"], "model.safetensors"),
        (["solve", "--model", "sasa", "58+67"], "125"),
    ):
        done = subprocess.run(
            [program, *arguments], cwd=tmp_path, env=clean, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert said in done.stdout + done.stderr
