"""Inputs on which other splitters fail, numbered as in the list of collected reports, through the core."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
import regex

from kinsplit.chunk import Chunk, Document
from kinsplit.errors import InvalidParameterError
from kinsplit.parsers import Strategy, create, names
from kinsplit.parsers.base import Cut, Levels
from kinsplit.spans import Span, stretches
from tests.parsers.contract import check_chunks
from tests.parsers.sized import WITHOUT_MODEL, has_unit, plain, sized

every_strategy = pytest.mark.parametrize("name", names())
with_a_unit = pytest.mark.parametrize("name", [name for name in names() if has_unit(name)])

MIXED = (
    '# Title\n\nDr. Smith paid $3.50. "Really?" she asked.\r\n\r\n今天天气很好。我们去公园吧！\n\n'
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n~~~\n# no heading\n~~~\n\n## Deeper\n\nHi 👩‍👩‍👧‍👦 cafe\u0301 🤣🤣. The end.\n"
) * 4


def checked(strategy: Strategy, text: str, source: str = "d") -> list[Chunk]:
    """Return a text's chunks after checking every invariant on them."""
    document = Document(source, text)
    chunks = strategy.chunk(document)
    check_chunks(strategy, document, chunks)
    return chunks


def leaves(chunks: Sequence[Chunk]) -> list[Chunk]:
    return [chunk for chunk in chunks if chunk.level == 0]


def texts_of(chunks: Sequence[Chunk]) -> list[str]:
    return [chunk.text for chunk in chunks]


def without_overlap(chunks: Sequence[Chunk]) -> str:
    if all(len(chunk.spans) == 1 for chunk in chunks):
        return "".join(chunk.text[chunk.overlap :] for chunk in chunks)
    found = {s: c.text[at : at + s.end - s.start] for c in chunks for at, s in stretches(c.spans, c.text) or ()}
    assert all(a.end <= b.start for a, b in pairwise(sorted(found)))
    return "".join(text for _, text in sorted(found.items()))


class Given(Strategy):
    """Cuts that a test names."""

    name = "given"
    given: tuple[tuple[int, int], ...] = ()

    def _cut(self, texts: Sequence[str]) -> list[Levels]:
        return [[[Cut((Span(*span),)) for span in self.given]] for _ in texts]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("No. No. No. No.", ((0, 11), (12, 15))),
        ("alpha -- beta -- -- gamma", ((0, 13), (14, 16), (17, 19))),
    ],
)
def test_01_repeated_text_keeps_the_offsets_that_a_strategy_gives(
    text: str, spans: tuple[tuple[int, int], ...]
) -> None:
    chunks = Given(given=spans).chunk(Document("d", text))
    assert [(chunk.start, chunk.end) for chunk in chunks] == list(spans)
    assert texts_of(chunks) == [text[start:end] for start, end in spans]


def test_01_repeated_sentences_are_cut_where_they_are() -> None:
    strategy = create("sentence", chunk_size=11, unit="character", chunk_overlap=0)
    assert strategy.split("No. No. No. No.") == [(0, 11), (12, 15)]


@every_strategy
def test_02_the_second_of_two_equal_words_starts_where_it_is(name: str) -> None:
    for overlap in range(5):
        chunks = checked(sized(name, 5, overlap=overlap), "chunk chunk")
        equal = [chunk.start for chunk in leaves(chunks) if chunk.text == "chunk"]
        assert equal in ([], [0], [0, 6])


@with_a_unit
def test_02_two_equal_words_make_two_chunks(name: str) -> None:
    chunks = checked(sized(name, 5), "chunk chunk")
    assert [chunk.start for chunk in leaves(chunks)] == [0, 6]


@every_strategy
@pytest.mark.parametrize("unit", ["token", "word"])
def test_03_overlap_in_tokens_or_words_never_loses_the_start(name: str, unit: str) -> None:
    text = (
        "The start of every piece has to be known when a text is cut by its tokens and the pieces overlap: a splitter "
        "that looks for a piece behind the end of the last one will now and then look too far and not find it. "
    ) * 3
    chunks = checked(sized(name, 20, unit, overlap=10), text)
    assert len(chunks) > 4
    assert all(chunk.start >= 0 for chunk in chunks)


