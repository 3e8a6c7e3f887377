from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kinsplit.chunk import Document
from kinsplit.errors import InvalidParameterError, MissingExtraError
from kinsplit.evaluation.splitters.foreign import ForeignPiece, ForeignStrategy, UnlocatedWarning, configuration, locate
from kinsplit.evaluation.splitters.specs import as_strategy, from_spec, spec_of
from kinsplit.parsers import create, default_strategy
from kinsplit.spans import Span

TEXT = "Cats sleep. They dream.\n\nDogs run. Dogs bark.\n\n\tBirds  sing in the morning, and at night they sleep."


class Both(NamedTuple):
    text: str
    start: int
    end: int


def spans(splitter: Any, text: str = TEXT) -> list[str]:
    return [text[s.start : s.end] for s in as_strategy(splitter).split(text)]


# Location of chunks


def test_repeated_text_is_found_once_for_each_chunk() -> None:
    found, lost = locate("No. No. No.", [ForeignPiece("No.")] * 3)

    assert found == [(0, 3), (4, 7), (8, 11)]
    assert lost == []


def test_offsets_that_name_one_place_for_several_chunks_are_trusted_once() -> None:
    found, _ = locate("No. No. No.", [ForeignPiece("No.", 0, 3)] * 3)

    assert found == [(0, 3), (4, 7), (8, 11)]


def test_more_chunks_than_places_are_kept_where_the_text_is() -> None:
    assert locate("No. No.", [ForeignPiece("No.")] * 3)[0] == [(0, 3), (0, 3), (4, 7)]


def test_offsets_are_trusted_only_where_they_are_true() -> None:
    text = "one two one two"

    assert locate(text, [ForeignPiece("two", 12, 15)])[0] == [(12, 15)]
    assert locate(text, [ForeignPiece("two", 11, 14)])[0] == [(4, 7)]
    assert locate(text, [ForeignPiece("two", 12, 99)])[0] == [(4, 7)]
    assert locate(text, [ForeignPiece(None, 4, 7)])[0] == [(4, 7)]


def test_a_chunk_is_not_looked_for_inside_the_one_before() -> None:
    text = "No way, he said. She agreed. No."

    assert locate(text, [ForeignPiece("No way, he said."), ForeignPiece("She agreed."), ForeignPiece("No.")])[0][
        -1
    ] == (29, 32)
    assert locate("a b a b c", [ForeignPiece("a b a"), ForeignPiece("a b c")])[0] == [(0, 5), (4, 9)]


def test_a_chunk_from_before_the_last_one_is_found_too() -> None:
    assert locate("one two three", [ForeignPiece("three"), ForeignPiece("one")])[0] == [(0, 3), (8, 13)]


def test_white_space_and_case_may_differ() -> None:
    text = "Ünder  the\n\tSea. under the sea."

    assert locate(text, [ForeignPiece("ünder the sea."), ForeignPiece("under the sea.")])[0] == [(0, 16), (17, 31)]


def test_what_is_nowhere_is_told_and_blanks_are_no_chunks() -> None:
    found, lost = locate(
        "one two",
        [ForeignPiece("one"), ForeignPiece("three"), ForeignPiece("  "), ForeignPiece("", 0, 0), ForeignPiece("two")],
    )

    assert found == [(0, 3), (4, 7)]
    assert lost == ["three"]


def test_lone_surrogates_and_wide_characters_keep_their_places() -> None:
    text = "a\ud800b  \U0001f600 c"

    assert locate(text, [ForeignPiece("a\ud800b \U0001f600"), ForeignPiece("c")])[0] == [(0, 6), (7, 8)]


# Kinds of splitters


