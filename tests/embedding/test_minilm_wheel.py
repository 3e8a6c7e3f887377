"""The script that builds the wheel of kinsplit-minilm."""

import hashlib
import runpy
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="hatchling is not installed")
SCRIPT = Path(__file__).parents[2] / "packages" / "kinsplit-minilm" / "build_wheel.py"
CONTENT = {"model.safetensors": b"weights", "1_Pooling/config.json": b"{}"}


@pytest.fixture
def build():
    script = runpy.run_path(str(SCRIPT))
    files = script["FILES"]
    files.clear()
    files |= {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}
    return script["build"]


@pytest.mark.parametrize("packed", [False, True])
def test_the_wheel_holds_the_models_files_and_its_licence(build, tmp_path, packed):
    source = tmp_path / "source"
    for name, content in (CONTENT | {"README.md": b"not needed"}).items():
        (source / "package" / name).parent.mkdir(parents=True, exist_ok=True)
        (source / "package" / name).write_bytes(content)
    if packed:
        with zipfile.ZipFile(tmp_path / "any.whl", "w") as archive:
            for path in source.rglob("*"):
                archive.write(path, path.relative_to(source))
        source = tmp_path / "any.whl"
    with zipfile.ZipFile(build(source, tmp_path / "out")) as wheel:
        held = {name.removeprefix("kinsplit_minilm/") for name in wheel.namelist()}
        assert wheel.read("kinsplit_minilm/model/model.safetensors") == b"weights"
    assert {"__init__.py", "py.typed", *(f"model/{name}" for name in CONTENT)} <= held
    assert "model/README.md" not in held
    assert any(name.endswith("licenses/LICENSE") for name in held)


def test_other_files_are_refused(build, tmp_path):
    with pytest.raises(SystemExit, match=r"holds no model\.safetensors"):
        build(tmp_path, tmp_path / "out")
    (tmp_path / "model.safetensors").write_bytes(b"other")
    with pytest.raises(SystemExit, match="expected sha256"):
        build(tmp_path, tmp_path / "out")
