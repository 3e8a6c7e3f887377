"""What people write in several ways meets, in any direction."""

from __future__ import annotations

import re
import time
import unicodedata
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.embedding.sparse import Bm25Embedder, compatible, folded, spelt, with_grams
from tests.generators import FRAGMENTS

_ENGLISH = Bm25Embedder()


def meet(question: str, text: str, embedder: Bm25Embedder = _ENGLISH) -> bool:
    (document,) = embedder.embed([text])
    return bool(set(embedder.embed_query(question).indices) & set(document.indices))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # Characters.
        *(("The oﬃce ﬂoor.", "office"), ("ＡＢＣ１２３ corporation", "ABC123"), ("ｶﾀｶﾅ テスト", "カタカナ")),
        *(("soft\u00adhyphen word", "softhyphen"), ("zero\u200bwidth", "zerowidth"), ("Kinsplit™ is", "kinsplit")),
        *(("CO₂ levels", "CO2"), ("x² + y²", "x2"), ("½ cup", "1/2"), ("non\u2011breaking", "nonbreaking")),
        *(("a bro-\nken word", "broken"), ("soft\u00ad\nbreak", "softbreak")),
        *(("a note¹", "note"), ("١٢٣ ریال", "123")),
        # Accents and letters.
        *(("The café is open.", "cafe"), ("Die Straße ist lang.", "strasse"), ("Müller rows.", "Muller")),
        *(("Ångström", "angstrom"), ("Øresund", "oresund"), ("Łódź", "lodz"), ("Nguyễn", "nguyen")),
        *(("Đà Nẵng", "nang"), ("œuvre", "oeuvre"), ("encyclopædia", "encyclopaedia"), ("İstanbul", "istanbul")),
        *(("IŞIK", "ışık"), ("ёлка", "елка"), ("ΟΔΥΣΣΕΥΣ", "οδυσσεύς"), ("مُحَمَّد كتب", "محمد"), ("שָׁלוֹם", "שלום")),
        # Names, joined and in parts.
        *(("Wi-Fi here", "wifi"), ("an e-mail", "email"), ("GPT-4o works", "gpt4o"), ("COVID-19", "covid19")),
        *(("state-of-the-art", "stateoftheart"), ("Node.js", "nodejs"), ("a PhD", "Ph.D."), ("iPhone 15", "iphone15")),
        *(("the HTTPServer class", "server"), ("get_user_by_id(x)", "getUserById"), ("MacBook", "mac book")),
        *(("R&D budget", "RD"), ("ERR_CONNECTION_REFUSED", "connection"), ("Windows10", "windows 10")),
        *(("We write C++ code", "C++"), ("C# code", "csharp"), ("the .NET runtime", "dotnet"), ("16GB", "16 GB")),
        ("O’Brien", "OBrien"),
        # Numbers.
        *(("1,000,000 euros", "1000000"), ("1 000 000 euros", "1000000"), ("1.000.000 Euro", "1000000")),
        *(("1.234,56 €", "1234"), ("C++17 and C#8", "c++"), ("C#8 and C++17", "c#"), ("१२३", "123")),
        *(("12,34,567 rupees", "1234567"), ("1'000'000 Franken", "1000000"), ("1\u202f000 euros", "1000")),
        *(("ISBN 978-3-16-148410-0", "9783161484100"), ("version 3.11.4", "3.11"), ("room 0042", "0042")),
        # Scripts without spaces.
        *(("日本\n語の文書", "本語"), ("한글을 창제하였다", "한글 창제"), ("책을", "책")),
        *(("대한민국의 수도", "대한민국"), ("😀 smile", "😀"), ("🇩🇪 team", "🇩🇪")),
    ],
)  # fmt: skip
def test_what_is_the_same_meets(one: str, other: str):
    assert meet(one, other)
    assert meet(other, one)
    for form in ("NFC", "NFD"):
        assert meet(unicodedata.normalize(form, other), unicodedata.normalize(form, one))
        assert meet(other, unicodedata.normalize("NFD", one))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        *(("C#", "We write C++."), ("C++", "Only C here."), ("Mueller", "Müller"), ("42", "room 0042")),
        *(("105", "10⁵ cells"), ("105", "10^5 cells"), ("21", "2½ cups"), ("1015", "pages 10-15"), ("3114", "3.114")),
        *(("the who", "The river froze, who knows."), ("colour", "color"), ("미국", "서울")),
    ],
)
def test_what_differs_does_not_meet(question: str, text: str):
    assert not meet(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [("to be or not to be", "To be or not to be?"), ("the who", "The Who played."), ("IT", "The IT department.")],
)
def test_stop_words_alone_are_found(question: str, text: str):
    assert meet(question, text)
    assert not meet(question, "And so it was for the best of them.")


