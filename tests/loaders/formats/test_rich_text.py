from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.loaders.content import UnreadableError
from kinsplit.loaders.formats.rich_text import read

FONTS = (
    r"{\fonttbl{\f0\fswiss Arial;}{\f1\fcharset128 MS Mincho;}{\f2\fcharset204 Arial Cyr;}{\f3\fcharset2 Symbol;}}"
    r"{\stylesheet{\s0 Normal;}{\s1\outlinelevel0\snext0 heading 1;}{\*\cs2 Default;}}"
)


def rtf(body: str) -> bytes:
    return rf"{{\rtf1\ansi\ansicpg1252\deff0{FONTS}{body}}}".encode("latin-1")


def text_of(body: str) -> str:
    return read(rtf(body)).contents[0].text


def test_paragraphs_are_read_without_their_formatting():
    data = rb"{\rtf1\ansi\ansicpg1251{\fonttbl{\f0 Arial;}}\f0 Plain \b bold\b0\par \'cf\'f0 \u1055?\par # no heading}"

    assert read(data).contents[0].text == "Plain bold\n\nПр П\n\n\\# no heading"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"It is 10{\super 5} m, H{\sub 2}O, 10\super 1\b 2\nosupersub  m.\par", "It is 10^5 m, H2O, 10^12 m."),
        (r"Text{\super\chftn}{\footnote\pard {\super\chftn} The note.\par} on.\par", "Text[1] on.\n\n[1] The note."),
        (r"Text{\*\atnid A}{\*\annotation A comment.} more", "Text[1] more\n\n[1] A comment."),
        (r"\u26085?\u26412\'3f \'e9 \u8364\'80 \emdash \ldblquote q\rdblquote \~x\_y\-z", "日本 é € —“q” x‑yz"),
        (r"\uc2\u26085??\u-10179??\u-8704??x", "日😀x"),
        (r"{\f1\'93\'fa\'96\'7b \'8d\'e0}\par{\f2\'cf\'f0}", "日本 財\n\nПр"),
        (r"{\header Head\par}{\footerl Foot\par}Body\par", "Head\n\nFoot\n\nBody"),
        (
            r"Before {\shp{\*\shpinst{\sp{\sn x}{\sv 1}}{\shptxt In a box.\par}}{\shprslt no}}after",
            "In a box.\n\nBefore after",
        ),
        (r'{\field{\*\fldinst{HYPERLINK "http://x.org"}}{\fldrslt a link}}', "a link"),
        (r"a\line b\tab c\page d\sect e{\*\unknown no}\bkmkstart", "a\nb c\n\nd\n\ne"),
        ("a\\\nb\\'", "a\n\nb"),
        (r"{\object{\result shown}}", "shown"),
        (r"one}} two{{", "one two"),
    ],
)
def test_what_is_shown_is_read(body, text):
    assert text_of(body) == text


def test_headings_have_outline_levels_or_styles_with_them():
    reading = read(
        rtf(r"{\info{\title A \b title}{\author Ann}}\pard\s1 One\par\pard Text.\par\pard\outlinelevel1 Two\par")
    )

    (content,) = reading.contents
    assert (content.text, content.title) == ("# One\n\nText.\n\n## Two", "A title")
    assert [heading.title for heading in content.headings] == ["A title", "One", "Two"]


def test_lists_have_the_numbers_that_are_shown():
    body = (
        r"\pard{\listtext 3.\tab}\ls1\ilvl0 Third\par{\listtext (a)\tab}\ls1\ilvl1 Inner\par\pard"
        r"{\pntext\f3\'B7\tab}Bullet\par\pard After.\par\pard\outlinelevel0{\listtext 2.1\tab}Numbered\par"
    )

    assert text_of(body) == "3. Third\n  (a) Inner\n- Bullet\n\nAfter.\n\n# 2.1 Numbered"


def test_tables_keep_every_value_in_its_column():
    rows = (
        r"\trowd\clvmgf\cellx1\cellx2\cellx3\pard\intbl Region\cell Quarter\cell Sum\cell\row"
        r"\trowd\clvmgf\cellx1\cellx2\cellx3\pard\intbl North\cell Q1\par (late)\cell 10{\super 2}\cell\row"
        r"\trowd\clvmrg\cellx1\cellx2\cellx3\pard\intbl\cell Q2\cell {\pard in\nestcell\nestrow}\cell\row"
    )

    assert text_of(rf"Before\par{rows}\pard After\par") == (
        "Before\n\n| Region | Quarter | Sum |\n| --- | --- | --- |\n| North | Q1 (late) | 10^2 |\n|  | Q2 | in ; |\n\n"
        "After"
    )


def test_what_is_left_out_is_counted():
    reading = read(
        rtf(
            r"A{\pict\pngblip 89504e47}{\*\shppict{\pict ff}}{\nonshppict{\pict ff}}{\v no}{\deleted no}"
            r"{\object{\*\objdata 0105}}{\mmath{\*\moMath{\mr x}}}{\pict\bin5 }{}}}}B"
        )
    )

    assert reading.contents[0].text == "AB"
    assert reading.warnings == (
        "2 hidden or deleted passages were left out",
        "1 embedded object was left out",
        "1 formula was left out",
        "3 pictures without a text were left out",
    )


def test_pictures_are_their_descriptions_or_counted():
    described = r"{{\sp{{\sn wzDescription}}{{\sv {}}}}}".format
    inline = rf"{{\*\shppict{{\pict{{\*\picprop{described('Grey herons')}}}\pngblip ff}}}}{{\nonshppict{{\pict ff}}}}"
    picture = r"{\shp{\*\shpinst{\sp{\sn pib}{\sv {\pict\pngblip ff}}}%s}{\shprslt{\pict ff}}}"
    box = rf"{{\shp{{\*\shpinst{described('A frame')}}}}}"

    reading = read(rtf(rf"A {inline}\par{picture % described('An owl')}\par{picture % ''}\par{box}\par"))

    assert reading.contents[0].text == "A Grey herons\n\nAn owl\n\nA frame"
    assert reading.warnings == ("1 picture without a text was left out",)


_PIECES = [
    *("{", "}", "\\par ", "\\cell ", "\\row ", "\\intbl ", "\\pard ", "\\super ", "\\u-10179?", "\\'93", "\\footnote "),
    *("{\\listtext 1.}", "\\ilvl9 ", "\\s1 ", "\\*", "\\bin9999 ", "\\uc9 ", "\\header ", "\\", "word ", "\\nestcell "),
]


@given(st.lists(st.sampled_from(_PIECES), max_size=40))
def test_no_file_makes_it_fail(pieces):
    read(rtf("".join(pieces)))


_WORDS = ["w ", "{", "}", "\\par ", "\\pard ", "\\cell ", "\\row ", "\\intbl ", "{\\b ", "{\\footnote ", "{\\header "]


@given(st.lists(st.sampled_from(_WORDS), max_size=40))
def test_no_word_is_lost(pieces):
    body = "".join(f"w{number}x " if piece == "w " else piece for number, piece in enumerate(pieces))

    assert sorted(re.findall(r"w\d+x", text_of(body))) == sorted(re.findall(r"w\d+x", body))


@pytest.mark.parametrize("piece", ["{", "\\super a{}", "\\cell ", "{\\footnote ", "\\intbl\\cell\\row ", "{\\header "])
def test_hostile_files_take_no_time(piece):
    read(rtf(piece * (300_000 // len(piece))))


def test_what_is_no_rich_text_is_told():
    with pytest.raises(UnreadableError, match="not a valid RTF file"):
        read(b"plain")
