"""The numbers that Word shows before headings and items."""

from __future__ import annotations

import pytest

from kinsplit.loaders.formats.word import read
from kinsplit.loaders.office.lists import in_form
from tests.loaders.office import paragraph, word


def level(at: int, text: str, form: str = "decimal", more: str = "", start: int = 1) -> str:
    inner = f'<w:start w:val="{start}"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/>{more}'
    return f'<w:lvl w:ilvl="{at}">{inner}</w:lvl>'


def definition(number: int, *levels: str, more: str = "") -> str:
    return f'<w:abstractNum w:abstractNumId="{number}">{more}{"".join(levels)}</w:abstractNum>'


def numbers(list_id: int, of: int, overrides: str = "") -> str:
    return f'<w:num w:numId="{list_id}"><w:abstractNumId w:val="{of}"/>{overrides}</w:num>'


def numbered(at: int, list_id: int = 1) -> str:
    return f'<w:numPr><w:ilvl w:val="{at}"/><w:numId w:val="{list_id}"/></w:numPr>'


def item(at: int, text: str = "x", list_id: int = 1) -> str:
    return paragraph(text, properties=numbered(at, list_id))


def labels(*items: str, numbering: str, styles: str = "") -> list[str]:
    """Return what stands before the text of each item, which is a single word."""
    text = read(word("".join(items), numbering=numbering, styles=styles)).contents[0].text
    return [line.strip().rpartition(" ")[0] for line in text.split("\n") if line]


LEGAL = definition(
    0, level(0, "%1."), level(1, "%1.%2"), level(2, "(%3)", "lowerLetter"), level(3, "%4)", "lowerRoman")
)


def test_levels_count_for_themselves_and_begin_again_below_a_higher_one():
    items = map(item, [0, 1, 1, 2, 2, 3, 0, 1, 2])

    assert labels(*items, numbering=LEGAL + numbers(1, 0)) == [
        *("1.", "1.1", "1.2", "(a)", "(b)", "i)", "2.", "2.1", "(a)")
    ]


def test_a_list_goes_on_after_other_text_and_in_another_list_of_its_definition():
    items = [item(0), item(0), paragraph("x"), item(0), item(0, list_id=2)]

    numbering = LEGAL + numbers(1, 0) + numbers(2, 0)
    assert labels(*items, numbering=numbering) == ["1.", "2.", "", "3.", "4."]


def test_a_list_begins_again_where_it_says_so():
    override = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride>'
    items = [item(0), item(0), item(0, list_id=2), item(0, list_id=2), item(1, list_id=2)]

    assert labels(*items, numbering=LEGAL + numbers(1, 0) + numbers(2, 0, override)) == ["1.", "2.", "5.", "6.", "6.1"]


def test_a_hidden_item_is_not_counted():
    hidden = paragraph(
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>x</w:t></w:r>", properties=f"{numbered(0)}<w:rPr><w:vanish/></w:rPr>"
    )

    assert labels(item(0), hidden, item(0), numbering=LEGAL + numbers(1, 0)) == ["1.", "2."]


def test_a_list_may_have_levels_of_its_own():
    override = f'<w:lvlOverride w:ilvl="0">{level(0, "Step %1:", "upperRoman", start=4)}</w:lvlOverride>'

    assert labels(item(0), item(0), numbering=LEGAL + numbers(1, 0, override)) == ["Step IV:", "Step V:"]


@pytest.mark.parametrize(
    ("restart", "last"), [("", "1"), ('<w:lvlRestart w:val="0"/>', "3"), ('<w:lvlRestart w:val="1"/>', "1")]
)
def test_a_level_begins_again_below_the_levels_that_it_names(restart: str, last: str):
    numbering = definition(0, level(0, "%1"), level(1, "%2"), level(2, "%3", more=restart)) + numbers(1, 0)

    assert labels(*map(item, [0, 1, 2, 2, 0, 2]), numbering=numbering)[-1] == last


def test_a_level_begins_again_only_below_the_levels_that_it_names():
    restart = '<w:lvlRestart w:val="1"/>'
    numbering = definition(0, level(0, "%1"), level(1, "%2"), level(2, "%3", more=restart)) + numbers(1, 0)

    assert labels(*map(item, [0, 1, 2, 1, 2]), numbering=numbering)[-1] == "2"


def test_legal_numbers_are_digits():
    numbering = definition(0, level(0, "Article %1", "upperRoman"), level(1, "%1.%2", more="<w:isLgl/>")) + numbers(
        1, 0
    )

    assert labels(*map(item, [0, 0, 1]), numbering=numbering) == ["Article I", "Article II", "2.1"]


def test_a_level_that_is_skipped_counts():
    assert labels(*map(item, [1, 1, 0, 2, 1]), numbering=LEGAL + numbers(1, 0)) == ["1.1", "1.2", "2.", "(a)", "2.2"]


_HEADINGS = "".join(
    f'<w:style w:type="paragraph" w:styleId="H{at}"><w:name w:val="heading {at}"/><w:pPr><w:numPr>'
    f'<w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    for at in (1, 2, 3)
)


