"""The other packages: built like kinsplit itself; those for LangChain and LlamaIndex hold its names."""

from __future__ import annotations

import sys
import tomllib
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import kinsplit
from tests.snippets import ROOT

MODULES = {
    "langchain-kinsplit": ("langchain_kinsplit", "langchain"),
    "llama-index-node-parser-kinsplit": ("llama_index.node_parser.kinsplit", "llama_index"),
}


#: Requirements of kinsplit that the packages add to its name.
EXTRAS = {**{name: f"[{extra.replace('_', '-')}]" for name, (_, extra) in MODULES.items()}, "kinsplit-testing": ""}


def project(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize("name", MODULES)
def test_a_package_has_the_names_of_the_integration(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = pytest.importorskip("hatchling.build", reason="building without a network needs hatchling")
    module, integration = MODULES[name]
    monkeypatch.chdir(ROOT / "packages" / name)
    with zipfile.ZipFile(tmp_path / build.build_wheel(str(tmp_path))) as wheel:
        held = {file for file in wheel.namelist() if ".dist-info/" not in file}
        wheel.extractall(tmp_path / "installed")
    # LlamaIndex's namespace has no `__init__.py` of its own.
    folder = module.replace(".", "/")
    assert held == {f"{folder}/__init__.py", f"{folder}/py.typed"}

    monkeypatch.syspath_prepend(tmp_path / "installed")
    monkeypatch.delitem(sys.modules, module, raising=False)
    package, own = import_module(module), import_module(f"kinsplit.integrations.{integration}")
    monkeypatch.delitem(sys.modules, module)
    assert Path(package.__file__ or "") == tmp_path / "installed" / folder / "__init__.py"
    assert package.__all__ == own.__all__
    assert all(getattr(package, name) is getattr(own, name) for name in package.__all__)


def test_the_contract_of_stores_is_built_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = pytest.importorskip("hatchling.build", reason="building without a network needs hatchling")
    folder = ROOT / "packages" / "kinsplit-testing"
    monkeypatch.chdir(folder)
    with zipfile.ZipFile(tmp_path / build.build_wheel(str(tmp_path))) as wheel:
        held = {file for file in wheel.namelist() if ".dist-info/" not in file}
    assert held == {
        f"kinsplit_testing/{path.name}" for path in (folder / "kinsplit_testing").iterdir() if path.is_file()
    }


@pytest.mark.parametrize("name", EXTRAS)
def test_a_package_needs_the_version_of_kinsplit(name: str) -> None:
    own, whole = project(ROOT / "packages" / name), project(ROOT)
    major, minor, *_ = kinsplit.__version__.split(".")
    assert own["dependencies"][0] == f"kinsplit{EXTRAS[name]}>={major}.{minor},<{major}.{int(minor) + 1}"
    assert EXTRAS[name].strip("[]") in {"", *whole["optional-dependencies"]}
    assert own["version"] == whole["version"] == kinsplit.__version__
    assert own["requires-python"] == whole["requires-python"]
    assert (ROOT / "packages" / name / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
