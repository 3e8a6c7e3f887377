"""The package stays easy to find one's way in; `python tests/structure.py` prints its numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.structure import Structure

ROOT = Path(__file__).parent.parent
#: Folders whose modules are entries of a registry or a list, one per file.
LISTS = {
    "kinsplit.cli.commands",
    "kinsplit.evaluation.datasets",
    "kinsplit.evaluation.measures",
    "kinsplit.language_models",
    "kinsplit.loaders.formats",
    "kinsplit.parsers.strategies",
    "kinsplit.retrieval.rerank",
    "kinsplit.server.middleware",
    "kinsplit.server.routes",
}
#: Names in -ing or -ed that are nouns of the field or of a framework.
NAMED_SO = {
    "kinsplit.answering.checking",
    "kinsplit.embedding.bundled",
    "kinsplit.integrations.shared",
}


#: Bars of the package's size. A change may lower them; one that raises them says by how much and why.
MODULES, CODE_LINES, LONGEST_MODULE = 405, 48_475, 500
#: Public class names that two modules use: those of the adapters for LangChain and LlamaIndex.
NAMESAKES = {"KinsplitRetriever", "KinsplitVectorStore", "Rerank", "SiblingExpansion"}


@pytest.fixture(scope="module")
def structure() -> Structure:
    return Structure(ROOT / "kinsplit")


def test_no_folder_has_too_many_siblings(structure: Structure) -> None:
    # The package itself contains all rooms.
    assert {name for name, count in structure.siblings.items() if count > 15} <= {"kinsplit", *LISTS}


def test_a_small_module_with_one_importer_lives_with_it(structure: Structure) -> None:
    small = {module.name for module in structure.single_importer if module.lines < 60 and module.room not in LISTS}
    assert small == set()


def test_no_modules_import_each_other(structure: Structure) -> None:
    assert structure.circles == []


def test_modules_are_named_by_nouns(structure: Structure) -> None:
    assert set(structure.participles) == NAMED_SO


def test_functions_are_short(structure: Structure) -> None:
    # A command's options are its parameters, each with its help.
    long = [name for name, _ in structure.long_functions if not name.startswith("kinsplit.cli.commands.")]
    assert long == []


def test_the_package_does_not_grow_unnoticed(structure: Structure) -> None:
    rows = dict(structure.rows())
    assert (rows["modules"] <= MODULES, rows["lines of code"] <= CODE_LINES) == (True, True), rows
    assert max(module.lines for module in structure.modules.values()) <= LONGEST_MODULE
    assert structure.namesakes.keys() == NAMESAKES


def test_a_module_docstring_names_a_thing(structure: Structure) -> None:
    for module in structure.modules.values():
        text = module.docstring
        assert not re.match(r"(What|How|Of|Told|Which|Where|When|Whether|Why)\b", text), f"{module.name}: {text[:60]}"


def test_a_circle_and_a_long_function_are_found(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "first.py").write_text("def far() -> None:\n    from package.second import x\n")
    (package / "second.py").write_text("from package import first\n\n\ndef long() -> None:\n" + "    first\n" * 60)
    (package / "making.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import package.first\n"
    )

    structure = Structure(package)

    assert structure.circles == [["package.first", "package.second"]]
    assert structure.long_functions == [("package.second.long", 61)]
    assert structure.participles == ["package.making"]
    assert {module.name for module in structure.single_importer} == {"package.first", "package.second"}
    assert dict(structure.rows())["modules"] == 4
    (package / "first.py").write_text('"""One.\n\nMore."""\n\n# Why.\n\n\nclass Same:\n    """Two."""\n\n    x = 1\n')
    (package / "making.py").write_text("class Same: ...\n\n\nclass _Same: ...\n")
    again = Structure(package)
    assert again.modules["package.first"].code == 2
    assert again.namesakes == {"Same": ["package.first", "package.making"]}
