"""Sentences as in Punkt, and at blank lines and the stops of unspaced scripts."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import punkt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinsplit.chunk import Document
from kinsplit.errors import InvalidParameterError
from kinsplit.parsers import create
from kinsplit.parsers.units import punkt as punkt_module
from kinsplit.parsers.units.languages import OTHER, detect_language, is_surely_english
from kinsplit.parsers.units.punkt import PUNKT_LANGUAGES, Punkt, abbreviations
from kinsplit.parsers.units.sentences import sentences
from kinsplit.text.marks import ends_with_enumerator, enumerator_start, item_starts, without_closing_marks
from tests.generators import texts
from tests.shared_data import shared_documents

CHROMA = ["chatlogs", "finance", "pubmed", "state_of_the_union", "wikitexts"]
XQUAD = ["ar", "de", "hi", "th", "zh"]


def spans(text: str, language: str = "auto", *, join_speech: bool = False) -> list[tuple[int, int]]:
    units = sentences(text, language, join_speech=join_speech)
    return list(zip(units.starts.tolist(), units.ends.tolist(), strict=True))


def split(text: str, language: str = "auto", *, join_speech: bool = False) -> list[str]:
    return [text[start:end] for start, end in spans(text, language, join_speech=join_speech)]


def punkts(text: str, language: str, line_breaks: str = "ignore") -> list[tuple[int, int]]:
    """Return Punkt's own sentences, without the white space that may stand before the first."""
    name = PUNKT_LANGUAGES[language]
    try:
        rules = punkt.rules_for_language(name)
    except LookupError:
        rules = None
    tokenizer = punkt.PunktSentenceTokenizer(punkt.load_model(name), rules=rules, line_breaks=line_breaks)
    found = [(start, text[start:end]) for start, end in tokenizer.span_tokenize(text)]
    return [(start + len(s) - len(s.lstrip()), start + len(s)) for start, s in found if s.strip()]


def punkts_and_ours(text: str, language: str) -> list[tuple[int, int]]:
    """Return Punkt's sentences with our rules on top.

    A blank line ends a sentence, also where lines end in CR LF. What consists of full stops alone goes with the
    sentence before it. A typographic quotation mark right behind a full stop closes what it stands in, and the
    sentence goes on if no white space follows. It goes on behind some abbreviations, too. Punkt doesn't see the marks
    that close a sentence, and the enumerator at the end of a sentence begins the next.
    """
    given, text = text, without_closing_marks(text, {character for character in text if not character.isascii()})
    starts = set(item_starts(text))
    for start, _ in punkts(text, language):
        if goes_on_behind_an_abbreviation(text, start, language):
            continue
        quote = re.compile(r"(?<=\S)[“”’»]+(\s*)").match(text, start)
        if quote is None:
            starts.add(start)
        elif quote[1]:
            starts.add(quote.end())
    joined: list[tuple[int, int]] = []
    begun = None
    for start, stop in pairwise([0, *sorted(starts), len(text)]):
        stripped = given[start:stop].strip()
        start = given.find(stripped, start)
        stop = start + len(stripped)
        if stripped and begun is not None:
            start, begun = begun, None
        elif joined and re.fullmatch(r"[\s.?!]+", stripped):
            joined[-1] = (joined[-1][0], stop)
            continue
        if start < stop < len(given.rstrip()) and enumerator_start(given, start, stop) < stop:
            begun = enumerator_start(given, start, stop)
            stop = start + len(given[start:begun].rstrip())
        if start < stop:
            joined.append((start, stop))
    return joined


def goes_on_behind_an_abbreviation(text: str, start: int, language: str) -> bool:
    known = abbreviations(language)
    before, here = text[:start][-24:], text[start:][:24]
    # Punkt's words end at ASCII white space, and behind others it begins no sentence.
    stop = re.search(r"(?:^|[ \t\r\n\x0b\x0c])([^ \t\r\n\x0b\x0c]+)\.\s+([\"')\]}“”’»]*)\s*$", before)
    if stop is None:
        return False
    for entry in (entry for entry in known.open if "." in entry):  # "z. B."
        spaced = re.escape(entry).replace(r"\.", r"\.\s") + r"\.\s+"
        if any(m.start() < len(before) <= m.end() for m in re.finditer(rf"(?i)(?<!\w){spaced}", before + here)):
            return True
    word = re.sub(r"^[\W_]+", "", stop[1]).lower()
    if word in known.open:
        return True
    if stop[2]:
        return False
    if word in known.counted and re.match(r"[(#]?[A-Z]?\d|[IVXLC]{2,}\b", here):
        return True
    return word in known.trailing and here[0].islower()


