"""A renamed strategy is also found by its former name, with one warning, and keeps its ids and collections."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kinsplit import Document, Index
from kinsplit.errors import KinsplitWarning
from kinsplit.evaluation.splitters.specs import from_spec
from kinsplit.evaluation.tuning.tune import _names
from kinsplit.identity import RENAMED
from kinsplit.indexing.configuration import Configuration
from kinsplit.integrations import langchain, llama_index
from kinsplit.parsers import RenamedStrategyWarning, Strategy, create, names, parameters, strategy_class
from kinsplit.parsers.reference import describe
from kinsplit.stores import open_store
from kinsplit.stores.engines.edge.folder import SCHEMA_FILE
from tests.cli.conftest import Cli, cli  # noqa: F401

TEXT = "# Cats\n\nCats purr. They sleep.\n\n# Dogs\n\nDogs bark. They run."
MESSAGE = 'The strategy "contextual" is now called "llm". Write "llm" instead.'


def named_once(act: Callable[[], Any]) -> Any:
    """Return a function's result, and check that it warns of the former name exactly once."""
    with pytest.warns(KinsplitWarning) as found:
        result = act()
    assert [(type(one.message), str(one.message)) for one in found] == [(RenamedStrategyWarning, MESSAGE)]
    return result


def strategy_of(file: Path, name: str) -> Strategy | None:
    file.write_text(f'[index]\nstrategy = "{name}"\nparameters.model = "none"\n')
    return Configuration.read(file).index.splitter()


def test_every_former_name_leads_to_a_strategy_of_today() -> None:
    assert set(RENAMED.values()) <= set(names())
    assert not set(RENAMED) & set(names())


def test_the_former_name_works_wherever_a_strategy_is_named(tmp_path: Path) -> None:
    made = create("llm", model="none")
    assert named_once(lambda: create("contextual", model="none")) == made
    assert named_once(lambda: strategy_class("contextual")) is type(made)
    assert named_once(lambda: parameters("contextual")) == parameters("llm")
    assert named_once(lambda: describe("contextual")) == describe("llm")
    assert named_once(lambda: from_spec("contextual:model=none")).strategy == made
    assert named_once(lambda: strategy_of(tmp_path / "kinsplit.toml", "contextual")) == made
    assert named_once(lambda: _names(["contextual", "word"], "hash")) == ["word", "llm"]


def test_the_former_name_works_in_both_frameworks() -> None:
    parser = named_once(lambda: llama_index.node_parser("contextual", model="none"))
    splitter = named_once(lambda: langchain.text_splitter("contextual", model="none"))
    assert type(parser) is llama_index.KinsplitLLMNodeParser
    assert type(splitter) is langchain.KinsplitLLMTextSplitter
    assert named_once(lambda: llama_index.__getattr__("KinsplitContextualNodeParser")) is type(parser)
    assert named_once(lambda: langchain.__getattr__("KinsplitContextualTextSplitter")) is type(splitter)
    assert not any("Contextual" in name for name in (*llama_index.__all__, *langchain.__all__))


def test_the_former_name_works_on_the_command_line(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "pets.md").write_text(TEXT)
    shown = cli("chunk", "pets.md", "--strategy", "contextual", "--set", "model=none")
    assert (shown.exit_code, shown.stderr) == (0, f"Warning: {MESSAGE}\n")
    today = cli("chunk", "pets.md", "--strategy", "llm", "--set", "model=none")
    assert (today.exit_code, today.stdout, today.stderr) == (0, shown.stdout, "")


def test_ids_are_those_of_the_former_name() -> None:
    # The fingerprint contains the former name.
    assert create("llm", model="none").fingerprint == "559257841538689d"
    chunks = create("llm", model="none", chunk_size=6).chunk(Document("pets.md", TEXT))
    assert [chunk.id for chunk in chunks] == [
        "8b55a5a3-9464-5ccb-a9b0-d32a5f334ece",
        "6c5fd8b9-8831-59bb-a481-4476f6989e75",
    ]


def test_a_collection_made_under_the_former_name_opens_and_nothing_is_embedded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, document = f"edge:{tmp_path}/data", Document("pets.md", TEXT)
    with monkeypatch.context() as before:
        before.delitem(RENAMED, "contextual")
        before.setattr(strategy_class("llm"), "name", "contextual")
        with Index(address, strategy=create("llm", model="none"), embedder="hash") as index:
            index.add(document)
    (file,) = tmp_path.glob(f"data/**/{SCHEMA_FILE}")
    assert json.loads(json.loads(file.read_text())["strategy"])["name"] == "contextual"

    with open_store(address, "default") as store:
        assert json.loads(store.schema.strategy)["name"] == "llm"
    for strategy, updated in ((None, 2), (create("llm", model="none"), 0)):
        with Index(address, strategy=strategy, embedder="hash") as index:
            assert index.strategy == create("llm", model="none")
            report = index.add(document)
            # Only the name in the payloads changes.
            assert (report.added, report.updated, report.deleted, report.embedded) == (0, updated, 0, 0)
