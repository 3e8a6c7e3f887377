"""Sentences by the rules of Unicode: those of the annex itself, and how they are tailored."""

from __future__ import annotations

from itertools import pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from kinsplit.parsers.units.sentences import sentences, unicode_starts

# Properties that the rules name; "" stands for any other.
_PROPERTIES = ["Extend", "Format", "Sp", "Lower", "Upper", "OLetter", "Numeric", "ATerm", "SContinue", "STerm", "Close"]
_ENDS = {"ATerm", "STerm"}


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in pairwise([0, *unicode_starts(text), len(text)])]


def sentence_break(character: str) -> str:
    return next((name for name in _PROPERTIES if regex.match(rf"\p{{SB={name}}}", character)), "")


def breaks_before(classes: list[str], at: int) -> bool:
    """The rules SB5 to SB998 of the annex, word for word, for a text in one line."""
    if classes[at] in {"Extend", "Format"}:
        return False
    # SB5
    left = [each for i, each in enumerate(classes[:at]) if not i or each not in {"Extend", "Format"}]
    right = [each for each in classes[at:] if each not in {"Extend", "Format"}]
    spaces = len(left)
    while spaces and left[spaces - 1] == "Sp":
        spaces -= 1
    closes = spaces
    while closes and left[closes - 1] == "Close":
        closes -= 1
    if not closes or left[closes - 1] not in _ENDS:
        return False
    if left[-1] == "ATerm" and right[0] == "Numeric":  # SB6
        return False
    if left[-1] == "ATerm" and left[-2:-1] in (["Upper"], ["Lower"]) and right[0] == "Upper":  # SB7
        return False
    ahead = next((each for each in right if each in {"OLetter", "Upper", "Lower", *_ENDS}), "")
    if left[closes - 1] == "ATerm" and ahead == "Lower":  # SB8
        return False
    if right[0] in {"SContinue", *_ENDS}:  # SB8a
        return False
    if spaces == len(left) and right[0] in {"Close", "Sp"}:  # SB9
        return False
    return right[0] != "Sp"  # SB10, SB11


# Words of two letters, no brackets that open, no lines: whatever the rules aren't tailored for.
_PIECES = [
    *(
        "ab",
        "Ab",
        "éa",
        "aß",
        "ाका",
        "かな",
        "ლა",
        "12",
        "3",
        " ",
        " ",
        "  ",
        ".",
        ".",
        "!",
        "?",
        "…",
        "。",
        "।",
        "።",
        "؟",
    ),
    *(")", "’", '"', "»", ",", "-", "—", ":", "、", ";", "#", "€", "\u0301", "\u200d", "\u00ad"),
]


@settings(max_examples=500)
@given(st.lists(st.sampled_from(_PIECES), max_size=14).map("".join))
def test_sentences_of_a_line_are_those_of_the_annex(text: str) -> None:
    classes = [sentence_break(character) for character in text]
    # A full stop between a Latin letter and one without case: an abbreviation, and not the end of a sentence.
    inner = {m.start(1) for m in regex.finditer(r"[\p{SB=Upper}\p{SB=Lower}]\p{M}*\.[\p{M}\p{Cf}]*(\p{L})", text)}
    assert unicode_starts(text) == [at for at in range(1, len(text)) if breaks_before(classes, at) and at not in inner]


@pytest.mark.parametrize(
    "expected",
    [
        ["Це речення. ", "Це друге! ", "А це третє? ", "«Так.» ", "Кінець"],
        ["Ez 3.14 kb. ennyi. ", "Az ára 1.500 Ft volt az 1848. évben. ", "Vége"],
        ["Egy stb. (és így tovább). ", "Kettő"],
        ["ישר. ", "אחר כך"],
        ["Բարեւ։ ", "Ինչպես եք։ "],
        ["ខ្ញុំ​ទៅ។ ", "គាត់​នៅ៕ ", "ចប់"],
        ["သူသွားသည်။ ", "သူမနေသည်။"],
        ["ሰላም ነው። ", "እሱ ሄደ፧ ", "አዎ"],
        ["བོད་ཡིག། ", "དེ་རིང་། ", "ཡག་པོ"],
        ["यह एक है। ", "क्या? ", "हाँ॥ ", "बस"],
        ["یہ ایک ہے۔ ", "کیا؟ ", "جی"],
        ["猫坐着。", "狗在外面！", "（真的。）", "“好。”", "“完”"],
        ["Автор Т. Г. Шевченко, м. Київ. ", "Він жив."],
        ["डॉ. ए. पी. जे. अब्दुल कलाम। ", "वे गए।"],
        ["Merit Network Inc.是一家公司。", "完"],
        ["Слово.", "[Далі"],
        ["_Слово._ ", "_Далі_"],
        ["Слово. ", "(а) далі. ", "б) далі"],
        ["Каза: „Да.“ ", "После си тръгна."],
        ["Перше\nречення. ", "Друге\r\nречення.\n", "Третє."],
        ["Список:\n- перше.\n", "- друге.\n", "* третє.\n", "— Так."],
        ["Température 30 °C. ", "Après"],
    ],
    ids=lambda expected: expected[0][:12],
)
def test_sentences_by_hand(expected: list[str]) -> None:
    assert split("".join(expected)) == expected


def test_a_named_language_without_spaces_ends_sentences_at_lines_as_a_detected_one_does() -> None:
    text = "这是标题\n正文在这里\nPython 3\nJava\n结束"
    for language in ("auto", "zh", "und"):
        found = sentences(text, language)
        assert [text[s:e] for s, e in zip(found.starts, found.ends, strict=True)] == [
            *("这是标题", "正文在这里", "Python 3\nJava", "结束")
        ]