def halves(text: str) -> list[tuple[int, int]]:
    return [(0, len(text) // 2), (len(text) // 2, len(text))]


def stripped(text: str) -> list[str]:
    return [part.strip() for part in text.split(".") if part.strip()]


def rejoined(text: str) -> list[str]:
    """A splitter that, like LangChain's SemanticChunker, joins sentences by one space."""
    sentences = [f"{part.strip()}." for part in text.split(".") if part.strip()]
    return [" ".join(sentences[place : place + 2]) for place in range(0, len(sentences), 2)]


@pytest.mark.parametrize(
    "splitter",
    [
        halves,
        lambda text: [Both(text[:5], 0, 5), Both(text[5:], 5, len(text))],
        lambda text: iter([text[:5], text[5:]]),
    ],
    ids=["offsets", "objects", "texts"],
)
def test_functions_may_return_offsets_objects_or_texts(splitter: Callable[[str], Any]) -> None:
    assert "".join(spans(splitter)) == TEXT


def test_texts_without_their_white_space_are_slices_of_the_document() -> None:
    assert spans(stripped)[:3] == ["Cats sleep", "They dream", "Dogs run"]


def test_rewritten_white_space_gives_the_documents_own_text() -> None:
    assert spans(rejoined) == [
        "Cats sleep. They dream.",
        "Dogs run. Dogs bark.",
        "Birds  sing in the morning, and at night they sleep.",
    ]


def test_a_splitter_that_invents_text_is_told_of_and_what_remains_is_scored() -> None:
    strategy = as_strategy(lambda text: ["Cats sleep.", "In short: animals."])

    with pytest.warns(UnlocatedWarning, match=r"1 of 2 chunks .* such as 'In short: animals.'"):
        chunks = strategy.chunk(Document("d", TEXT))

    assert [chunk.text for chunk in chunks] == ["Cats sleep."]


def test_the_warnings_of_one_run_become_one_for_each_splitter() -> None:
    one, other = UnlocatedWarning("a", 1, 2, "x"), UnlocatedWarning("b", 1, 1, "y")

    combined = UnlocatedWarning.combined([one, other, UnlocatedWarning("a", 2, 3, "z")])

    assert [(w.splitter, w.lost, w.total, w.example) for w in combined] == [("a", 3, 5, "x"), ("b", 1, 1, "y")]


def test_blank_text_gives_no_chunk_and_asks_nobody() -> None:
    def never(text: str) -> list[str]:
        raise AssertionError(text)

    assert as_strategy(never).chunk(Document("d", " \n")) == []


@pytest.mark.parametrize("splitter", [3, "text", None])
def test_what_can_not_split_is_refused(splitter: object) -> None:
    with pytest.raises(InvalidParameterError, match="must be a strategy, a NodeParser"):
        as_strategy(splitter)


@pytest.mark.parametrize("found", ["one text", 5, [1.5], [object()], {"a": 1}])
def test_what_is_no_list_of_chunks_is_refused(found: object) -> None:
    with pytest.raises(InvalidParameterError, match="must return"):
        as_strategy(lambda _: found).split(TEXT)


def test_a_splitter_that_fails_is_named() -> None:
    def broken(text: str) -> list[str]:
        raise KeyError("heading")

    with pytest.raises(InvalidParameterError, match=r"could not split a document \(KeyError: 'heading'\).*broken"):
        as_strategy(broken).split(TEXT)


def test_a_llama_index_parser_splits_and_only_leaves_count() -> None:
    node_parser = pytest.importorskip("llama_index.core.node_parser")
    hierarchical = node_parser.HierarchicalNodeParser.from_defaults(chunk_sizes=[64, 16], chunk_overlap=0)
    alone = node_parser.SentenceSplitter(chunk_size=16, chunk_overlap=0)

    assert spans(hierarchical) == spans(alone)
    assert len(spans(alone)) > 1


def test_langchain_splitters_split() -> None:
    splitters = pytest.importorskip("langchain_text_splitters")
    recursive = splitters.RecursiveCharacterTextSplitter(chunk_size=30, chunk_overlap=0)
    headings = splitters.MarkdownHeaderTextSplitter([("#", "title")])

    assert spans(recursive)[0] == "Cats sleep. They dream."
    assert spans(headings, "# A\n\nOne.\n\n# B\n\nTwo.") == ["One.", "Two."]


def test_chonkie_chunkers_split() -> None:
    chonkie = pytest.importorskip("chonkie")

    assert "".join(spans(chonkie.RecursiveChunker(chunk_size=30))).split() == TEXT.split()


@pytest.mark.parametrize(
    ("name", "parameters"), [("sentence", {"chunk_size": 8, "chunk_overlap": 4}), ("token", {"chunk_size": 5})]
)
@pytest.mark.parametrize("twin", ["llama_index.node_parser", "langchain.text_splitter"])
@pytest.mark.parametrize("text", [TEXT, "No. No. No. Yes. No. No."])
def test_our_own_strategy_through_a_framework_makes_the_same_chunks(
    twin: str, name: str, parameters: dict[str, int], text: str
) -> None:
    package, _, factory = twin.partition(".")
    make = getattr(pytest.importorskip(f"kinsplit.integrations.{package}"), factory)
    own = create(name, **parameters).chunk(Document("d", text))

    foreign = as_strategy(make(name, **parameters)).chunk(Document("d", text))

    assert len(own) > 1
    assert [(c.spans, c.text, c.overlap, c.token_count) for c in foreign] == [
        (c.spans, c.text, c.overlap, c.token_count) for c in own
    ]


# Fingerprints


def test_a_fingerprint_differs_whenever_settings_do() -> None:
    splitters = pytest.importorskip("langchain_text_splitters")

    def recursive(size: int) -> ForeignStrategy:
        made = as_strategy(splitters.RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=0))
        assert isinstance(made, ForeignStrategy)
        return made

    assert recursive(30).fingerprint == recursive(30).fingerprint != recursive(31).fingerprint
    assert as_strategy(halves).fingerprint != as_strategy(stripped).fingerprint


def test_a_change_of_a_module_changes_the_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    found = []
    for number in (1, 2):
        name = f"changing{number}"
        (tmp_path / f"{name}.py").write_text(
            f"class Whole:\n    def split_text(self, text):\n        return [text[:{number}]]\n"
            f"def first(text):\n    return [text[:{number}]]\n"
        )
        module = importlib.import_module(name)
        found.append([configuration(module.Whole()).value[1], configuration(module.first).value[1]])

    assert found[0][0] != found[1][0]
    assert found[0][1] != found[1][1]


def test_what_can_not_be_told_apart_is_not_repeatable() -> None:
    class Opaque:
        def __init__(self) -> None:
            self.model = object()

        def split_text(self, text: str) -> list[str]:
            return [text]

    size = 3
    assert as_strategy(halves).repeatable  # type: ignore[attr-defined]
    assert not as_strategy(Opaque()).repeatable  # type: ignore[attr-defined]
    assert not as_strategy(lambda text: [text[:size], text[size:]]).repeatable  # type: ignore[attr-defined]


def test_an_object_of_a_module_is_repeatable_only_if_its_settings_tell_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_objects.py").write_text(
        "class Size:\n    def __init__(self, size):\n        self.size = size\n"
        "class Windows:\n    def __init__(self, size):\n        self.size = size\n"
        "    def split_text(self, text):\n        return [text]\n"
        "told, untold = Windows(3), Windows(Size(3))\n"
    )

    assert from_spec("python:own_objects:told").strategy.repeatable  # type: ignore[attr-defined]
    # Another size would change neither the spec nor the known settings of the object.
    assert not from_spec("python:own_objects:untold").strategy.repeatable  # type: ignore[attr-defined]


