"""Tests of configuration files and their errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinsplit import parsers
from kinsplit.errors import InvalidParameterError, LoadError
from kinsplit.indexing.configuration import Configuration, IndexSettings


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kinsplit.toml"


def test_everything_can_be_said(file: Path) -> None:
    file.write_text(
        '[index]\nstrategy = "hierarchical"\nembedder = "hash:8"\nembedding_context = "none"\nlanguage = "german"\n\n'
        '[index.parameters]\nparent_size = [900, 400]\nchild_size = 120\nunit = "word"\n'
    )
    index = Configuration.read(file).index
    strategy = parsers.create("hierarchical", parent_size=(900, 400), child_size=120, unit="word")
    assert index.splitter() == strategy
    assert (index.embedder, index.embedding_context, index.language) == ("hash:8", "none", "german")


def test_an_empty_file_says_nothing(file: Path) -> None:
    file.write_text("# all as usual\n")
    index = Configuration.read(file).index
    assert index == IndexSettings()
    assert index.splitter() is None


@pytest.mark.parametrize(
    ("text", "field", "rule"),
    [
        ("[serve]\nport = 1", "serve", "is not known here"),
        ("index = 3", "index", "must be"),
        ('[index]\nstrategie = "word"', "index.strategie", "is not known here"),
        ("[index]\nstrategy = 3", "index.strategy", "must be a valid string"),
        ('[index]\nstrategy = "words"', "index.strategy", "must be the name of a strategy"),
        ('[index]\nstrategy = "word"\nparameters = [1]', "index.parameters", "must be a valid dictionary"),
        ('[index]\nstrategy = "word"\n[index.parameters]\nsize = 3', "index.parameters.size", "is not a parameter of"),
        (
            '[index]\nstrategy = "word"\n[index.parameters]\nchunk_size = 5\nchunk_overlap = 5',
            "index.parameters.chunk_overlap",
            "must be smaller than chunk_size",
        ),
        ("[index.parameters]\nchunk_size = 5", "index.parameters", "need a strategy"),
        ('[index]\nembedder = "magic"', "index.embedder", "must be one of bundled"),
        ('[index]\nembedding_context = "early"', "index.embedding_context", "must be 'headings', 'none' or 'late'"),
        ('[index]\nlanguage = "klingon"', "index.language", "must name a known language"),
    ],
)
def test_a_mistake_is_named_with_file_field_and_rule(file: Path, text: str, field: str, rule: str) -> None:
    file.write_text(text)
    with pytest.raises(InvalidParameterError) as caught:
        Configuration.read(file)
    assert caught.value.field == f"{file}: {field}"
    assert caught.value.rule.startswith(rule)
    assert caught.value.remedy


def test_what_is_no_toml_is_told_with_the_place(file: Path) -> None:
    for data in (b"[index\n", b"\xff\xfe", b"x = " + b"[" * 3000):
        file.write_bytes(data)
        with pytest.raises(LoadError, match="is not valid TOML"):
            Configuration.read(file)


@pytest.mark.parametrize("name", [name for name in parsers.names() if name != "llm"])
def test_what_is_written_is_read_as_the_same(file: Path, name: str) -> None:
    strategy = parsers.create(name)
    index = IndexSettings(strategy=name, parameters=strategy.described, embedding_context="none", language="any")
    Configuration(index=index).write(file, 'Written by a test,\nfor "every" strategy.')
    again = Configuration.read(file).index
    assert again.splitter() == strategy
    assert (again.embedding_context, again.language, again.embedder) == ("none", "any", None)
    assert file.read_text().startswith('# Written by a test,\n# for "every" strategy.\n')
    Configuration(index=again).write(file)
    assert Configuration.read(file).index == again


def test_a_byte_order_mark_is_no_mistake(file: Path) -> None:
    file.write_bytes("\ufeff[index]\r\nstrategy = 'word'\r\n".encode())
    assert Configuration.read(file).index.strategy == "word"