@pytest.mark.parametrize("corpus", CHROMA)
def test_english_sentences_are_punkts_but_for_abbreviations(corpus: str) -> None:
    for document in shared_documents(f"chroma/{corpus}/docs.jsonl"):
        found, theirs = spans(document.text, "en"), punkts_and_ours(document.text, "en")
        assert found == theirs
        # Papers are full of "et al." and "Fig.", chats of numbered lists.
        assert len(found) >= {"pubmed": 0.85, "chatlogs": 0.95}.get(corpus, 0.99) * len(
            punkts(document.text, "en", "paragraph")
        )


def test_german_sentences_are_punkts() -> None:
    for document in shared_documents("xquad/de/docs.jsonl"):
        assert spans(document.text, "de") == punkts_and_ours(document.text, "de")


# fmt: off
PIECES = [
    "the", "cat", "She", "I", "Smith", "Paris", "costs", "and", "it's", "U.S.", "e.g.", "i.e.", "etc.", "Dr.", "Mrs.",
    "J.", "K.", "a.m.", "p.m.", "No.", "vs.", "3.14", "$3.50", "1,234.5", "2.", "10.", "1990s.", "v2.0", "-5.", "...",
    "....", ". . .", "word.", "word!", "word?", "word?!", "word.)", 'word."', "word.'", "(word.)", "[1]", "end.[2]",
    "“Quoted.”", "“Really?”", "‘so.’", "—", "--", "-", ",", ";", "»", "Ph.D.", "St.", "www.example.com", "a.b.c",
    "x.y.", "!", "?", ".", "!!!", '"', "(", ")", "*", "U.N.", "co.", "Inc.", "Jan.", "Mr. X.", "Yahoo!", "naïve.",
]
# fmt: on
GAPS = [" ", " ", " ", " ", "  ", "\n", "\n\n", "\r\n", "\r\n\r\n", " \n \n", "\t", "", "\u00a0"]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(GAPS)), max_size=25))
def test_english_sentences_of_any_text_are_punkts(pieces: list[tuple[str, str]]) -> None:
    text = "".join(piece + gap for piece, gap in pieces)
    assert spans(text, "en") == punkts_and_ours(text, "en")


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        pytest.param("en", expected, id=expected[0][:20])
        for expected in [
            ["Dr. Smith paid $3.50 to Mr. J. K. Rowling at 5 p.m. on Jan. 5.", "She smiled."],
            ['"Really?"', "he asked.", '"Yes!"', "(It was.)", "Pi is 3.14159... or so."],
            ['He said "Stop."', "Then he left."],
            ["Visit www.example.com.", "The U.S. map is v2.0."],
            ["Wow! !!", "What?!", "No..."],
        ]
    ]
    + [
        pytest.param(language, expected, id=language)
        for language, expected in [
            (
                "de",
                [
                    "Dr. Müller kam am 3. Oktober um 9.30 Uhr an.",
                    "Siehe S. 12 ff. im Buch.",
                    "Er ging ... Dann kam er.",
                ],
            ),
            (
                "fr",
                ["M. Dupont est arrivé à 9 h.", "Il a payé 3,50 euros.", "Il attend...", "Voir p. 12, etc. et la fin."],
            ),
            ("de", ["Er fragte: „Wirklich?“, und sie sagte: „Ja!“", "»Nein.«", "„Doch.“", "Siehe S. 5."]),
            ("fr", ["« Vraiment ? »", "dit-elle.", "« Oui ! »", "Il sourit.", "«Bon.»", "Fin."]),
            ("es", ["El Sr. Pérez pagó 3,50 €.", "¿De verdad?", "¡Sí!", "Fin."]),
            ("ru", ["Это стоит 3,5 руб. за кг.", "«Правда?»", "— спросила она.", "Да!"]),
            ("hi", ["यह एक वाक्य है।", "क्या आप आएँगे?", "मूल्य 3.50 है।", "“सच?”", "हाँ॥", "ठीक है..."]),
            ("ar", ["كيف حالك؟", "السعر 3.50 دولار.", "«حقا؟»", "سألت.", "نعم!", "ثم ذهب۔", "حسنا؛ تمام."]),
        ]
    ],
)
def test_sentences_by_hand(language: str, expected: list[str]) -> None:
    assert split(" ".join(expected), language) == expected


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", ["Use a list, e.g. a stack, i.e. an array (cf. Knuth).", "It works."]),
        ("en", ["See Fig. 3 and Figs. 4a and 5, Eq. (3), Sec. 2, p. 3, pp. 4-5 and Vol. II.", "Done."]),
        ("en", ["Dr. Smith, Mr. X and Mrs. Jones met.", "Apples vs. Oranges is a game."]),
        ("en", ["No. 5 is alive.", "No.", "It is not.", "I ate a fig.", "It was good."]),
        ("en", ["Cats, dogs, etc. and birds.", "I like cats, dogs, etc.", "They came."]),
        ("en", ["Smith et al. (2010) say so, and Jones et al. deny it.", "So did Smith et al.", "Then all left."]),
        ("de", ["Das ist z. B. gut, d. h. so, z.B. Abb. 3, Kap. 4 usw. und mehr.", "Vgl. Müller, ca. 30 Seiten."]),
        ("fr", ["L'art. 5 le dit, l’art. 6 aussi.", "« Oui. »[2]", "« Non. »", "C'est l'art.", "Fin."]),
        ("ru", ["См. рис. 3, ст. 5 и гл. IV.", "2. Предмет.", "Да."]),
        ("en", ["Under Art. 5 they pay.", "Item 1A. Risks.", "Nach § 3 Abs. 2 so.", "See Step 2.", "So."]),
        ("fr", ["Voir fig. 3, p. ex. ceci.", "Cf. M. Dupont et Mme. Curie, chap. 3 etc. et la fin.", "Fin."]),
        ("es", ["Ud. sabe, p. ej. esto, la pág. 4, la fig. 3, etc. y más.", "Fin."]),
        ("it", ["Il sig. Rossi, p. es. lui, v. fig. 3 ecc. e altri.", "Ad es. il Dott. Bianchi.", "Fine."]),
    ],
)
def test_abbreviations_end_no_sentence_that_goes_on(language: str, expected: list[str]) -> None:
    assert split(" ".join(expected), language) == expected