@every_strategy
def test_04_no_chunk_of_short_sentences_is_too_long(name: str) -> None:
    text = "Yes. No. " * 40
    chunks = checked(sized(name, 40), text)
    assert chunks[-1].end == 359
    assert all(a.start < b.start for a, b in pairwise(leaves(chunks)))


@every_strategy
def test_05_paths_and_doubled_punctuation_survive(name: str) -> None:
    text = "[text](../path/to/file.md) some;;text... and,, more. " * 20
    chunks = leaves(checked(sized(name, 30), text))
    assert without_overlap(chunks).replace(" ", "") == text.replace(" ", "")
    if name == "character":
        assert without_overlap(chunks) == text.rstrip()


@every_strategy
def test_06_indentation_survives(name: str) -> None:
    text = "def example():\n    x = 1\n    return x"
    chunks = leaves(checked(sized(name, 10), text))
    assert "".join(without_overlap(chunks).split()) == "".join(text.split())
    if name == "character":
        assert without_overlap(chunks) == text


@every_strategy
def test_06_a_text_that_fits_is_one_chunk_with_its_indentation(name: str) -> None:
    text = "def example():\n    x = 1\n\treturn\u00a0x"
    chunks = leaves(checked(sized(name, 100), text))
    assert texts_of(chunks) == [text]


@pytest.mark.parametrize("tokenizer", ["bundled", "tiktoken:cl100k_base"])
@pytest.mark.parametrize("size", [32, 128, 256])
@pytest.mark.parametrize("name", ["token", "sentence", "structure", "hierarchical"])
def test_07_words_that_a_bpe_tokenizer_cuts_never_make_a_chunk_too_long(name: str, size: int, tokenizer: str) -> None:
    if tokenizer != "bundled":
        pytest.importorskip("tiktoken")
        pytest.importorskip("llama_index.core", reason="llama-index-core carries cl100k_base")
    words = ["jumps", "kettledrums", "over", "lazily", "antidisestablishmentarianism", "xylophones", "a", "I'm"]
    text = " ".join(random.Random(7).choices(words, k=1000))
    chunks = checked(sized(name, size, "token", tokenizer=tokenizer), text)
    assert max(chunk.token_count or 0 for chunk in leaves(chunks)) <= size


CHINESE = "今天天气很好。我们去公园吧！你想去吗？" * 50
UNSPACED = {
    "chinese": CHINESE,
    "hindi": "यह एक वाक्य है। यह दूसरा वाक्य है। क्या आप आएँगे? " * 30,
    "arabic": "كيف حالك اليوم؟ أنا بخير والحمد لله. هل تريد الذهاب؟ " * 30,
    "thai": "สวัสดีครับ ยินดีต้อนรับสู่ประเทศไทย วันนี้อากาศดีมาก " * 30,
}


@every_strategy
@pytest.mark.parametrize("script", UNSPACED)
def test_08_other_scripts_are_cut_within_the_limit(name: str, script: str) -> None:
    assert len(leaves(checked(sized(name, 60), UNSPACED[script]))) > 1


@with_a_unit
def test_08_chinese_is_cut_behind_its_stops(name: str) -> None:
    for unit in ["character", "word", "token"]:
        for chunk in checked(sized(name, 60, unit), CHINESE):
            assert chunk.text[-1] in "。！？"


CLUSTERED = ("食べ物" * 50, "Hi 👩‍👩‍👧‍👦 cafe\u0301 🤣🤣. " * 20)


@every_strategy
def test_09_no_cluster_that_fits_is_cut(name: str) -> None:
    for text, size in itertools.product(CLUSTERED, (12, 15, 25)):
        for unit in ["character", "token"] if has_unit(name) else ["own"]:
            chunks = checked(sized(name, size, unit), text)
            assert not any("\ufffd" in chunk.text for chunk in chunks)


