"""Lists, tables, notes, comments and other parts of slides, in files whose XML is written here."""

from __future__ import annotations

import pytest

from kinsplit.loaders.content import UnreadableError
from kinsplit.loaders.formats.slides import read
from tests.growth import is_linear
from tests.loaders.office import changed, office_xml, relations, zipped

_BODY = '<p:ph type="body" idx="1"/>'


def paragraph(text: str, properties: str = "", level: int = 0) -> str:
    inner = text if text.startswith("<") else run(text)
    return f'<a:p><a:pPr lvl="{level}">{properties}</a:pPr>{inner}</a:p>'


def run(text: str, properties: str = "", attributes: str = "") -> str:
    return f"<a:r><a:rPr {attributes}>{properties}</a:rPr><a:t>{text}</a:t></a:r>"


def shape(*paragraphs: str, place: str = "", attributes: str = "", at: int | None = None, styles: str = "") -> str:
    offset = "" if at is None else f'<a:xfrm><a:off x="0" y="{at * 914_400}"/></a:xfrm>'
    names = f'<p:nvSpPr><p:cNvPr id="1" name="s" {attributes}/><p:nvPr>{place}</p:nvPr></p:nvSpPr>'
    text = f"<p:txBody><a:bodyPr/><a:lstStyle>{styles}</a:lstStyle>{''.join(paragraphs)}</p:txBody>"
    return f"<p:sp>{names}<p:spPr>{offset}</p:spPr>{text}</p:sp>"


def frame(content: str, name: str = "f") -> str:
    properties = f'<p:nvGraphicFramePr><p:cNvPr id="1" name="{name}"/></p:nvGraphicFramePr>'
    return (
        f"<p:graphicFrame>{properties}<a:graphic><a:graphicData>{content}</a:graphicData></a:graphic></p:graphicFrame>"
    )


def slide(*shapes: str) -> str:
    return office_xml("p:sld", f"<p:cSld><p:spTree>{''.join(shapes)}</p:spTree></p:cSld>")


def pptx(*slides: str, **more: str | bytes) -> bytes:
    """Return a presentation; the further parts are the first slide's: the kind, then the name, then the XML."""
    numbers = range(1, len(slides) + 1)
    links = "".join(f'<p:sldId r:id="s{number}"/>' for number in numbers)
    related = {kind: f"{kind} {kind}.xml" for kind in more}
    return zipped(
        {
            "_rels/.rels": relations(main="officeDocument ppt/presentation.xml"),
            "ppt/presentation.xml": office_xml("p:presentation", f"<p:sldIdLst>{links}</p:sldIdLst>"),
            "ppt/_rels/presentation.xml.rels": relations(
                **{f"s{number}": f"slide slides/slide{number}.xml" for number in numbers},
                authors="commentAuthors authors.xml",
            ),
            "ppt/authors.xml": office_xml("p:cmAuthorLst", '<p:cmAuthor id="0" name="Ann"/>'),
            **{f"ppt/slides/slide{number}.xml": text for number, text in zip(numbers, slides, strict=True)},
            "ppt/slides/_rels/slide1.xml.rels": relations(**related),
            **{f"ppt/slides/{kind}.xml": text for kind, text in more.items()},
        }
    )


def text_of(*shapes: str, warnings: tuple[str, ...] = (), **more: str) -> str:
    reading = read(pptx(slide(*shapes), **more))
    assert reading.warnings == warnings
    return reading.contents[0].text


def number(kind: str, start: int = 1) -> str:
    return f'<a:buAutoNum type="{kind}" startAt="{start}"/>'


