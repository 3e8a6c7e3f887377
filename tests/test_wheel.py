"""The wheel contains the package with the sample course, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import kinsplit

ROOT = Path(__file__).parent.parent
_EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    pytest.importorskip("hatchling", reason="building without a network needs hatchling in the environment")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_every_module_the_course_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    source = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "kinsplit").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    course = [*(ROOT / "examples" / "course").iterdir(), *(ROOT / "examples").glob("course_*.json*")]
    assert packed == source | {f"kinsplit/{path.relative_to(ROOT).as_posix()}" for path in course}
    assert "kinsplit/py.typed" in packed


def test_the_wheel_declares_its_command_and_extras(wheel: zipfile.ZipFile) -> None:
    info = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = wheel.read(info).decode()
    for extra in _EXTRAS:
        assert f"Provides-Extra: {extra}\n" in metadata
    entry_points = wheel.read(info.replace("METADATA", "entry_points.txt")).decode()
    assert "kinsplit = kinsplit.cli:main" in entry_points


def test_the_wheel_runs_as_a_module(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kinsplit", "--version"]
    environment = {**os.environ, "PYTHONPATH": str(wheel.filename)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == f"kinsplit {kinsplit.__version__}\n"