def test_headings_are_numbered_by_their_styles():
    linked = [
        level(at, ".".join(f"%{n}" for n in range(1, at + 2)), more=f'<w:pStyle w:val="H{at + 1}"/>') for at in range(3)
    ]
    body = [paragraph(title, properties=f'<w:pStyle w:val="H{at}"/>') for at, title in [(1, "A"), (2, "B"), (3, "C")]]
    body += [paragraph("D", properties='<w:pStyle w:val="H1"/><w:numPr><w:numId w:val="0"/></w:numPr>')]
    reading = read(word("".join(body * 2), styles=_HEADINGS, numbering=definition(0, *linked) + numbers(1, 0)))

    assert [one.title for one in reading.contents[0].headings] == [
        "1 A",
        "1.1 B",
        "1.1.1 C",
        "D",
        "2 A",
        "2.1 B",
        "2.1.1 C",
        "D",
    ]
    own = paragraph("E", properties='<w:pStyle w:val="H3"/><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>')
    assert (
        read(word(own, styles=_HEADINGS, numbering=definition(0, *linked) + numbers(1, 0))).contents[0].text
        == "### 1 E"
    )


def test_a_list_may_have_a_form_of_numbers_that_old_programs_do_not_know():
    own = '<w:numFmt w:val="custom" w:format="001, 002, 003, ..."/>'
    old = '<mc:Fallback><w:numFmt w:val="decimal"/></mc:Fallback>'
    both = f"<mc:AlternateContent><mc:Choice>{own}</mc:Choice>{old}</mc:AlternateContent>"
    padded = f'<w:lvl w:ilvl="0"><w:start w:val="9"/>{both}<w:lvlText w:val="REQ-%1"/></w:lvl>'

    assert labels(item(0), item(0), numbering=definition(0, padded) + numbers(1, 0)) == ["REQ-009", "REQ-010"]


def test_a_list_may_refer_to_a_style_of_lists():
    linked = definition(0, more='<w:numStyleLink w:val="Policy"/>')
    own = definition(1, level(0, "§ %1"), more='<w:styleLink w:val="Policy"/>')

    assert labels(item(0), item(0), numbering=linked + own + numbers(1, 0)) == ["§ 1", "§ 2"]


def test_bullets_are_bullets_and_nothing_is_nothing():
    numbering = definition(0, level(0, "\uf0b7", "bullet"), level(1, "", "none")) + numbers(1, 0)
    text = (
        read(word(item(0, "a") + item(1, "b") + item(0, "c") + item(0, "d", 7), numbering=numbering)).contents[0].text
    )

    assert text == "- a\n\nb\n\n- c\n\nd"


def test_a_bullet_that_says_whether_something_is_done_is_kept():
    font = '<w:rPr><w:rFonts w:ascii="Wingdings"/></w:rPr>'
    numbering = definition(0, level(0, "☐", "bullet"), level(1, "\uf0fe", "bullet", font)) + numbers(1, 0)

    assert read(word(item(0, "a") + item(1, "b"), numbering=numbering)).contents[0].text == "- ☐ a\n  - ☑ b"


def test_levels_are_indented_and_cells_have_lists_of_their_own():
    numbering = LEGAL + numbers(1, 0)
    body = item(0, "a") + item(1, "b") + item(3, "c") + item(1, "d")
    cells = f"<w:tbl><w:tr><w:tc>{item(0, 'e')}{item(0, 'f')}</w:tc><w:tc>{paragraph('g')}</w:tc></w:tr>"
    cells += f"<w:tr><w:tc>{item(0, 'h')}</w:tc><w:tc>{paragraph('i')}</w:tc></w:tr></w:tbl>"

    assert read(word(body + cells, numbering=numbering)).contents[0].text == (
        "1. a\n  1.1 b\n    i) c\n  1.2 d\n\n| 2. e 3. f | g |\n| --- | --- |\n| 4. h | i |"
    )


@pytest.mark.parametrize(
    ("form", "count", "shown"),
    [
        ("decimal", 12, "12"),
        ("decimalZero", 7, "07"),
        ("upperRoman", 1994, "MCMXCIV"),
        ("lowerRoman", 4, "iv"),
        ("lowerRoman", 0, "0"),
        ("upperLetter", 27, "AA"),
        ("lowerLetter", 53, "aaa"),
        ("ordinal", 11, "11th"),
        ("ordinal", 22, "22nd"),
        ("cardinalText", 3, "Three"),
        ("ordinalText", 10, "Tenth"),
        ("chicago", 6, "††"),
        ("decimalEnclosedCircle", 20, "⑳"),
        ("decimalFullWidth", 10, "１０"),
        ("japaneseCounting", 21, "二十一"),
        ("chineseCountingThousand", 10, "十"),
        ("ideographDigital", 10, "一〇"),
        ("russianUpper", 2, "Б"),
        ("ganada", 3, "다"),
        ("001, 002, 003, ...", 7, "007"),
        ("α, β, γ, ...", 2, "β"),
        ("none", 3, ""),
        ("unheard of", 3, "3"),
        ("lowerLetter", 10**8, "100000000"),
    ],
)
def test_numbers_have_the_form_that_word_gives_them(form: str, count: int, shown: str):
    assert in_form(count, form) == shown