@pytest.mark.parametrize("name", ["token", "sentence", "structure", "hierarchical"])
def test_09_byte_level_tokens_never_cut_a_code_point(name: str) -> None:
    pytest.importorskip("tiktoken")
    pytest.importorskip("llama_index.core", reason="llama-index-core carries o200k_base")
    for text, size in itertools.product(CLUSTERED, (3, 4, 7)):
        checked(sized(name, size, "token", tokenizer="tiktoken:o200k_base"), text)


CRLF = "line one.\r\nline two.\r\n\r\nline three.\r\n" * 15
FENCE = "Before.\n\n```python\ndef f(x):\n\treturn\u00a01\n\n\n    # done\n```\n\nAfter.\n"


@every_strategy
def test_10_line_ends_and_odd_spaces_stay_as_they_are(name: str) -> None:
    for text, size in itertools.product((CRLF, FENCE, CRLF + FENCE), (20, 60)):
        chunks = checked(sized(name, size), text)
        assert chunks[-1].end == len(text.rstrip())


@every_strategy
def test_11_special_tokens_and_nul_are_text(name: str) -> None:
    for special in ("<|endoftext|>", "[CLS] [SEP] [MASK]", "</s>", "a\x00b \x00"):
        text = f"Before it. {special} After it. " * 10
        chunks = checked(sized(name, 30), text)
        assert sum(chunk.text.count(special[0]) for chunk in leaves(chunks)) >= 10


@every_strategy
def test_15_the_last_sentence_is_kept(name: str) -> None:
    text = "Alice ate an apple. Bob ate a banana. Charlie ate a cherry. David ate a date."
    for size in [10, 20]:
        assert checked(sized(name, size), text)[-1].end == len(text)


@pytest.mark.parametrize("name", ["character", "word", "token", "sentence", "multigranular"])
def test_16_an_overlap_as_long_as_the_chunk_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="chunk_overlap") as caught:
        sized(name, 50, overlap=50)
    assert isinstance(caught.value, InvalidParameterError)


@every_strategy
def test_16_the_greatest_overlap_still_makes_progress(name: str) -> None:
    text = "abc\n" * 50
    assert len(checked(sized(name, 50, overlap=49), text)) <= 2 * len(text)


@every_strategy
@pytest.mark.parametrize("unit", ["character", "word", "token"])
def test_16_the_recorded_overlap_is_the_real_one(name: str, unit: str) -> None:
    for text in ["A" * 26 + "\n\n" + "B" * 10, "One two. Three four. Five six seven. " * 9]:
        chunks = leaves(checked(sized(name, 30, unit, overlap=10), text))
        for before, chunk in pairwise(chunks):
            shared = text[chunk.start : max(chunk.start, before.end)]
            assert chunk.overlap == len(shared)
            assert before.text.endswith(shared)
            assert chunk.text.startswith(shared)


@pytest.mark.parametrize("unit", ["character", "word", "token"])
def test_17_every_level_below_markdown_headings_indexes_the_original(unit: str) -> None:
    strategy = create("hierarchical", parent_size=(120, 60), child_size=20, unit=unit, headings=True)
    chunks = checked(strategy, MIXED)
    assert {chunk.level for chunk in chunks} == {0, 1, 2}
    assert all(chunk.parent_id for chunk in chunks if chunk.level < 2)


@every_strategy
def test_18_no_link_leaves_its_document(name: str) -> None:
    documents = [Document(f"doc{i}", f"Number {i}. " + MIXED) for i in range(4)]
    batch = sized(name, 40).chunk_many(documents)
    for document, chunks in zip(documents, batch, strict=True):
        check_chunks(sized(name, 40), document, chunks)
        own = {chunk.id for chunk in chunks}
        linked = {i for chunk in chunks for i in (chunk.prev_id, chunk.next_id, chunk.parent_id) if i is not None}
        assert linked <= own
    assert len({chunk.id for chunks in batch for chunk in chunks}) == sum(map(len, batch))


@every_strategy
def test_18_a_chunk_across_two_pages_of_one_file_names_both(name: str) -> None:
    first, second = "Page one ends in the middle of a ", "sentence on page two. And goes on."
    document = Document("file.pdf", first + second, pages=(0, len(first)))
    chunks = checked(sized(name, 200), document.text)
    assert [document.page_range(chunk.start, chunk.end) for chunk in leaves(chunks)] == [(1, 2)]


