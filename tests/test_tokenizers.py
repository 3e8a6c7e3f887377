"""Tokenizers: the same counts and offsets as their references, raw text, loading and errors."""

from __future__ import annotations

import functools
import hashlib
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings

from kinsplit.chunk import Document
from kinsplit.errors import InvalidParameterError, MissingExtraError, TokenizerError
from kinsplit.parsers import create
from kinsplit.tokenizers import BUNDLED_SHA256, UnknownScriptWarning, describe, resolve, word_piece
from tests.generators import FRAGMENTS, strategy_parameters, texts
from tests.parsers.contract import check_chunks
from tests.parsers.sized import sized
from tests.tokenizer_files import KINDS, bundled_tokenizer, saved

SPECIAL = ["<|endoftext|>", "[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]", "<s>", "</s>", "<unk>", "<pad>"]
COUNTING = ["token", "sentence", "structure", "hierarchical"]
MIXED = "".join(FRAGMENTS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tokenizers")


@functools.cache
def tokenizer_file(kind: str, folder: Path) -> str:
    (folder / kind).mkdir()
    return str(saved(kind, folder / kind))


@functools.cache
def bundled_reference() -> tokenizers.Tokenizer:
    """Return the bundled vocabulary as `tokenizers` reads it, without truncation and padding."""
    return bundled_tokenizer()


def valid(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def expected_starts(text: str, reference: tokenizers.Tokenizer) -> list[int]:
    """Return the offsets of the reference's tokens, and of every fourth character in unknown ones."""
    read = reference.encode(text, add_special_tokens=False)
    unknown = {reference.token_to_id(name) for name in ("[UNK]", "<unk>")}
    return [
        offset
        for token, (start, end) in zip(read.ids, read.offsets, strict=True)
        for offset in (range(start, end, 4) if token in unknown else [start])
    ]


@pytest.mark.parametrize("text", [f for f in FRAGMENTS if "[MASK]" not in f and "\ud800" not in f])
def test_bundled_counts_and_offsets_are_the_references(text: str) -> None:
    expected = expected_starts(text, bundled_reference())
    bundled = resolve("bundled")
    assert bundled.count([text]).tolist() == [len(expected)]
    assert bundled.starts([text])[0].tolist() == expected


def test_every_code_point_is_read_as_by_the_reference() -> None:
    # Earlier bug: the libraries' Unicode tables are from different years, so 820,008 characters were not counted.
    points = [*range(0, 0xD800, 29), *range(0xE000, 0x30000, 61), *range(0x30000, 0x110000, 4999)]
    around = [text for point in points for text in (chr(point), f"a{chr(point)}b")]
    expected = bundled_reference().encode_batch_fast(around, add_special_tokens=False)
    ids, counts = resolve("bundled").encode(around)
    assert counts.tolist() == [len(e.ids) for e in expected]
    assert ids.tolist() == [token for e in expected for token in e.ids]


def test_all_code_points_are_normalised_as_by_the_reference() -> None:
    # Not by Python's Unicode tables, which are of another year in each version of Python.
    normalizer, pre_tokenizer = bundled_reference().normalizer, bundled_reference().pre_tokenizer
    # Letters of Unicode 16 and 17, which tokenizers knows from 0.22.2 on, make unknown words either way.
    is_new = normalizer.normalize_str("\u1c89") == "\u1c8a"
    new = set() if is_new else {0x1C89, *range(0xA7CB, 0xA7DD), *range(0x10D50, 0x10D66), *range(0x16EA0, 0x16EB9)}
    points = [
        *range(0x3400),
        *range(0x3400, 0xD800, 7),
        *range(0xE000, 0x20000),
        *range(0x20000, 0x33480, 7),
        *range(0x33480, 0xE0000, 997),
        *range(0xE0000, 0x110000, 31),
    ]
    text = "".join(f"{chr(point)}x" for point in points if point not in new)
    expected = [word for word, _ in pre_tokenizer.pre_tokenize_str(normalizer.normalize_str(text))]
    assert [word for word in word_piece._split(text) if word] == expected


@functools.cache
def exact_tokenizer() -> word_piece.WordPiece:
    found = word_piece.WordPiece.of({**word_piece.bundled(), "added_tokens": []})
    assert found is not None
    return found


@settings(max_examples=100)
@given(text=texts())
def test_the_exact_tokenizer_has_the_references_ids_and_offsets(text: str) -> None:
    exact, text = exact_tokenizer(), valid(text)
    read = bundled_reference().encode(text, add_special_tokens=False)
    if not any(token.startswith("[") and len(token) > 1 for token in read.tokens if token != "[UNK]"):
        assert exact.encode([text])[0].tolist() == read.ids
        assert exact.starts([text])[0].tolist() == [start for start, _ in read.offsets]


@pytest.mark.parametrize("text", ["\u0378 " * 700, "x\u2e43 " * 700, "\U000e0fff." * 400])
def test_no_chunk_has_more_tokens_than_the_reference_allows(text: str) -> None:
    for chunk in create("sentence").chunk(Document("d", f"The end. {text} The beginning.")):
        assert len(bundled_reference().encode(chunk.text, add_special_tokens=False).ids) <= 500


UNKNOWN = {
    "thai": "สวัสดีครับยินดีต้อนรับ",
    "khmer": "សួស្តីពិភពលោក",
    "lao": "ສະບາຍດີຊາວໂລກ",
    "myanmar": "မင်္ဂလာပါကမ္ဘာ",
    "ethiopic": "አማርኛሰላምለዓለም",
    "telugu": "నమస్కారంప్రపంచం",
    "malayalam": "നമസ്കാരംലോകം",
    "gujarati": "નમસ્તેદુનિયા",
    "sinhala": "ආයුබෝවන්ලෝකය",
    "hex": "deadbeef0123" * 20,
}


@pytest.mark.parametrize("space", ["", " "], ids=["unbroken", "spaced"])
@pytest.mark.parametrize("script", UNKNOWN)
def test_unknown_words_count_by_their_characters(script: str, space: str) -> None:
    # Earlier bug: a megabyte of hexadecimal digits was one token, and 30,399 Thai characters were 500.
    word = UNKNOWN[script]
    text = (word + space) * (3_000 // len(word))
    tokenizer = resolve("bundled")
    (count,) = tokenizer.count([text]).tolist()
    assert len(text) / 4.5 <= count <= len(text)
    assert len(tokenizer.starts([text])[0]) == count
    assert tokenizer.count([f"(See {word}.)"])[0] == tokenizer.count(["(See.)", word]).sum()
    for name in ("token", "sentence", "structure", "cluster"):
        strategy, document = sized(name, 100, "token"), Document("d", text)
        chunks = strategy.chunk(document)
        check_chunks(strategy, document, chunks)
        assert 20 < max(len(chunk.text) for chunk in chunks) <= 500


def test_short_words_count_as_the_tokenizer_counts_them() -> None:
    words = ["✓✓✓✓", "🤣", "x" * 100, "cafe\u0301s", "食べ物", "東京都" * 20, "ก", "https://example.com/" + "a-b/" * 40]
    own = [len(bundled_reference().encode(word, add_special_tokens=False).ids) for word in words]
    assert resolve("bundled").count(words).tolist() == own


def test_an_unknown_script_is_named_with_a_remedy_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            resolve("bundled").count([UNKNOWN["thai"] * 30, UNKNOWN["hex"] * 30, "A quote: " + UNKNOWN["lao"]])
    (only,) = caught
    assert only.category is UnknownScriptWarning
    assert "'bundled' doesn't know words in Thai script" in str(only.message)
    assert 'tokenizer="hf:' in str(only.message)


def test_bundled_counts_words_of_prose_as_the_reference_does() -> None:
    words = ("It was the best of times; it was (perhaps) the worst of tymes, wasn't it? " * 40).split()
    pieces = [" ".join(words[i:j]) for i in range(0, len(words), 7) for j in (i + 1, i + 5, i + 50)]
    expected = bundled_reference().encode_batch(pieces, add_special_tokens=False)
    assert resolve("bundled").count(pieces).tolist() == [len(e.ids) for e in expected]
    ids, counts = resolve("bundled").encode(pieces)
    assert ids.tolist() == [token for e in expected for token in e.ids]
    assert counts.tolist() == [len(e.ids) for e in expected]


def test_bundled_reads_past_the_256_tokens_of_its_model() -> None:
    assert resolve("bundled").count(["word " * 3000]).tolist() == [3000]


@pytest.mark.parametrize("name", ["bundled", "word_piece", "byte_level"])
def test_what_looks_like_a_special_token_is_counted_as_text(name: str, folder: Path) -> None:
    tokenizer = resolve(name if name == "bundled" else tokenizer_file(name, folder))
    for special in SPECIAL:
        assert tokenizer.count([special])[0] > 1
        assert len(tokenizer.starts([special])[0]) == tokenizer.count([special])[0]


@pytest.mark.parametrize("kind", KINDS)
def test_no_special_tokens_truncation_or_padding(kind: str, folder: Path) -> None:
    made = KINDS[kind]()
    made.no_truncation()
    made.no_padding()
    text = "The quick brown fox jumps over the lazy dog. " * 9
    expected = made.encode(text, add_special_tokens=False)
    tokenizer = resolve(tokenizer_file(kind, folder))
    assert tokenizer.count([text, ""]).tolist() == [len(expected.ids), 0]
    assert tokenizer.starts([text])[0].tolist() == [start for start, _ in expected.offsets]


def test_a_folder_with_a_tokenizer_json_is_enough(folder: Path) -> None:
    file = tokenizer_file("word_piece", folder)
    by_folder = resolve(str(Path(file).parent))
    assert by_folder.count([MIXED]).tolist() == resolve(file).count([MIXED]).tolist()


def test_a_named_tokenizer_is_loaded_once(folder: Path) -> None:
    assert resolve("bundled") is resolve("bundled")
    assert resolve(tokenizer_file("unigram", folder)) is resolve(tokenizer_file("unigram", folder))


@pytest.mark.parametrize("encoding", ["cl100k_base", "o200k_base"])
def test_tiktoken_encodings_are_there_offline(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    pytest.importorskip("llama_index.core", reason="llama-index-core carries the encodings")
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    tokenizer = resolve(f"tiktoken:{encoding}")
    reference = tiktoken.get_encoding(encoding)
    text = valid(MIXED)
    assert tokenizer.count([text]).tolist() == [len(reference.encode_ordinary(text))]
    assert tokenizer.count(["<|endoftext|>"])[0] > 1
    starts = tokenizer.starts([text])[0]
    assert len(starts) == tokenizer.count([text])[0]
    assert starts[0] == 0
    assert (np.diff(starts) >= 0).all()
    assert starts[-1] < len(text)


def test_a_tiktoken_encoding_that_is_not_there_is_named() -> None:
    pytest.importorskip("tiktoken")
    with pytest.raises(TokenizerError, match="tiktoken:no_such_base"):
        resolve("tiktoken:no_such_base")


def test_tiktoken_itself_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tiktoken", None)
    with pytest.raises(MissingExtraError, match="kinsplit\\[tiktoken\\]"):
        resolve("tiktoken:gpt2")


@pytest.mark.parametrize(
    "spec", ["no-such-tokenizer", "tiktoken:", "hf:", "", "bert-base-uncased", "./nowhere/tokenizer.json"]
)
def test_a_name_that_leads_nowhere_is_refused(spec: str) -> None:
    with pytest.raises(TokenizerError, match="neither a known name nor a tokenizer\\.json") as caught:
        resolve(spec)
    assert repr(spec) in str(caught.value)
    assert '"bundled"' in str(caught.value)


def test_a_hub_tokenizer_without_network_is_refused_with_its_name() -> None:
    with pytest.raises(TokenizerError, match="hf:kinsplit-tests/no-such-repository"):
        resolve("hf:kinsplit-tests/no-such-repository")


@pytest.mark.parametrize("content", ["", "{}", "not json", "[1, 2]", '{"model": {"type": "Nothing"}}'])
def test_a_file_that_is_no_tokenizer_is_refused_with_its_name(content: str, tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_text(content)
    with pytest.raises(TokenizerError, match="is not a tokenizer\\.json") as caught:
        resolve(str(file))
    assert str(file) in str(caught.value)


def test_a_file_that_is_not_utf8_is_refused_with_its_name(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TokenizerError, match="is not a tokenizer\\.json"):
        resolve(str(file))


def test_a_tokenizer_that_is_not_there_stops_the_strategy_with_a_clear_error() -> None:
    with pytest.raises(TokenizerError, match="no-such-tokenizer"):
        create("token", tokenizer="no-such-tokenizer").split("Some text.")


@pytest.mark.parametrize("wrong", [None, 3, 2.5, ["bundled"], {"name": "bundled"}, b"bundled", object()])
def test_what_is_no_tokenizer_is_refused_at_construction(wrong: object) -> None:
    with pytest.raises(InvalidParameterError, match="tokenizer: must be a name, a path, a tokenizer or a callable"):
        create("token", tokenizer=wrong)
    with pytest.raises(InvalidParameterError, match="tokenizer: must be"):
        resolve(wrong)


@pytest.mark.parametrize("function", [len, lambda text: text, lambda text: None, lambda text: iter(text.split())])
def test_a_callable_that_returns_no_list_is_refused(function: Any) -> None:
    with pytest.raises(InvalidParameterError, match="must return the list of a text's tokens"):
        create("token", tokenizer=function).split("Some text.")


def test_a_callable_counts() -> None:
    tokenizer = resolve(str.split)
    assert tokenizer.count(["one two", "", "three"]).tolist() == [2, 0, 1]
    assert tokenizer.starts(["one  two"])[0].tolist() == [0, 5]
    assert create("token", chunk_size=2, stride=2, tokenizer=str.split).split("one two three") == [(0, 7), (8, 13)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_tokenizer_object_counts_like_its_file(kind: str, folder: Path) -> None:
    text = valid(MIXED)
    by_object, by_file = resolve(KINDS[kind]()), resolve(tokenizer_file(kind, folder))
    # Training is not deterministic for every kind, so the object is saved and read again as well.
    again = resolve(tokenizers.Tokenizer.from_file(tokenizer_file(kind, folder)))
    assert again.count([text]).tolist() == by_file.count([text]).tolist()
    assert by_object.count([text])[0] > 0


def test_a_fast_tokenizer_of_transformers_counts_like_its_file(folder: Path) -> None:
    transformers = pytest.importorskip("transformers")
    file = tokenizer_file("word_piece", folder)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_file=file)
    text = valid(MIXED)
    assert resolve(fast).count([text]).tolist() == resolve(file).count([text]).tolist()
    strategy = create("token", chunk_size=20, stride=10, tokenizer=fast)
    document = Document("d", text)
    check_chunks(strategy, document, strategy.chunk(document))


def test_an_encoding_object_of_tiktoken_counts_like_its_name() -> None:
    tiktoken = pytest.importorskip("tiktoken")
    pytest.importorskip("llama_index.core", reason="llama-index-core carries cl100k_base")
    named = resolve("tiktoken:cl100k_base")
    assert resolve(tiktoken.get_encoding("cl100k_base")).count([MIXED]).tolist() == named.count([MIXED]).tolist()


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("bundled", "bundled"),
        (str.split, "object:builtins.str.split"),
        (list, "object:builtins.list"),
        (functools.partial(str.split, sep="x"), "object:functools.partial"),
    ],
)
def test_objects_are_described_without_their_address(spec: object, name: str) -> None:
    assert describe(spec) == name


def counting_every(step: int) -> Callable[[str], list[str]]:
    return lambda text: list(text[::step])


def test_functions_without_a_name_are_distinguished_by_their_code() -> None:
    by_word, by_letter, other_letter = (lambda t: t.split()), (lambda t: list(t)), (lambda text: list(text))
    assert describe(by_word) != describe(by_letter)
    assert describe(other_letter) == describe(by_letter)
    assert describe(counting_every(2)) == describe(counting_every(2)) != describe(counting_every(3))
    assert create("sentence", tokenizer=by_word).fingerprint != create("sentence", tokenizer=by_letter).fingerprint

    def itself(text: str) -> list[str]:
        return [*itself(text[1:]), text[0]] if text else []

    assert describe(itself).startswith("object:tests.test_tokenizers.")


def test_methods_are_distinguished_by_their_objects() -> None:
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)}
    one, other = (tiktoken.Encoding(name, pat_str=".", mergeable_ranks=ranks, special_tokens={}) for name in "ab")
    assert describe(one.encode) != describe(other.encode)
    assert describe(one.encode).endswith("Encoding:a")


def test_lone_surrogates_are_counted_as_the_replacement_character(folder: Path) -> None:
    for spec in ["bundled", *(tokenizer_file(kind, folder) for kind in KINDS)]:
        tokenizer = resolve(spec)
        assert tokenizer.count(["a \ud800 b"]).tolist() == tokenizer.count(["a \ufffd b"]).tolist()
        assert tokenizer.starts(["a\ud800b"])[0].tolist() == tokenizer.starts(["a\ufffdb"])[0].tolist()


def test_delete_is_dropped_whatever_stands_around_it() -> None:
    assert resolve("bundled").count(["a\x7fb", "\x7f", "a \x7f b", "a\x7fb é"]).tolist() == [1, 0, 2, 2]


@pytest.mark.parametrize("name", ["bundled", "word_piece", "byte_level"])
@pytest.mark.parametrize(
    "text",
    [
        "é" * 35_000,
        "x" * 70_000,
        "x" * 70_000 + ".",
        "今天天气很好。" * 3_500,
        "今天" * 12_000,
        ("x" * 30_000 + " ") * 3,
        "a/b-c_" * 12_000,
        "\x0b" * 20_000 + "abc",
        "The quick brown fox. " * 3_500,
    ],
    ids=lambda text: ascii(text[:4]),
)
def test_long_texts_are_counted_as_the_reference_counts_them(name: str, text: str, folder: Path) -> None:
    # From 64 KiB on, the fast counter cuts a text once per core, inside words and even characters.
    tokenizer = resolve(name if name == "bundled" else tokenizer_file(name, folder))
    if name == "bundled":
        reference = bundled_reference()
    else:
        reference = tokenizers.Tokenizer.from_file(tokenizer_file(name, folder))
        reference.no_truncation()
        reference.no_padding()
    expected = reference.encode(text, add_special_tokens=False).ids
    assert tokenizer.count(["one two", text, ""]).tolist()[1] == len(expected_starts(text, reference))
    assert tokenizer.count([text + "\ud800"])[0] >= len(expected)
    ids, counts = tokenizer.encode(["one two", text, ""])
    assert ids[counts[0] :].tolist() == expected
    assert counts[1:].tolist() == [len(expected), 0]


def test_tokens_with_white_space_inside_do_not_add_up(tmp_path: Path, folder: Path) -> None:
    content = json.loads(Path(tokenizer_file("word_piece", folder)).read_text())
    token = {"id": 900, "content": "New York", "special": False, "single_word": False}
    content["added_tokens"].append({**token, "lstrip": False, "rstrip": False, "normalized": False})
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(content))
    assert resolve(str(file)).count(["New York"]).tolist() == [1]
    for name in COUNTING:
        strategy = sized(name, 5, "token", tokenizer=str(file))
        document = Document("d", "New York is New York. " * 20)
        check_chunks(strategy, document, strategy.chunk(document))


