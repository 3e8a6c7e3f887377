"""Natural guesses: what isn't there leads to what is."""

from __future__ import annotations

import importlib
import io
import warnings
from pathlib import Path
from typing import Any

import pytest

import kinsplit
from kinsplit import Document, Index, InvalidParameterError, KinsplitError, KinsplitWarning, LoadError
from kinsplit.hints import _MEANT, meant
from kinsplit.integrations.langchain import text_splitter
from kinsplit.integrations.llama_index import node_parser

TEXT = "# Owls\n\nOwls hunt at night. They hear mice under snow. Larks sing."


@pytest.fixture(scope="module")
def index() -> Any:
    with Index("memory:", embedder="hash") as made:
        made.add(Document("owls", TEXT))
        yield made


@pytest.mark.parametrize(
    ("call", "written"),
    [
        (lambda: kinsplit.split(TEXT, 500), "chunk_size=500"),
        (lambda: kinsplit.split(TEXT, 500, 50), "chunk_size=500"),
        (lambda: kinsplit.split(TEXT, "sentence", 500), "Write chunk_size=500"),
        (lambda: kinsplit.split(TEXT, max_tokens=50), "'chunk_size'"),
        (lambda: kinsplit.split(TEXT, overlap=5), "'chunk_overlap'"),
        (lambda: kinsplit.split(TEXT, method="recursive"), "'strategy'"),
        (lambda: kinsplit.split(TEXT, "recursive"), "'structure'"),
        (lambda: kinsplit.split(TEXT, "markdown"), "'structure'"),
        (lambda: kinsplit.split(TEXT, "tokens"), "'token'"),
        (lambda: kinsplit.split(TEXT, "Sentence"), "'sentence'"),
        (lambda: kinsplit.split(TEXT, "hierarchical", chunk_size=9), "'child_size'"),
        (lambda: kinsplit.split(TEXT, unit="chars"), "'character'"),
        (lambda: kinsplit.split(TEXT, tokenizer="gpt-4"), "'tiktoken:cl100k_base'"),
        (lambda: kinsplit.split(TEXT, tokenizer="BAAI/bge-m3"), "'hf:BAAI/bge-m3'"),
        (lambda: kinsplit.split(TEXT, language="english"), "'en'"),
        (lambda: kinsplit.split(TEXT, language="de-DE"), "'de'"),
        (lambda: kinsplit.split(Path("owls.md")), "kinsplit.read('owls.md')"),
        (lambda: kinsplit.split(io.StringIO(TEXT)), "file.read()"),
        (lambda: kinsplit.split(b"Owls"), "data.decode"),
        (lambda: kinsplit.split([TEXT, TEXT]), "chunk_many"),
        (lambda: kinsplit.split({"text": TEXT}), "Document.from_dataset"),
        (lambda: kinsplit.split(None), "Document(id, text)"),
        (lambda: Document(TEXT), 'Document("notes/owls", text)'),
        (lambda: Document(text=TEXT), "Document.from_text(text)"),
        (lambda: Document(5, TEXT), "str(id)"),
        (lambda: Document("owls", b"Owls"), "kinsplit.read"),
        (lambda: Document("owls", TEXT, "birds"), "map names to values"),
        (lambda: kinsplit.create_strategy("sentence", 500), "chunk_size=500"),
        (lambda: setattr(kinsplit.create_strategy(), "chunk_size", 5), 'create_strategy("sentence", chunk_size=5)'),
        (lambda: text_splitter("sentence", 500), "chunk_size=500"),
        (lambda: node_parser("sentence", 500), "chunk_size=500"),
        (lambda: Index("./data"), "'edge:./data'"),
        (lambda: Index(Path("data")), "'edge:data'"),  # type: ignore[arg-type]
        (lambda: Index(":memory:"), "'memory:'"),
        (lambda: Index("http://localhost:6333"), "'qdrant:http://localhost:6333'"),
        (lambda: Index(path="data"), "'store'"),  # type: ignore[call-arg]
        (lambda: Index("memory:", model="hash"), "'embedder'"),  # type: ignore[call-arg]
        (lambda: Index("memory:", embedder="bge"), "'st:BAAI/bge-small-en-v1.5'"),
        (lambda: Index("memory:", embedder="BAAI/bge-m3"), "'st:BAAI/bge-m3'"),
        (lambda: Index("memory:", embedder="text-embedding-3-small"), "'openai:text-embedding-3-small'"),
        (lambda: Index("memory:", embedder="sentence-transformers/all-MiniLM-L6-v2"), "'bundled'"),
        (lambda: Index("memory:", language="en"), "'english'"),
        (lambda: Index("memory:", strategy=500), "str | Strategy"),  # type: ignore[arg-type]
    ],
)
def test_an_error_says_what_to_write(call: Any, written: str) -> None:
    with pytest.raises(KinsplitError) as caught:
        call()
    assert written in str(caught.value)


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ({"k": 3}, "'top_k'"),
        ({"limit": 3}, "'top_k'"),
        ({"filters": {}}, "'where'"),
        ({"ranking": "bm25"}, "'terms'"),
        ({"rerank": True}, "'late'"),
        ({"level": 5}, "must be below 2"),
    ],
)
def test_an_option_of_a_search_leads_to_the_right_one(index: Index, options: Any, written: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        index.search("owls", **options)
    assert written in str(caught.value)
    with pytest.raises(InvalidParameterError, match="Write top_k=3"):
        index.search("owls", 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("items", [None, 5, b"owls", io.StringIO("owls"), {"a": "b"}, ["owls.md", None]])
def test_only_paths_and_documents_are_added(index: Index, items: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"^items: must be paths and documents .* kinsplit.Document"):
        index.add(items)


def test_a_string_is_a_path_or_a_pattern_for_add_and_a_text_for_split(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for text in ("Owls hunt at night.", TEXT * 100):
        with pytest.raises(LoadError, match=r"doesn't exist\..*kinsplit\.Document\(id, text\)") as caught:
            index.add(text)
        assert len(str(caught.value)) < 400
    with pytest.raises(LoadError, match="matches no file"):
        index.add("*.md")
    with pytest.raises(LoadError, match="Download it first"):
        index.add("https://example.com/owls.pdf")
    for name in ("owls.md", "larks.md", "gulls.txt"):
        Path(name).write_text(TEXT)
    assert index.add("*.md").documents == 2
    assert index.add(str(tmp_path / "**" / "o*")).documents == 1
    with pytest.warns(KinsplitWarning, match="is split as a text"):
        assert kinsplit.split("owls.md")[0].text == "owls.md"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kinsplit.split("") == kinsplit.split(" \0")[:0]


def test_read_gives_documents_and_raises_what_load_reports(tmp_path: Path) -> None:
    (tmp_path / "owls.md").write_text(TEXT)
    (document,) = kinsplit.read(tmp_path)
    assert (document.id, document.text) == (f"{tmp_path.name}/owls.md", TEXT)
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4")
    with pytest.raises(LoadError, match="broken"):
        list(kinsplit.read(tmp_path))
    (tmp_path / "broken.pdf").unlink()
    (tmp_path / "latin.txt").write_bytes("Käuze jagen, Lerchen singen früh.".encode("latin-1"))
    with pytest.warns(KinsplitWarning, match="latin.txt: "):
        assert len(list(kinsplit.read(tmp_path))) == 2


def test_missing_attributes_lead_to_those_that_there_are(index: Index) -> None:
    (passage, *_) = index.search("owls")
    chunk, strategy = passage.chunks[0], index.strategy
    guesses: list[tuple[Any, str, str]] = [
        (chunk, "page_content", "chunk.text"),
        (chunk, "content", "chunk.text"),
        (chunk, "to_dict", "dataclasses.asdict"),
        (passage, "page", "passage.pages"),
        (index, "ask", "from kinsplit.answering import ask"),
        (index, "add_texts", "kinsplit.Document"),
        (strategy, "split_text", "strategy.chunk(text)"),
        (kinsplit, "load", "kinsplit.read"),
        (importlib.import_module("kinsplit.integrations.langchain"), "SentenceSplitter", "text_splitter"),
    ]
    for of, name, written in guesses:
        assert not hasattr(of, name)
        with pytest.raises(AttributeError, match=r"has no attribute .* Write: ") as caught:
            getattr(of, name)
        assert written in str(caught.value)
    with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$"):
        index.nonsense  # type: ignore[attr-defined]  # noqa: B018
    assert (len(chunk), len(index), bool(index)) == (len(chunk.text), index.count(), True)


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("import kinsplit.langchain", "from kinsplit.integrations.langchain import"),
        ("from kinsplit.llama_index import node_parser", "from kinsplit.integrations.llama_index import"),
        ("from kinsplit import SentenceSplitter", "kinsplit.split(text)"),
        ("from kinsplit.integrations.llama_index import SentenceSplitter", "node_parser"),
    ],
)
def test_imports_of_guesses_say_what_to_import(line: str, written: str) -> None:
    with pytest.raises(ImportError) as caught:
        exec(line, {})
    assert written in str(caught.value)


def test_a_module_that_is_called_says_what_to_call() -> None:
    for module, written in (("chunk", "kinsplit.split"), ("index", "kinsplit.Index")):
        with pytest.raises(TypeError, match=f"is a module. Write: {written}"):
            importlib.import_module(f"kinsplit.{module}")("owls")


def test_no_secret_of_an_address_is_repeated() -> None:
    for address in ("postgresql://me:secret@host/db", "https://me:secret@host", "https://host?api_key=secret"):
        with pytest.raises(InvalidParameterError) as caught:
            Index(address)
        assert "secret" not in str(caught.value)


def test_what_is_meant_exists() -> None:
    for kind, known in {
        "strategy": kinsplit.strategy_names(),
        "unit": ["character", "word", "token"],
        "ranking": ["kin", "hybrid", "dense", "terms"],
    }.items():
        assert {name for name in _MEANT[kind].values() if "{}" not in name} <= set(known)
    assert meant("parameter", "chunk_sise", ["chunk_size"]) == "chunk_size"
    assert meant("parameter", "limit", ["strategy"]) == ""