def test_lists_have_the_numbers_that_are_shown():
    period, letter = number("arabicPeriod", 3), number("alphaLcParenR")
    items = [paragraph("a", period), paragraph("b", period), paragraph("c", letter, 1), paragraph("d", letter, 1)]
    items += [paragraph(" ", period), paragraph("e", period), paragraph("f", "<a:buNone/>"), paragraph("g", period)]
    items += [paragraph("h", number("romanUcParenBoth"), 1), paragraph("i", '<a:buChar char="•"/>', 1)]

    assert text_of(shape(*items)) == ("3. a\n4. b\n  a) c\n  b) d\n5. e\n\nf\n\n3. g\n  (I) h\n  - i")


def test_a_list_may_inherit_its_bullets():
    styles = '<a:lvl1pPr><a:buAutoNum type="arabicPlain"/></a:lvl1pPr><a:lvl2pPr><a:buNone/></a:lvl2pPr>'
    text = text_of(shape(paragraph("a"), paragraph("b"), paragraph("c", level=1), styles=styles))

    assert text == "1 a\n2 b\n\nc"
    layout = office_xml(
        "p:sldLayout", f"<p:cSld><p:spTree>{shape(place=_BODY, at=5, styles=styles)}</p:spTree></p:cSld>"
    )
    shapes = [shape(paragraph("x"), place='<p:ph idx="1"/>'), shape(paragraph("above"), at=2)]
    assert text_of(*shapes, slideLayout=layout) == "above\n\n1 x"


def test_lines_of_a_shape_stay_together():
    assert text_of(shape(paragraph(f"{run('one')}<a:br/>{run('two')}"), paragraph("three"))) == "one\ntwo\nthree"


def test_raised_digits_and_signs_of_fonts_are_kept():
    area = run("10") + run("5", attributes='baseline="30000"') + run(" H") + run("2", attributes='baseline="-25000"')
    signs = run("a", '<a:latin typeface="Symbol"/>') + run("\uf0fe b", '<a:sym typeface="Wingdings"/>')

    assert text_of(shape(paragraph(area + run("O")), paragraph(signs))) == "10^5 H2O\nα☑ b"


def test_the_cells_that_a_merged_cell_covers_are_empty():
    def cell(text: str, attributes: str = "") -> str:
        return f"<a:tc {attributes}><a:txBody>{paragraph(text)}</a:txBody></a:tc>"

    rows = [
        cell("Region") + cell("Quarter") + cell("Sales"),
        cell("North", 'rowSpan="2"') + cell("Q1") + cell("100"),
        cell("", 'vMerge="1"') + cell("Q2") + cell("140"),
        cell("Both", 'gridSpan="2"') + cell("", 'hMerge="1"') + cell("240"),
    ]
    table = f"<a:tbl>{''.join(f'<a:tr>{row}</a:tr>' for row in rows)}</a:tbl>"

    assert text_of(frame(table)).splitlines()[2:] == ["| North | Q1 | 100 |", "|  | Q2 | 140 |", "| Both |  | 240 |"]


def test_footers_stand_once_and_slide_numbers_do_not():
    around = [
        shape(paragraph("ACME, internal"), place='<p:ph type="ftr"/>', at=9),
        shape(paragraph("<a:fld type='slidenum'><a:t>7</a:t></a:fld>"), place='<p:ph type="sldNum"/>', at=9),
        shape(paragraph("<a:fld type='datetime1'><a:t>1/2/2003</a:t></a:fld>"), place='<p:ph type="dt"/>', at=9),
    ]
    around.append(shape(paragraph("<a:fld type='slidenum'><a:t>7</a:t></a:fld>"), at=8))
    reading = read(pptx(slide(shape(paragraph("One")), *around), slide(shape(paragraph("Two")), *around)))

    assert reading.contents[0].text == "One\n\nACME, internal\n\nTwo"
    assert reading.contents[0].pages == (0, 21)


@pytest.mark.parametrize(("attributes", "shown"), [("", True), ('showMasterSp="0"', False)])
def test_texts_of_the_layout_stand_once(attributes: str, shown: bool):
    sample = shape(paragraph("Click to add text"), place=_BODY)
    layout = office_xml("p:sldLayout", f"<p:cSld><p:spTree>{shape(paragraph('Draft'))}{sample}</p:spTree></p:cSld>")
    first = slide(shape(paragraph("One"))).replace("<p:sld ", f"<p:sld {attributes} ")

    text = read(pptx(first, slideLayout=layout)).contents[0].text
    assert text == ("One\n\nDraft" if shown else "One")


