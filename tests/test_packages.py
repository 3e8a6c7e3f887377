"""The packages for LangChain and LlamaIndex: built like kinsplit itself, and holding its names."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import kinsplit
from tests.snippets import ROOT

MODULES = {
    "langchain-kinsplit": ("langchain_kinsplit", "langchain"),
    "llama-index-node-parser-kinsplit": ("llama_index.node_parser.kinsplit", "llama_index"),
}


def project(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize("name", MODULES)
def test_a_package_has_the_names_of_the_integration(name: str, tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="building without a network needs hatchling in the environment")
    module, integration = MODULES[name]
    build = f"import hatchling.build; hatchling.build.build_wheel({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=ROOT / "packages" / name, check=True, capture_output=True)
    (path,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        held = {file for file in wheel.namelist() if ".dist-info/" not in file}
        wheel.extractall(tmp_path / "installed")
    # LlamaIndex's namespace has no `__init__.py` of its own.
    folder = module.replace(".", "/")
    assert held == {f"{folder}/__init__.py", f"{folder}/py.typed"}

    code = (
        f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(tmp_path / 'installed')!r}]\n"
        f"import {module} as package; from kinsplit.integrations import {integration} as integration\n"
        "assert package.__file__.startswith(sys.path[1])\n"
        "assert package.__all__ == integration.__all__\n"
        "print(all(getattr(package, name) is getattr(integration, name) for name in package.__all__))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert (done.stdout.strip(), done.stderr) == ("True", "")


@pytest.mark.parametrize("name", MODULES)
def test_a_package_needs_the_extra_and_the_version_of_kinsplit(name: str) -> None:
    own, whole = project(ROOT / "packages" / name), project(ROOT)
    extra = MODULES[name][1].replace("_", "-")
    major, minor, *_ = kinsplit.__version__.split(".")
    assert own["dependencies"] == [f"kinsplit[{extra}]>={major}.{minor},<{major}.{int(minor) + 1}"]
    assert extra in whole["optional-dependencies"]
    assert own["version"] == whole["version"] == kinsplit.__version__
    assert own["requires-python"] == whole["requires-python"]
    assert (ROOT / "packages" / name / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