@pytest.mark.parametrize("space", [" ", "\n", "  "])
def test_space_at_the_start_of_a_text_is_no_part_of_its_first_word(space: str) -> None:
    assert Punkt("en").starts(f"{space}Dr. Smith came. He left.", join_speech=True) == [len(f"{space}Dr. Smith came. ")]


@pytest.mark.parametrize("language", ["en", "de", "sw"])
def test_the_mark_of_an_image_in_markdown_ends_no_sentence(language: str) -> None:
    expected = [
        "Rabbits dig ![a burrow](burrow.png) here.",
        "[![Buy](logo.gif)](shop.html) Now!",
        "(![Map](map.svg)) It shows all.",
        "![Fox](fox.png)",
    ]
    assert split(" ".join(expected), language) == expected
    assert split("Run![1] They ran.", "en") == ["Run![1]", "They ran."]


@pytest.mark.parametrize(
    ("language", "joined", "apart"),
    [
        ("en", ['"Is it?" she asked.', "“Yes!” he said.", "“No!”", "She left."], 6),
        ("en", ['He said "Stop.", then he left.', '"Go!"; she left.', "(It is.), he said.", 'Yes."', "No."], 8),
        ("de", ["„Wirklich?“ fragte er.", "»Ja!« sagte sie.", "„Nein!“", "Er ging."], 6),
        ("fr", ["« Vraiment ? » dit-elle.", "« Oui ! »", "Il sourit."], 4),
    ],
)
def test_a_quoted_question_stays_with_the_words_behind_it(language: str, joined: list[str], apart: int) -> None:
    text = " ".join(joined)
    assert split(text, language, join_speech=True) == joined
    assert len(split(text, language)) == apart, "as Punkt has it"


