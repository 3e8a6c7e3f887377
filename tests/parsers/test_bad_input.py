"""Odd texts and limits: a documented result or a clear error, and no lost text."""

from __future__ import annotations

from typing import Any

import pytest

from kinsplit.chunk import Chunk, Document
from kinsplit.errors import LimitTooSmallError
from kinsplit.parsers import create, names
from kinsplit.tokenizers import resolve
from tests.parsers.contract import check_chunks
from tests.parsers.sized import has_unit, plain, sized

every_strategy = pytest.mark.parametrize("name", names())
FAMILY = "👩‍👩‍👧‍👦"
#: One grapheme cluster of 61 code points.
STACK = "e" + "\u0301\u0323" * 30


def checked(text: str, name: str, size: int, unit: str = "character", **more: Any) -> list[Chunk]:
    strategy, document = sized(name, size, unit, **more), Document("d", text)
    chunks = strategy.chunk(document)
    check_chunks(strategy, document, chunks)
    return [chunk for chunk in chunks if chunk.level == 0]


@every_strategy
def test_blank_text_gives_no_chunk(name: str) -> None:
    strategy = plain(name)
    for blank in ["", " ", "\n", "\r\n\r\n", "\t \u00a0\u2003\u3000\u2028\x1c", " " * 100_000]:
        assert strategy.chunk(Document("d", blank)) == []
        assert strategy.split(blank) == []


@every_strategy
@pytest.mark.parametrize(
    "text",
    [
        "\x00",
        "\x00\x00a\x00 b\x00." * 20,
        "\ud800",
        "a\udc80b \ud83d c\ude00. " * 20,
        "\u0301\u0301\u0323",
        "\u0301 \u0323\u200d " * 30,
        STACK,
        FAMILY,
        (FAMILY + "🤣🇩🇪👍🏽") * 40,
        f"{FAMILY} 🤣 🇩🇪 👍🏽 " * 40,
        "\ufeff\u200b\u00ad\u2060" * 20,
        "\x01\x02\x1b\x7f\x80\x9f" * 30,
        "\ufffd\ufffe\uffff" * 30,
        "." * 500,
        "? ! . " * 100,
        "-" * 500,
        "#" * 500,
        "|" * 300 + "\n" + "|" * 300,
        "<" * 300,
        "a" * 2000,
        "食" * 2000,
        "\u202eabc\u202c \u2067שלום\u2069 " * 20,
        "𐀀" * 300,
    ],
    ids=lambda text: ascii(text[:6]),
)
def test_odd_texts_keep_the_invariants(name: str, text: str) -> None:
    for size in (12, 40):
        for unit in ("character", "word", "token") if has_unit(name) else ("own",):
            assert checked(text, name, size, unit)
    strategy, document = plain(name), Document("d", text)
    check_chunks(strategy, document, [*strategy.chunk(document)])


@every_strategy
def test_a_cluster_longer_than_the_limit_is_cut_between_code_points(name: str) -> None:
    text = f"a{STACK} {FAMILY}z"
    for size in (1, 2, 3, 7):
        chunks = checked(text, name, size)
        assert max(len(chunk.text) for chunk in chunks) <= size or not (has_unit(name) or name == "character")
        assert "".join(chunk.text.strip() for chunk in chunks) == text.replace(" ", "") or name != "character"


@pytest.mark.parametrize("name", ["token", "sentence", "structure", "hierarchical"])
def test_a_code_point_longer_than_the_limit_is_refused(name: str) -> None:
    pytest.importorskip("tiktoken")
    pytest.importorskip("llama_index.core", reason="llama-index-core carries cl100k_base")
    tokenizer = "tiktoken:cl100k_base"
    assert resolve(tokenizer).count(["𐀀"])[0] == 4
    with pytest.raises(LimitTooSmallError, match="must hold every character of the text in tokens, also '𐀀'") as caught:
        sized(name, 3, "token", tokenizer=tokenizer).split("Fine. 𐀀 not.")
    field = "child_size" if name == "hierarchical" else "chunk_size"
    assert (caught.value.field, caught.value.remedy) == (field, "Raise it.")
    assert checked("Fine. 𐀀 is.", name, 4, "token", tokenizer=tokenizer)


def test_a_code_point_longer_than_a_parent_is_refused() -> None:
    with pytest.raises(LimitTooSmallError) as caught:
        create("hierarchical", parent_size=2, child_size=1, unit="token").split("한")
    assert caught.value.field == "parent_size"


@every_strategy
def test_a_limit_of_one_cuts_down_to_single_units(name: str) -> None:
    for unit in ("character", "word", "token") if has_unit(name) else ("own",):
        chunks = checked("Ab cd, 食べ物.", name, 1, unit)
        assert len(chunks) >= 5


@every_strategy
@pytest.mark.parametrize(
    ("piece", "megabytes"),
    [
        pytest.param("The quick brown fox jumps over the lazy dog. ", 0.25, id="prose"),
        pytest.param("x", 0.25, id="one word"),
        pytest.param("word ", 0.25, id="one sentence"),
        pytest.param("今天天气很好。", 0.125, id="chinese"),
        pytest.param("今天天气很好", 0.125, id="one chinese sentence"),
    ],
)
def test_a_huge_line_is_cut_to_its_end(name: str, piece: str, megabytes: float) -> None:
    # Anything quadratic would take minutes here; test_growth.py measures how time grows.
    text = piece * (int(megabytes * 2**20) // len(piece.encode()))
    chunks = plain(name).chunk(Document("d", text))
    reached = 0
    for start, end in sorted(span for chunk in chunks if chunk.level == 0 for span in chunk.spans):
        assert not text[reached:start].strip()
        reached = end
    assert reached == len(text.rstrip())
