"""Calls of the frameworks' own splitters, with the class replaced."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import langchain_text_splitters
import llama_index.core.node_parser as stock_parsers
import pytest
from langchain_core.documents import Document
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.schema import Document as LlamaDocument

from kinsplit.errors import InvalidParameterError
from kinsplit.integrations import langchain, llama_index
from kinsplit.integrations.langchain import KinsplitTextSplitter, text_splitter
from kinsplit.integrations.llama_index import KinsplitNodeParser, node_parser
from kinsplit.integrations.shared.stock import STOCK, in_own_terms
from kinsplit.parsers import names, strategy_class

TEXT = "An owl hunts at night. A lark sings in the morning. Cats sleep all day long. " * 9
MAKERS: Any = pytest.mark.parametrize("make", [text_splitter, node_parser])

#: Parameters that mean the same here, or that a splitter or a parser has anyway.
SAME = {
    *("chunk_size", "chunk_overlap", "chunk_sizes", "tokenizer", "language", "add_start_index"),
    *("include_metadata", "include_prev_next_rel", "callback_manager", "id_func"),
}
#: Parts of other splitters, which are no splitters themselves.
PARTS = {"Tokenizer", "Language", "LanguageConfig", "ElementType", "HeaderType", "LineType"}
#: Parameters of the parsers that wrap something of another kind.
WRAPPERS = {"LangchainNodeParser": {"lc_splitter"}}
XSLT = {"xslt_path"}


def _parameters(kind: Any) -> Iterator[str]:
    makers = [kind.__init__, *([kind.from_defaults] if hasattr(kind, "from_defaults") else [])]
    for maker in makers:
        for name, parameter in inspect.signature(maker).parameters.items():
            if name != "self" and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                yield name


def _splitters() -> Iterator[Any]:
    for name in langchain_text_splitters.__all__:
        found = getattr(langchain_text_splitters, name)
        if inspect.isclass(found) and name not in PARTS:
            yield pytest.param(found, id=f"langchain-{name}")
    for name in stock_parsers.__all__:
        found = getattr(stock_parsers, name)
        if inspect.isclass(found) and name not in PARTS:
            yield pytest.param(found, id=f"llama_index-{name}")


@pytest.mark.parametrize("kind", [*_splitters()])
def test_every_parameter_of_a_stock_splitter_is_known(kind: Any) -> None:
    given = {*_parameters(kind)} - WRAPPERS.get(kind.__name__, set()) - XSLT
    assert given - SAME - STOCK.keys() == set()


def test_what_is_not_converted_is_refused_with_its_row_of_the_table() -> None:
    for name, stock in STOCK.items():
        for strategy in map(strategy_class, names()):
            if name not in strategy.model_fields and stock.convert(strategy, len) is None:
                with pytest.raises(InvalidParameterError, match=f"^{name}: ") as caught:
                    in_own_terms(strategy, {name: len})
                assert caught.value.remedy == stock.here


@MAKERS
def test_len_counts_characters(make: Any) -> None:
    by_characters = make("sentence", chunk_size=100, chunk_overlap=20, unit="character")
    stock = make("sentence", chunk_size=100, chunk_overlap=20, length_function=len)
    assert stock.strategy == by_characters.strategy
    assert stock.split_text(TEXT) == by_characters.split_text(TEXT)
    assert max(map(len, stock.split_text(TEXT))) <= 100
    assert make("character", chunk_size=9, chunk_overlap=0, length_function=len).split_text("a" * 20)[0] == "a" * 9
    assert make(chunk_size=100, chunk_overlap=20, length_function=len).split_text(TEXT) == stock.split_text(TEXT)


@MAKERS
def test_another_length_function_counts_tokens(make: Any) -> None:
    def words(text: str) -> int:
        return len(text.split())

    for name in ("sentence", "structure", "token"):
        made = make(name, chunk_size=12, chunk_overlap=0, length_function=words)
        pieces = made.split_text(TEXT)
        assert len(pieces) > 1
        assert max(map(words, pieces)) <= 12
    if make is text_splitter:
        assert made._length_function("one two three") == 3


@MAKERS
@pytest.mark.parametrize("value", ["len", 3, lambda text: text, lambda text: 0.5, lambda: 3, lambda text: -1])
def test_what_is_no_length_function_is_refused_at_once(make: Any, value: Any) -> None:
    with pytest.raises(InvalidParameterError, match="length_function: must be a function"):
        make("sentence", length_function=value)


@MAKERS
def test_a_length_function_contradicts_another_unit(make: Any) -> None:
    with pytest.raises(InvalidParameterError, match="length_function: can't be given together with unit"):
        make("sentence", length_function=len, unit="word")
    with pytest.raises(InvalidParameterError, match=r"length_function: .*can't be given together with tokenizer"):
        make("sentence", length_function=lambda text: len(text.split()), tokenizer="bundled")
    with pytest.raises(InvalidParameterError, match='length_function: has no such meaning in "word"'):
        make("word", length_function=len)


@MAKERS
@pytest.mark.parametrize(
    "stock",
    [
        {"strip_whitespace": True},
        {"keep_separator": True},
        {"keep_separator": "end"},
        {"is_separator_regex": False},
        {"keep_whitespaces": False},
        {"chunk_overlap": 0},
    ],
)
def test_what_kinsplit_does_anyway_is_accepted(make: Any, stock: dict[str, Any]) -> None:
    assert make("structure", **stock).strategy == make("structure").strategy


@MAKERS
@pytest.mark.parametrize(
    ("stock", "instead"),
    [
        ({"separators": ["\n\n", "\n"]}, "structure"),
        ({"separator": " "}, "structure"),
        ({"paragraph_separator": "\n\n"}, "structure"),
        ({"secondary_chunking_regex": "x"}, "structure"),
        ({"is_separator_regex": True}, "structure"),
        ({"strip_whitespace": False}, "exact slices"),
        ({"keep_separator": False}, "True"),
        ({"window_size": 3}, "SiblingExpansion"),
        ({"breakpoint_threshold_type": "percentile"}, "threshold_kind"),
        ({"headers_to_split_on": [("#", "h1")]}, "context"),
        ({"embed_model": None}, "embedder"),
        ({"model_name": "gpt-4"}, "tiktoken:"),
        ({"chunk_overlap": 20}, "SiblingExpansion"),
    ],
)
def test_what_has_no_meaning_names_what_to_use_instead(make: Any, stock: dict[str, Any], instead: str) -> None:
    (name,) = stock
    with pytest.raises(InvalidParameterError, match=f"^{name}: has no such meaning in .*{instead}"):
        make("structure", **stock)


def test_other_names_are_converted() -> None:
    semantic = node_parser("semantic", embed_model="hash", breakpoint_percentile_threshold=95.0).strategy
    assert semantic == node_parser("semantic", embedder="hash", threshold_kind="percentile", threshold=95.0).strategy
    assert text_splitter("semantic", embeddings="hash").strategy == text_splitter("semantic", embedder="hash").strategy
    tiktoken = text_splitter("sentence", encoding_name="cl100k_base").strategy
    assert tiktoken == text_splitter("sentence", tokenizer="tiktoken:cl100k_base").strategy
    assert node_parser("semantic", embed_model=None).strategy == node_parser("semantic").strategy
    assert node_parser("llm", llm="none").strategy == node_parser("llm", model="none").strategy


def test_add_start_index_is_langchains_key() -> None:
    documents = [Document(id="d", page_content=TEXT)]
    for chunk in text_splitter("sentence", length_function=len, add_start_index=True).split_documents(documents):
        assert TEXT[chunk.metadata["start_index"] :].startswith(chunk.page_content)
    plain = text_splitter("sentence", add_start_index=False).split_documents(documents)
    assert all("start_index" not in chunk.metadata for chunk in plain)


def test_llama_index_parameters_work() -> None:
    debug = LlamaDebugHandler(print_trace_on_end=False)
    kind = llama_index.KinsplitSentenceNodeParser
    parser = kind.from_defaults(
        chunk_size=60,
        chunk_overlap=0,
        length_function=len,
        include_prev_next_rel=False,
        callback_manager=CallbackManager([debug]),
    )
    nodes = parser.get_nodes_from_documents([LlamaDocument(id_="d", text=TEXT)])
    assert len(nodes) > 1
    assert not any(node.prev_node or node.next_node for node in nodes)
    assert len(debug.get_event_pairs(CBEventType.NODE_PARSING)) == 1
    assert kind.from_dict(parser.to_dict()).strategy == parser.strategy
    assert parser.model_copy(update={"chunk_size": 90}).strategy.parameters["unit"] == "character"


@MAKERS
def test_a_misspelt_parameter_names_the_nearest(make: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"chunksize: .*Did you mean 'chunk_size'"):
        make("sentence", chunksize=200)


@pytest.mark.parametrize("value", [["Owls hunt."], "Owls hunt.", [None], [{"text": "Owls hunt."}]])
async def test_what_is_no_document_is_refused(value: Any) -> None:
    parser, splitter = node_parser("sentence"), text_splitter("sentence")
    with pytest.raises(InvalidParameterError, match="documents"):
        splitter.split_documents(value)
    for call in (parser, parser.get_nodes_from_documents):
        with pytest.raises(InvalidParameterError, match="documents"):
            call(value)
    for wait in (parser.acall, parser.aget_nodes_from_documents):
        with pytest.raises(InvalidParameterError, match="documents"):
            await wait(value)
    with pytest.raises(InvalidParameterError, match="documents: must be several"):
        parser(LlamaDocument(text="Owls hunt."))  # type: ignore[arg-type]


def test_a_base_class_or_a_class_that_is_not_there_names_what_is() -> None:
    with pytest.raises(TypeError, match=r'node_parser\("sentence"\)'):
        KinsplitNodeParser("sentence")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r'text_splitter\("sentence"\)'):
        KinsplitTextSplitter("sentence")  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match="Write: KinsplitSentenceNodeParser"):
        llama_index.SentenceNodeParser  # noqa: B018
    with pytest.raises(AttributeError, match="Write: KinsplitSentenceTextSplitter"):
        langchain.SentenceTextSplitter  # noqa: B018