def test_notes_and_comments_follow_the_slide():
    notes = office_xml(
        "p:notes",
        "<p:cSld><p:spTree>"
        + shape(paragraph("Say it slowly."), place='<p:ph type="body" idx="1"/>')
        + shape(paragraph("12"), place='<p:ph type="sldNum"/>')
        + shape(paragraph("Also:"), at=1)
        + shape(paragraph("For the course only"), place='<p:ph type="hdr"/>', at=9)
        + "</p:spTree></p:cSld>",
    )
    old = '<p:cm authorId="0"><p:text>Really?</p:text></p:cm>'
    new = f'<p:cm authorId="{{9}}"><p:reply authorId="0"><p:txBody>{paragraph("Yes.")}</p:txBody></p:reply></p:cm>'
    text = text_of(shape(paragraph("Hello")), notesSlide=notes, comments=office_xml("p:cmLst", old + new))

    assert text == (
        "Hello\n\n### Notes\n\nSay it slowly.\n\nAlso:\n\nFor the course only\n\n"
        "Comment by Ann: Really?\n\nComment by Ann: Yes."
    )


def test_hidden_shapes_pictures_and_objects_are_counted():
    def picture(attributes: str, more: str = "") -> str:
        properties = f'<p:cNvPr id="1" name="p" {attributes}>{more}</p:cNvPr>'
        return f"<p:pic><p:nvPicPr>{properties}</p:nvPicPr></p:pic>"

    pictures = [picture('descr="A tree"'), picture('descr="image.png"'), picture("", '<a:decorative val="1"/>')]
    described = f'<p:grpSp><p:nvGrpSpPr><p:cNvPr id="1" name="g" descr="A house"/></p:nvGrpSpPr>{picture("")}</p:grpSp>'
    sheet = '<p:oleObj progId="Excel.Sheet.12"/>'
    both = (
        f"<mc:AlternateContent><mc:Choice>{sheet}</mc:Choice><mc:Fallback>{sheet}</mc:Fallback></mc:AlternateContent>"
    )
    hidden = shape(paragraph("secret"), attributes='hidden="1"')
    warnings = (
        "1 hidden shape was left out",
        "1 picture without a text was left out",
        "1 embedded object was left out",
    )

    assert text_of(hidden, *pictures, described, frame(both), warnings=warnings) == "A tree\n\nA house"


def test_a_slide_without_its_part_is_one_error():
    data = pptx(slide(), slide())

    for changes in (
        {"ppt/_rels/presentation.xml.rels": relations()},
        {"ppt/slides/slide2.xml": office_xml("p:sld", "")},
    ):
        with pytest.raises(UnreadableError, match=r"is broken.*Open it and save it again\."):
            read(changed(data, changes))


def test_shapes_nested_without_end_are_one_error():
    with pytest.raises(UnreadableError, match="nests its shapes too deeply"):
        read(pptx(slide("<p:grpSp>" * 5000 + "</p:grpSp>" * 5000)))


@pytest.mark.parametrize("unit", [shape(paragraph("a", number("arabicPeriod"))), shape("<a:p/>", place=_BODY)])
def test_time_is_linear_in_the_number_of_shapes(unit: str):
    assert is_linear(lambda text: read(pptx(slide(unit * (len(text) // len(unit))))), unit, 1 << 18, 0.05)


def test_time_is_linear_in_the_number_of_paragraphs():
    unit = paragraph("a", number("arabicPeriod"), 2)

    assert is_linear(lambda text: read(pptx(slide(shape(unit * (len(text) // len(unit)))))), unit, 1 << 18, 0.05)