def test_a_letter_beside_a_word_counts():
    a, c = _ENGLISH.embed(["Vitamin A is in carrots.", "Vitamin C is in lemons."])
    asked = set(_ENGLISH.embed_query("Vitamin A").indices)
    assert len(asked & set(a.indices)) > len(asked & set(c.indices))


@pytest.mark.parametrize(
    ("language", "text", "other"),
    [("french", "Les élèves", "eleve"), ("german", "Schöner Käse", "schoner kase"), ("spanish", "canción", "cancion")],
)
def test_stems_and_stop_words_keep_their_accents_where_they_need_them(language: str, text: str, other: str):
    embedder = Bm25Embedder(language)
    assert meet(text, other, embedder)
    assert meet(other, text, embedder)


def test_a_word_with_accents_weighs_as_much_as_one_without():
    french = Bm25Embedder("french")
    for word, weight in (("élève", 0.5), ("table", 1)):
        asked = french.embed_query(word)
        weights = dict(zip(asked.indices, asked.values, strict=True))
        assert {weights[term] for term in french.words(word)} == {weight}
    assert french.words("même été") == frozenset()  # stop words


@pytest.mark.parametrize("language", ["english", "french", None])
@given(text=st.lists(st.sampled_from(FRAGMENTS), max_size=6).map("".join) | st.text(max_size=60))
def test_a_text_and_its_decomposed_form_have_the_same_terms(language: str | None, text: str):
    text = text.encode("utf-8", "replace").decode()
    embedder = Bm25Embedder(language)
    assert embedder.words(text) == embedder.words(unicodedata.normalize("NFD", text))
    assert embedder.words(text) <= set(embedder.embed([text])[0].indices)


@pytest.mark.parametrize("step", [compatible, folded, spelt, with_grams])
@pytest.mark.parametrize(
    "piece",
    ["111 ", "1,11", "1.111", "a-", "a.", "aB", "é", "é-", "1", "a1", "日\n", "_", "&", "'", "1'111", "C#", "ő"],
)
def test_hostile_text_takes_linear_time(step, piece: str):
    start = time.process_time()
    step(piece * 200_000 + "1x")
    assert time.process_time() - start < 5


# What terms reach across, around what may end a sentence or a line.
_WORDS = (
    "U.S.",
    "NASA",
    "PDFs",
    "PS3",
    "to be",
    "The",
    "Who",
    "A",
    "owl",
    "Sparse",
    "large",
    "10",
    "000",
    "bro-",
    "ken",
    "é",
)
_ENDS = (
    " ",
    "\n",
    "\n\n",
    " \n",
    ". ",
    ".\n",
    ") ",
    "),\n",
    "s\n\n",
    ": ",
    "!\n\n",
    "|\n",
    "1\n",
    "-\n",
    "\u2029",
    "日\n",
)
_PIECES = st.lists(st.tuples(st.sampled_from(_WORDS), st.sampled_from(_ENDS)), min_size=1, max_size=12)


@pytest.mark.parametrize(
    "embedder", [_ENGLISH, Bm25Embedder("german"), Bm25Embedder(None)], ids=lambda each: each.language
)
@given(pieces=_PIECES)
def test_sentences_that_are_read_on_their_own_have_the_terms_of_the_whole_text(embedder, pieces):
    text = "".join(map("".join, pieces))
    with patch("kinsplit.embedding.sparse._BREAK", re.compile("(?!)")):
        (whole,) = embedder.embed([text])
    assert all(
        dict(zip(each.indices, each.values, strict=True)) == dict(zip(whole.indices, whole.values, strict=True))
        for each in embedder.embed([text, text])
    )
