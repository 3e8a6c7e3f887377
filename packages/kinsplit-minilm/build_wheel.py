"""Build the wheel of kinsplit-minilm from a copy of the model.

`python build_wheel.py SOURCE OUT`, where SOURCE is a wheel or a folder that holds the model's files (also further down,
as that of an installed package), and OUT is the folder for the wheel. It needs hatchling.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

#: sha256 of each file as its authors published it.
FILES = {
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
}
_HERE = Path(__file__).resolve().parent
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