def test_where_only_sizes_count_speech_is_not_cut_off() -> None:
    text = 'It was late. "Is it?" she asked. They left.'
    by_size = create("sentence", unit="word", chunk_size=5, chunk_overlap=0, language="en")
    counted = create("sentence", max_sentences=1, language="en")
    assert [text[s:e] for s, e in by_size.split(text)] == ["It was late.", '"Is it?" she asked.', "They left."]
    assert [text[s:e] for s, e in counted.split(text)] == ["It was late.", '"Is it?"', "she asked.", "They left."]


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        (
            "zh",
            [
                "他说：“今天天气很好。”",
                "我们去公园吧！",
                "你想去吗？",
                "价格是3.14元。",
                "等等……然后呢？",
                "（真的。）",
                "好",
            ],
        ),
        ("ja", ["「はい。」と彼は言った。", "本当ですか？", "はい！", "3.14です。"]),
    ],
)
@pytest.mark.parametrize("given", ["as it is", "auto"])
def test_sentences_without_spaces_by_hand(language: str, expected: list[str], given: str) -> None:
    assert split("".join(expected), "auto" if given == "auto" else language) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["2. Scope.", "It applies to all."],
        ["It ends here.", "2. It goes on.", "2.1. So it is.", "(a) And this.", "IV. Then that.", "12.3(b). Now all."],
        [
            "It was in 1999.",
            "Then we left.",
            "He won 3.",
            "She won 4.",
            "Was it 5?",
            "It was plan B.",
            "So do I.",
            "Yes.",
        ],
        ["See Section 7.12.", "It says so in Article IV.", "He wore No. 5.", "Under Art. 5 they pay.", "It is 2.5."],
        ["1. **Reuse.**", "Each class is apart.", "**2.** _Hiding._ None see it.", "**3. Names.**", "They say it."],
        [
            "Article 5. Scope.",
            "It applies.",
            "Section 2.1. Terms.",
            "They hold.",
            "§ 3 Abs. 2 holds.",
            "§ 4. So does this.",
        ],
        ["Covenants  ", "7.1.  Interim Operations    31 ", "7.2.  Access    44 ", "7.3.  Fees"],
        ["The tenant may:", "1. Stay;", "ii. Leave;", "iii. Pay.", "The answer is: 3.", "It is."],
    ],
)
def test_an_enumerator_begins_a_sentence(expected: list[str]) -> None:
    assert split(" ".join(expected), "en") == [sentence.strip() for sentence in expected]


@pytest.mark.parametrize("language", ["en", "de", "fr", "ru", "uk", "hi", "und"])
def test_enumerators_and_closing_marks_are_read_in_every_language(language: str) -> None:
    lists = ["2. Eins.", "Zwei.", "(a) Drei.", "Vier."]
    assert split(" ".join(lists), language) == lists
    lines = ["SCOPE", "2.1. Alpha", "2.2. Beta", "§ 3 Gamma:", "(a) delta;", "(b) epsilon;", "- Zeta", "- Eta"]
    assert split("\n".join(lines), language) == lines
    apart = ["IV.\n\nAlpha.", "1.\nBeta"]
    assert split("\n\n".join(apart), language) == apart
    closed = [
        "Eins.[1]",
        "Zwei.[2][3]",
        "Drei.[^4]",
        "Vier!¹²",
        "Fünf?†",
        "Sechs. 😀",
        "Sieben.** [5]",
        "Acht.[1, 2]",
        "Neun.[1], zehn.",
    ]
    assert split(" ".join(closed), language) == closed
    begun = ["Eins.", "[Acht: x].", "(Zwei.)"]
    assert split(" ".join(begun), language) == begun


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("structure", {"chunk_size": 9, "min_chunk_size": 1}),
        ("sentence", {"unit": "word", "chunk_size": 9, "chunk_overlap": 0}),
        ("hierarchical", {"unit": "word", "parent_size": (30,), "child_size": 9}),
    ],
)
def test_an_enumerator_that_is_a_paragraph_begins_the_next_paragraph(name: str, parameters: dict[str, Any]) -> None:
    text = "".join(f"One two three four.\n***\nFive.\n\nARTICLE {n}\n\nSix seven. Eight nine.\n\n" for n in range(20))
    chunks = create(name, **parameters).chunk(Document("a", text))
    assert len(chunks) > 20
    assert not [c.text for c in chunks if ends_with_enumerator(text, c.start, c.end) or c.text.startswith("Six")]