def test_a_module_is_found_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])
    (tmp_path / "splitter_beside.py").write_text("def halves(text):\n    return [text[:3], text[3:]]\n")

    assert from_spec("python:splitter_beside:halves").strategy.split("onetwo") == [Span(0, 3), Span(3, 6)]


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("def f(:", "must name a module that can be imported (SyntaxError: invalid syntax"),
        ("1 / 0", "must name a module that can be imported (ZeroDivisionError: division by zero)"),
        ("class C:\n    def split_text(self, text):\n        return [text]\nf = C()", "a class or a function to have"),
    ],
)
def test_what_is_wrong_with_a_module_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, wrong: str
) -> None:
    name = f"wrong{abs(hash(source))}"
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / f"{name}.py").write_text(source)

    with pytest.raises(InvalidParameterError, match=re.escape(wrong)):
        from_spec(f"python:{name}:f:size=3")


def test_a_class_that_tells_nothing_of_its_parameters_is_refused_clearly() -> None:
    with pytest.raises(InvalidParameterError, match="must be a strategy, a NodeParser"):
        from_spec("python:builtins:dict")


# Specs


@pytest.mark.parametrize(
    ("spec", "label", "strategy"),
    [
        ("default", "default", default_strategy()),
        ("sentence:chunk_size=160,chunk_overlap=0", None, create("sentence", chunk_size=160, chunk_overlap=0)),
        ("fixed=word:chunk_size=256,chunk_overlap=20", "fixed", create("word", chunk_size=256, chunk_overlap=20)),
        (
            "m = multigranular:chunk_sizes=[2, 4],chunk_overlap=1",
            "m",
            create("multigranular", chunk_sizes=[2, 4], chunk_overlap=1),
        ),
        ("word:", "word:", create("word")),
    ],
)
def test_a_spec_makes_kinsplits_own_strategies(spec: str, label: str | None, strategy: object) -> None:
    named = from_spec(spec)

    assert named.label == (label or spec)
    assert named.strategy == strategy