@every_strategy
def test_22_equal_texts_stay_two_documents(name: str) -> None:
    strategy = sized(name, 40)
    a, b = strategy.chunk_many([Document("./data/andrei.txt_1", MIXED), Document("b", MIXED)])
    assert texts_of(a) == texts_of(b)
    assert {chunk.source_id for chunk in a} == {"./data/andrei.txt_1"}
    assert {chunk.source_id for chunk in b} == {"b"}
    assert not {chunk.id for chunk in a} & {chunk.id for chunk in b}


def described(strategy: Strategy) -> list[list[object]]:
    """Return what identifies each chunk of the mixed text."""
    return [[c.id, c.start, c.end, c.content_hash] for c in strategy.chunk(Document("d", MIXED))]


# asyncio comes first, since it derives classes from sockets.
_ELSEWHERE = """
import asyncio, json, pickle, socket, sys
def refuse(*args, **options):
    raise AssertionError("a socket was opened")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from kinsplit.chunk import Document
from kinsplit.parsers import create
named, strategies, text = pickle.load(sys.stdin.buffer)
print(json.dumps([
    [[c.id, c.start, c.end, c.content_hash] for c in strategy.chunk(Document("d", text))]
    for strategy in [*(create(name, **parameters) for name, parameters in named), *strategies]
]))
"""


def test_22_23_processes_starting_at_once_without_network_give_the_same_ids_also_of_pickled_strategies() -> None:
    named = [(name, WITHOUT_MODEL.get(name, {})) for name in names()]
    strategies = [sized(name, 40) for name in names()]
    root = Path(__file__).parents[2]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", _ELSEWHERE],
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(root)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for seed in (0, 1)
    ]
    expected = [described(strategy) for strategy in (*map(plain, names()), *strategies)]
    for process in running:
        output, _ = process.communicate(pickle.dumps((named, strategies, MIXED)), timeout=120)
        assert process.returncode == 0
        assert json.loads(output) == expected


@every_strategy
def test_23_pickling_changes_nothing(name: str) -> None:
    strategy = sized(name, 40)
    again = pickle.loads(pickle.dumps(strategy))
    assert again == strategy
    assert again.fingerprint == strategy.fingerprint
    assert again.chunk(Document("d", MIXED)) == strategy.chunk(Document("d", MIXED))


@every_strategy
def test_23_a_callable_tokenizer_is_never_lost_in_silence(name: str) -> None:
    with pytest.raises(InvalidParameterError, match="can't be carried to another process"):
        pickle.dumps(create(name, tokenizer=str.split))


def test_25_only_headings_outside_fences_count() -> None:
    text = "# A\n~~~\n# c2\n~~~\n## B"
    chunks = checked(create("structure"), text)
    assert [(chunk.text, chunk.context) for chunk in chunks] == [("# A\n~~~\n# c2\n~~~", "A"), ("## B", "A > B")]


@pytest.mark.parametrize(("unit", "size"), [("character", 200), ("word", 60), ("token", 60)])
def test_25_each_part_of_a_long_table_carries_its_header(unit: str, size: int) -> None:
    header = "| name | value |\n|------|-------|"
    table = "\n".join([header, *(f"| row {i} | {i * i} |" for i in range(60))])
    text = f"# Report\n\nBefore.\n\n{table}\n\nAfter."
    chunks = checked(create("structure", chunk_size=size, unit=unit), text)
    parts = [chunk for chunk in chunks if regex.search(r"\| row \d", chunk.text)]
    assert len(parts) > 2
    for chunk in parts:
        assert header in f"{chunk.context}\n{chunk.text}"
        assert chunk.context.startswith("Report")
        for row in chunk.text.split("\n"):
            assert not row.startswith("| row") or row.endswith("|"), "rows are whole"
    assert sum(chunk.context.count(header) for chunk in parts) == len(parts) - 1


def test_25_offsets_are_code_points() -> None:
    assert create("character", chunk_size=1, chunk_overlap=0).split("A😀B") == [(0, 1), (1, 2), (2, 3)]