def test_a_line_of_prose_may_begin_with_a_number() -> None:
    text = "He lived at house\n12. Then he was old.\nA man\n- who was old - came\nin 1999.\nSee Section\n7.12. Done."
    assert split(text, "en") == [
        *("He lived at house\n12.", "Then he was old.", "A man\n- who was old - came\nin 1999.", "See Section\n7.12."),
        "Done.",
    ]


@pytest.mark.parametrize("language", ["auto", "ja", "und"])
def test_speech_stays_with_its_verb_and_numbers_are_whole(language: str) -> None:
    for expected in (
        [
            "「そうです。」と彼は言った。",
            "「本当ですか？」と彼女は聞いた。",
            "（そうだ。）と思う。",
            "「はい。」",
            "それから帰った。",
        ],
        [
            "「はい。」",
            "ところが違う。",
            "「雨だ。",
            "帰ろう。」、と言った。",
            "『罪と罰。』という本。",
            "「ええ。」の一言。",
        ],
        ["値は３．１４です。", "次は２．５である．", "Ｆｉｇ．３です。"],
        ["１．はじめに。", "これは。", "２．１．次に。"],
        ["“그렇다.”라고 말했다. ", "“그래요.” ", "이제 간다."],
        ["第3条\n本文。", "次。", "第十二条\n本文。"],
    ):
        assert split("".join(expected), language) == [sentence.strip() for sentence in expected]


@pytest.mark.parametrize("language", ["auto", "en", "und"])
@pytest.mark.parametrize("stop", ["។", "៕", "།", "။", "።", "۔", "।", "॥", "؟", "։", "᠃", "꓿", "𑁇"])
def test_the_marks_of_every_script_end_sentences(language: str, stop: str) -> None:
    assert split(f"aa{stop} bb{stop}[1] cc{stop} ", language) == [f"aa{stop}", f"bb{stop}[1]", f"cc{stop}"]


@given(texts(), st.sampled_from(["auto", "en", "de", "ja", "und"]))
def test_sentences_of_any_text_are_whole_and_end_before_the_enumerator_of_the_next(text: str, language: str) -> None:
    found = spans(text, language)
    assert all(start < end and text[start:end].strip() == text[start:end] for start, end in found)
    assert all(not text[end:start].strip() for (_, end), (start, _) in pairwise([(0, 0), *found, (len(text), 0)]))
    wrong = [(start, end) for start, end in found if ends_with_enumerator(text, start, end)]
    assert all(enumerator_start(text, start, end) == start for start, end in wrong), "a column of numbers"