def test_the_spec_of_a_strategy_makes_it_again() -> None:
    for strategy in (
        default_strategy(),
        create("multigranular", chunk_sizes=(2, 4)),
        create("word"),
        create("cluster", embedder="hash"),
        *(create("cluster", embedder=f"st:{name}", chunk_size=99) for name in ("a,b", 'a"', "a\\", " [", "]x ", "{")),
    ):
        assert from_spec(spec_of(strategy)).strategy == strategy


def test_the_evaluations_tokenizer_and_embedder_count_where_none_is_named() -> None:
    pytest.importorskip("tiktoken")
    tiktoken = "tiktoken:cl100k_base"

    assert from_spec("sentence", tiktoken).strategy.tokenizer == tiktoken
    assert from_spec("sentence:tokenizer=bundled", tiktoken).strategy.tokenizer == "bundled"
    assert from_spec("cluster", "bundled", "hash").strategy.parameters["embedder"] == "hash"


def test_peers_count_by_the_evaluations_tokenizer() -> None:
    pytest.importorskip("llama_index.core")
    pytest.importorskip("langchain_text_splitters")
    text = "uncharacteristically " * 40
    for spec in (
        "llama-index:SentenceSplitter:chunk_size=20,chunk_overlap=0",
        "langchain:RecursiveCharacterTextSplitter:chunk_size=20,chunk_overlap=0,length_function=tokens",
    ):
        counts = [chunk.token_count for chunk in from_spec(spec).strategy.chunk(Document("d", text))]
        assert all(count is not None and count <= 20 for count in counts)
        assert max(count or 0 for count in counts) > 10


def test_chonkie_counts_by_the_evaluations_tokenizer() -> None:
    pytest.importorskip("chonkie")
    strategy = from_spec("chonkie:RecursiveChunker:chunk_size=8").strategy

    counts = [chunk.token_count or 0 for chunk in strategy.chunk(Document("d", TEXT))]

    assert 4 < max(counts) <= 8


def test_functions_and_classes_of_a_module_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_splitters.py").write_text(
        "def by(text, sign='.'):\n    return text.split(sign)\n"
        "class Windows:\n    def __init__(self, size):\n        self.size = size\n"
        "    def split_text(self, text):\n"
        "        return [text[i:i + self.size] for i in range(0, len(text), self.size)]\n"
    )
    text = "one, two. three"

    assert from_spec("python:own_splitters:by").strategy.split(text) == [Span(0, 8), Span(9, 15)]
    assert from_spec('python:own_splitters:by:sign=","').strategy.split(text) == [Span(0, 3), Span(4, 15)]
    assert from_spec("w=python:own_splitters:Windows:size=10").strategy.split(text) == [Span(0, 10), Span(10, 15)]


@pytest.mark.filterwarnings("ignore:.langchain-:DeprecationWarning")
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "must name a splitter"),
        ("nonsense", "must name a splitter"),
        ("a=", "must name a splitter"),
        ("word:chunk_size", "must have key=value"),
        ("word:chunk_size=1,chunk_size=2", "each key once"),
        ("word:chunk_size=-1", "chunk_size"),
        ("word:nonsense=1", 'is not a parameter of "word"'),
        ("python:no_such_module:f", "can be imported"),
        ("python:json:no_such_name", "is in json"),
        ("langchain:NoSuchSplitter", "must name a class of langchain-text-splitters"),
        ("langchain:RecursiveCharacterTextSplitter:nonsense=1", "could not be made"),
    ],
)
def test_a_wrong_spec_is_one_clear_error(spec: str, message: str) -> None:
    pytest.importorskip("langchain_text_splitters")
    with pytest.raises(InvalidParameterError, match=message):
        from_spec(spec)


def test_a_missing_library_is_named_with_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_text_splitters", None)
    monkeypatch.setitem(sys.modules, "langchain_experimental.text_splitter", None)

    with pytest.raises(MissingExtraError, match=r'pip install "kinsplit\[langchain\]"'):
        from_spec("langchain:RecursiveCharacterTextSplitter")