@pytest.mark.parametrize("name", COUNTING)
@pytest.mark.parametrize("kind", [*KINDS, "split", "list"])
def test_every_kind_of_tokenizer_keeps_the_invariants(kind: str, name: str, folder: Path) -> None:
    tokenizer: Any = {"split": str.split, "list": list}.get(kind) or tokenizer_file(kind, folder)

    @settings(max_examples=12)
    @given(text=texts(), parameters=strategy_parameters(name))
    def check(text: str, parameters: dict[str, Any]) -> None:
        strategy = create(name, **{**parameters, "tokenizer": tokenizer})
        document = Document("d", text)
        check_chunks(strategy, document, strategy.chunk(document))

    check()


@pytest.mark.parametrize("kind", [*KINDS, "bundled"])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("No. \x1b\n[text](../path/to/file.md) some;;text... ", id="dropped word before a line end"),
        pytest.param("No. No. No. 0\n\x1f\n0:", id="dropped word that is white space"),
        pytest.param("e" + "\u0301\u0323" * 12 + "No. No. ", id="cluster wider than the window"),
        pytest.param("line one.\r\nline two.\r\n\r\nline three.\r\n", id="white space as wide as a window"),
        pytest.param("Hi 👩\u200d👩\u200d👧\u200d👦 café 🤣🤣. ", id="family"),
        pytest.param("## Deeper ##\n\n\xa0\u2003\x80ঀ𐀀", id="white space of several bytes"),
        pytest.param("No. No. No. 0\U0001239aalpha -- beta -- -- gamma ", id="character that one library knows"),
    ],
)
def test_token_windows_that_once_went_wrong(kind: str, text: str, folder: Path) -> None:
    tokenizer = kind if kind == "bundled" else tokenizer_file(kind, folder)
    for size, stride in [(8, 1), (9, 9), (12, 12)]:
        strategy = create("token", chunk_size=size, stride=stride, tokenizer=tokenizer)
        document = Document("d", text)
        check_chunks(strategy, document, strategy.chunk(document))


def test_the_bundled_tokenizer_is_the_published_one() -> None:
    content = json.dumps(word_piece.bundled(), ensure_ascii=False, separators=(",", ":")).encode()
    assert hashlib.sha256(content).hexdigest() == BUNDLED_SHA256