@given(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(GAPS)) | st.tuples(texts(), st.just(" ")), max_size=25),
    st.sampled_from(["en", "de", "it", "ru", "el", "und"]),
)
def test_many_sentences_are_found_at_once_as_few_are_one_by_one(pieces: list[tuple[str, str]], language: str) -> None:
    text = "So it is. " + "".join(piece + gap for piece, gap in pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(punkt_module, "MANY", 2)
        at_once = spans(text, language)
    assert at_once == spans(text, language)


@pytest.mark.parametrize("end", ["And more", "And more!", "And 1."])
def test_an_enumerator_at_the_beginning_does_not_depend_on_the_end_of_the_text(end: str) -> None:
    for language in ("en", "uk"):
        assert split(f"b. Some words are here. {end}", language) == ["b. Some words are here.", end]


def test_a_blank_line_ends_a_sentence_in_every_language() -> None:
    text = "A heading\n\nText goes on\nover lines\r\n\r\nand here\n \t\n\nend"
    for language in ["en", "de", "ar", "sw"]:
        assert split(text, language) == ["A heading", "Text goes on\nover lines", "and here", "end"]


def test_blank_lines_may_end_with_cr_alone() -> None:
    for text in ("A heading\n\nText goes on", "标题\n正文在这里"):
        old = text.replace("\n", "\r")
        for language in ("en", "sw", "zh"):
            assert spans(old, language) == spans(text, language)


def test_the_end_of_a_line_ends_a_sentence_where_words_are_not_spaced() -> None:
    text = "标题\n正文在这里\r\n\r\n结束"
    for language in ["zh", "ja", "th"]:
        assert split(text, language) == ["标题", "正文在这里", "结束"]


def test_chinese_is_cut_behind_its_stops() -> None:
    for document in shared_documents("xquad/zh/docs.jsonl"):
        found = split(document.text)
        # Blank lines end paragraphs that have no full stop.
        paragraphs = [line.strip() for line in document.text.split("\n\n")]
        stopped = [s for s in found if re.search(r"[。！？][”’」』）)\"]*$", s)]
        assert len(found) - len(stopped) <= len(paragraphs)
        assert all(not re.search(r"[。！？][^。！？.”’」』）)\"\s\[]", sentence) for sentence in found)


def test_a_detected_language_gives_the_sentences_of_the_given_one() -> None:
    for document in shared_documents("xquad/de/docs.jsonl"):
        assert detect_language(document.text) == "de"
        assert spans(document.text) == spans(document.text, "de")


@pytest.mark.parametrize("language", ["ar", "hi", "th", "zh"])
def test_the_rules_of_unicode_find_nearly_the_sentences_of_the_rules_of_a_language(language: str) -> None:
    common = either = 0
    for document in shared_documents(f"xquad/{language}/docs.jsonl"):
        assert detect_language(document.text) == OTHER
        found, theirs = ({start for start, _ in spans(document.text, name)} for name in ("auto", language))
        common, either = common + len(found & theirs), either + len(found | theirs)
    # Most texts of Thai are a single sentence to both, and the others are divided at dots of abbreviations.
    assert common / either > (0.8 if language == "th" else 0.94)


@pytest.mark.parametrize("language", [language for language in XQUAD if language != "en"])
def test_no_other_language_is_taken_for_english_at_a_glance(language: str) -> None:
    for document in shared_documents(f"xquad/{language}/docs.jsonl"):
        text = document.text[:20_000]
        assert not any(is_surely_english(text[at : at + 600]) for at in range(0, len(text), 600))


@pytest.mark.parametrize("language", ["ar", "hi", "th"])
def test_texts_of_other_scripts_have_many_sentences(language: str) -> None:
    for document in shared_documents(f"xquad/{language}/docs.jsonl"):
        found = spans(document.text)
        assert len(found) >= document.text.count("\n\n") + 1
        assert sum(end - start for start, end in found) >= 0.95 * len("".join(document.text.split()))


@pytest.mark.parametrize("language", ["", "EN", "english", "e", "zh-CN", "de ", "xx", "eng"])
@pytest.mark.parametrize("name", ["sentence", "structure", "hierarchical"])
def test_what_names_no_language_is_refused(name: str, language: str) -> None:
    with pytest.raises(InvalidParameterError, match="language: must be") as caught:
        create(name, language=language)
    assert caught.value.value == language
    assert " de, " in str(caught.value)
    assert " zh, " in str(caught.value)


@pytest.mark.parametrize("text", ["", " ", "\n\n\t\r\n", "\u2028\u3000"])
def test_blank_text_has_no_sentence(text: str) -> None:
    assert spans(text) == spans(text, "zh") == []


@pytest.mark.parametrize("text", ["no stop", "...", "?!", ".", "。", "\ud800", "\x00"])
def test_what_is_not_blank_is_at_least_one_sentence(text: str) -> None:
    for language in ["auto", "en", "zh", "ar"]:
        assert spans(text, language) == [(0, len(text))]
        assert spans(f" {text}\n", language) == spans(f"\n{text}\n\n", language) == [(1, len(text) + 1)]


def test_a_quotation_mark_that_none_closes_doesnt_join_all_that_follows() -> None:
    text = "“" + "Він пішов додому. Вона лишилася тут. " * 400
    found = sentences(text, "uk")
    assert len(found.starts) > 600
    assert max(found.ends - found.starts) <= 8_000
