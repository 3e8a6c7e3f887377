from __future__ import annotations

import re

import pytest

from kinsplit.loaders.content import Reading, UnreadableError
from kinsplit.loaders.formats.word import read
from tests.growth import is_linear
from tests.loaders.office import changed, document, office_xml, paragraph, relations, run, saved, word


def text_of(body: str, *, warnings: tuple[str, ...] = (), **parts) -> str:
    """Return the text of a document, which must have these warnings."""
    reading = read(word(body, **parts))
    assert reading.warnings == warnings
    return reading.contents[0].text


def titles(reading: Reading) -> list[tuple[int, str]]:
    return [(one.level, one.title) for one in reading.contents[0].headings]


def table(*rows: str) -> str:
    return f"<w:tbl><w:tblPr/><w:tblGrid/>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"


def cell(content: str, properties: str = "") -> str:
    inner = content if content.startswith("<") else paragraph(content)
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inner}</w:tc>"


def row(*contents: str) -> str:
    return "".join(map(cell, contents))


def test_headings_lists_and_tables_come_in_order():
    made = document()
    made.add_heading("Syllabus", 0)
    made.add_heading("Grading", 1)
    made.add_paragraph("Problem sets count most.")
    made.add_paragraph("Quizzes", style="List Bullet")
    made.add_paragraph("Final exam", style="List Bullet")
    made_table = made.add_table(2, 2)
    for number, text in enumerate(("part", "weight", "quiz", "40 %")):
        made_table.cell(number // 2, number % 2).text = text
    made.add_paragraph("# not a heading")
    made.sections[0].header.paragraphs[0].text = "6.0001, fall term"
    made.core_properties.title = "The syllabus"

    content = read(saved(made)).contents[0]

    assert content.text == (
        "6.0001, fall term\n\n# Syllabus\n\n# Grading\n\nProblem sets count most.\n\n- Quizzes\n- Final exam\n\n"
        "| part | weight |\n| --- | --- |\n| quiz | 40 % |\n\n\\# not a heading"
    )
    assert content.title == "The syllabus"


def test_the_title_is_the_first_heading_where_the_properties_have_none():
    made = document()
    made.core_properties.title = ""
    made.add_heading("Recursion", 1)

    assert read(saved(made)).contents[0].title == "Recursion"


# Tables


def test_a_value_below_a_merged_cell_stands_in_its_own_column():
    merge = '<w:vMerge w:val="restart"/>'
    text = text_of(
        table(
            cell("Region", '<w:gridSpan w:val="1"/>') + row("Quarter", "Sales"),
            cell("North", merge) + row("Q1", "100"),
            cell("<w:p/>", "<w:vMerge/>") + row("Q2", "140"),
            cell("All", '<w:gridSpan w:val="2"/>') + row("240"),
            cell("Old", '<w:hMerge w:val="restart"/>') + cell("", "<w:hMerge/>") + row("7"),
            f'<w:trPr><w:gridBefore w:val="2"/></w:trPr>{row("late")}',
        )
    )

    assert text.splitlines()[2:] == [
        "| North | Q1 | 100 |",
        "|  | Q2 | 140 |",
        "| All |  | 240 |",
        "| Old |  | 7 |",
        "|  |  | late |",
    ]


def test_a_merged_cell_without_a_beginning_keeps_its_text():
    assert "| lost | 2 |" in text_of(table(row("a", "b"), cell("lost", "<w:vMerge/>") + row("2")))


def test_a_table_in_a_cell_stays_in_its_row():
    inner = table(row("span", "60 cm"), row("weight", "2 kg"))
    text = text_of(
        table(row("Model", "Details"), cell("Kite 5") + cell(f"{inner}<w:p/>"), row("Kite 7", "light, 40 cm"))
    )

    assert text.splitlines()[2:] == ["| Kite 5 | span 60 cm; weight 2 kg |", "| Kite 7 | light, 40 cm |"]


def test_a_single_cell_is_no_table():
    assert text_of(table(cell(paragraph("one") + paragraph("two")))) == "one\n\ntwo"


def test_rows_and_cells_in_controls_are_read_and_deleted_rows_are_not():
    control = "<w:sdt><w:sdtPr/><w:sdtContent>{}</w:sdtContent></w:sdt>".format
    rows = [f"<w:tr>{row('a', 'b')}</w:tr>", control(f"<w:tr>{cell('c')}{control(cell('d'))}</w:tr>")]
    rows.append(f"<w:tr><w:trPr><w:del/></w:trPr>{row('e', 'f')}</w:tr>")
    rows.append(f"<w:tr>{cell('e', '<w:cellDel/>')}{cell('g')}</w:tr>")

    assert text_of(f"<w:tbl>{''.join(rows)}</w:tbl>") == "| a | b |\n| --- | --- |\n| c | d |\n|  | g |"


# Headings


_STYLES = """
<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="Kapitel"><w:name w:val="Kapitel"/><w:basedOn w:val="berschrift1"/></w:style>
<w:style w:type="paragraph" w:styleId="Label"><w:name w:val="Label"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="TOC"><w:name w:val="TOC Heading"/><w:basedOn w:val="berschrift1"/>
 <w:pPr><w:outlineLvl w:val="9"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Code"><w:name w:val="Source Code"/></w:style>
<w:style w:type="paragraph" w:styleId="Round1"><w:name w:val="Round"/><w:basedOn w:val="Round2"/></w:style>
<w:style w:type="paragraph" w:styleId="Round2"><w:name w:val="Round 2"/><w:basedOn w:val="Round1"/></w:style>
<w:style w:type="character" w:styleId="Secret"><w:name w:val="Secret"/><w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:type="character" w:styleId="Up"><w:name w:val="Up"/>
 <w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style>
"""


def styled(style: str, *runs: str) -> str:
    return paragraph(*runs, properties=f'<w:pStyle w:val="{style}"/>')


def test_headings_are_those_of_styles_and_of_outline_levels():
    body = [styled("berschrift1", "One"), styled("Kapitel", "Two"), styled("Label", "Three"), styled("TOC", "Contents")]
    body += [paragraph("Four", properties='<w:outlineLvl w:val="2"/>'), styled("Heading4", "Five")]
    body += [styled("Round1", "text"), paragraph("more", properties='<w:outlineLvl w:val="9"/>')]

    reading = read(word("".join(body), styles=_STYLES))

    assert titles(reading) == [(1, "One"), (1, "Two"), (2, "Three"), (3, "Four"), (4, "Five")]


def test_bold_lines_are_headings_below_the_others():
    bold = paragraph(run("Safety", "<w:b/>"))
    reading = read(word(styled("Heading1", "Manual") + bold + paragraph("Keep away from fire.")))

    assert titles(reading) == [(1, "Manual"), (2, "Safety")]


def test_code_is_a_fence_with_its_indentation():
    code = [styled("Code", "def f():"), styled("Code"), styled("Code", "<w:r><w:tab/></w:r>", "return  1")]

    assert text_of("".join([paragraph("Run:"), *code, paragraph("Done.")]), styles=_STYLES) == (
        "Run:\n\n```\ndef f():\n\n\treturn  1\n```\n\nDone."
    )


# Text


def test_every_kind_of_character_is_kept():
    breaks = "<w:r><w:cr/></w:r>{}<w:r><w:ptab/></w:r>{}<w:r><w:tab/></w:r>{}".format(*map(run, "bcd"))
    hyphens = f"{run('non')}<w:r><w:noBreakHyphen/></w:r>{run('stop soft')}<w:r><w:softHyphen/></w:r>{run('ware')}"
    signs = '<w:r><w:sym w:font="Wingdings" w:char="F0FE"/><w:sym w:font="Symbol" w:char="F061"/></w:r>'
    letters = run("b", '<w:rFonts w:ascii="Symbol"/>')
    body = "".join(map(paragraph, [f"{run('a')}{breaks}", hyphens, signs, letters]))

    emoji = (
        'xmlns:e="http://schemas.microsoft.com/office/word/2015/wordml/symex" e:font="Segoe UI Emoji" e:char="1F600"'
    )
    body += paragraph(f"<w:r><e:symEx {emoji}/></w:r>")

    assert text_of(body) == "a\nb c d\n\nnon\u2011stop software\n\n☑α\n\nβ\n\n😀"


def test_an_unknown_sign_is_counted():
    sign = paragraph("a", '<w:r><w:sym w:font="Runes" w:char="F041"/></w:r><w:r><w:sym w:char="D800"/></w:r>')

    assert text_of(sign, warnings=("2 symbols of unknown fonts were left out",)) == "a\ufffd\ufffd"


def test_raised_and_lowered_digits_join_no_number():
    up, down = '<w:vertAlign w:val="superscript"/>', '<w:vertAlign w:val="subscript"/>'
    body = paragraph("10", run("1", up), run("2", up), " H", run("2", down), "O 10", run("5", '<w:rStyle w:val="Up"/>'))

    assert text_of(body, styles=_STYLES) == "10^12 H2O 10^5"


def test_ruby_is_the_base_text_and_its_reading():
    ruby = f"<w:r><w:ruby><w:rt>{run('かんじ')}</w:rt><w:rubyBase>{run('漢字')}</w:rubyBase></w:ruby></w:r>"

    assert text_of(paragraph(ruby, "を読む")) == "漢字(かんじ)を読む"


def test_text_in_wrappers_is_kept():
    inner = run("See ") + f'<w:smartTag w:element="place">{run("Paris")}</w:smartTag>'
    link = f'<w:hyperlink r:id="none">{run(", linked")}</w:hyperlink>'
    back = f"<w:bdo>{run(', back')}</w:bdo>"
    body = f'<w:customXml w:element="x">{paragraph(inner, link, back)}</w:customXml>'
    control = f"<w:sdt><w:sdtContent>{paragraph('Controlled')}</w:sdtContent></w:sdt>"

    assert text_of(body + control) == "See Paris, linked, back\n\nControlled"


def test_hidden_text_is_left_out_and_counted():
    body = paragraph("shown", run("hidden", "<w:vanish/>"), run("secret", '<w:rStyle w:val="Secret"/>'))
    body += paragraph(run(" too", '<w:vanish w:val="0"/>'))

    warnings = ("12 characters of hidden text were left out",)
    assert text_of(body, styles=_STYLES, warnings=warnings) == "shown\n\ntoo"


def test_equations_stand_in_the_line_or_on_their_own():
    equation = "<m:oMath><m:r><m:t>x=1</m:t></m:r></m:oMath>"
    body = paragraph("If ", equation, " then ", f"<m:oMathPara><m:oMathParaPr/>{equation}{equation}</m:oMathPara>")

    assert text_of(body) == "If x=1 then\nx=1\nx=1"
    assert text_of(paragraph("(", equation, equation, ")")) == "(x=1 x=1)"


# Changes


def test_insertions_are_kept_and_deletions_are_not():
    deleted = "<w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>"
    body = paragraph("It is ", deleted, f"<w:ins>{run('new')}</w:ins>", f"<w:moveTo>{run(' moved')}</w:moveTo>")

    assert text_of(body) == "It is new moved"


def test_a_paragraph_whose_mark_was_deleted_goes_on_in_the_next_one():
    deleted = "<w:rPr><w:del/></w:rPr>"
    body = paragraph("one ", properties=f"{numbered(0)}{deleted}") + paragraph("item", properties=numbered(0))
    gone = "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
    body += paragraph(gone, properties=f"{numbered(0)}{deleted}") + paragraph("two", properties=numbered(0))

    assert text_of(body, numbering=levels("%1.")) == "1. one item\n2. two"


def numbered(level: int, list_id: int = 1) -> str:
    return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{list_id}"/></w:numPr>'


def levels(*texts: str) -> str:
    inner = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:lvlText w:val="{text}"/></w:lvl>' for at, text in enumerate(texts)
    )
    definition = f'<w:abstractNum w:abstractNumId="0">{inner}</w:abstractNum>'
    return f'{definition}<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'


def test_a_large_initial_belongs_to_its_word():
    initial = paragraph("D", properties='<w:framePr w:dropCap="drop"/>')

    assert text_of(initial + paragraph("rop cap.")) == "Drop cap."


# Fields


def mark(kind: str, inner: str = "") -> str:
    return f'<w:r><w:fldChar w:fldCharType="{kind}">{inner}</w:fldChar></w:r>'


def field(code: str, result: str | None = None, data: str = "") -> str:
    middle = "" if result is None else mark("separate") + (result if result.startswith("<") else run(result))
    return f"{mark('begin', data)}<w:r><w:instrText>{code}</w:instrText></w:r>{middle}{mark('end')}"


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        (field(" REF figure ", "Figure 1"), "Figure 1"),
        ('<w:fldSimple w:instr=" SEQ Table ">' + run("4") + "</w:fldSimple>", "4"),
        (field(f" IF {field('DATE', 'today')} ", "yes"), "yes"),
        (field(' XE "index" '), ""),
        (field(" MACROBUTTON AcceptAll [Click here] "), "[Click here]"),
        (field(' SYMBOL 97 \\f "Symbol" '), "α"),
        (field(" FORMTEXT ", "Jane", "<w:ffData/>"), "Jane"),
        (field(" FORMCHECKBOX ", data="<w:ffData><w:checkBox><w:checked/></w:checkBox></w:ffData>"), "☒"),
        (
            field(
                " FORMCHECKBOX ",
                data='<w:ffData><w:checkBox><w:default w:val="1"/><w:checked w:val="0"/></w:checkBox></w:ffData>',
            ),
            "☐",
        ),
        (
            field(
                " FORMDROPDOWN ",
                "stale",
                '<w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="red"/><w:listEntry w:val="blue"/>'
                "</w:ddList></w:ffData>",
            ),
            "blue",
        ),
        (f"{mark('begin')}<w:r><w:instrText> REF x </w:instrText></w:r>{run('kept')}", "kept"),
        (f"{mark('end')}{run('kept')}{mark('separate')}", "kept"),
    ],
)
def test_a_field_is_what_word_shows_of_it(inner: str, text: str):
    assert text_of(paragraph("[", inner, "]")) == f"[{text}]"


def test_fields_whose_result_word_computes_are_counted():
    body = paragraph("a", field(" EQ \\f(1,2) "), field("LISTNUM"), field("EQ x"))

    assert text_of(body, warnings=("3 fields without a stored result were left out",)) == "a"


def test_a_checked_control_is_a_checked_box():
    box = '<w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="1"/></w14:checkbox></w:sdtPr><w:sdtContent>'

    assert text_of(paragraph(f"{box}{run('☒')}</w:sdtContent></w:sdt>", " I agree")) == "☒ I agree"


# Notes


def note(kind: str, number: int, text: str, more: str = "") -> str:
    return f'<w:{kind} w:id="{number}" {more}>{text if text.startswith("<") else paragraph(text)}</w:{kind}>'


def reference(kind: str, number: int, more: str = "") -> str:
    return f'<w:r><w:{kind}Reference w:id="{number}" {more}/></w:r>'


def test_notes_follow_the_block_that_refers_to_them():
    body = paragraph("Sales rose by 25", reference("footnote", 7), ".", reference("endnote", 1))
    body += paragraph("Then", reference("comment", 0), " they fell", reference("footnote", 2), reference("footnote", 7))
    comment = note("comment", 0, paragraph("Check this.") + paragraph("Really?"), 'w:author="Ann"')
    text = text_of(
        body,
        footnotes=note("footnote", 7, "Before tax.") + note("footnote", 2, "In May."),
        endnotes=note("endnote", 1, "The report."),
        comments=comment,
    )

    assert text.split("\n\n") == [
        "Sales rose by 25[1].[i]",
        "[1] Before tax.",
        "Then they fell[2][1]",
        "Comment by Ann: Check this.",
        "Really?",
        "[2] In May.",
        "[i] The report.",
    ]


def test_notes_wait_for_the_end_of_a_list_and_of_a_table():
    items = [
        paragraph("one", reference("footnote", 1), properties=numbered(0)),
        paragraph("two", properties=numbered(0)),
    ]
    rows = [row("a", "b"), cell(paragraph("c", reference("footnote", 2))) + row("d")]
    notes = note("footnote", 1, "First.") + note("footnote", 2, "Second.")
    text = text_of("".join(items) + table(*rows) + paragraph("end"), footnotes=notes, numbering=levels("%1."))

    assert text == ("1. one[1]\n2. two\n\n[1] First.\n\n| a | b |\n| --- | --- |\n| c[2] | d |\n\n[2] Second.\n\nend")


def test_notes_are_numbered_as_the_document_says():
    settings = '<w:footnotePr><w:numFmt w:val="upperLetter"/><w:numStart w:val="3"/></w:footnotePr>'
    own = '<w:r><w:footnoteReference w:id="2" w:customMarkFollows="1"/><w:t>*</w:t></w:r>'
    notes = note("footnote", 1, "Third letter.") + note("footnote", 2, "* A star.")
    text = text_of(paragraph("a", reference("footnote", 1), own), footnotes=notes, settings=settings)

    assert text == "a[C]*\n\n[C] Third letter.\n\n* A star."


# Page headers and footers


def section(*references: str, more: str = "") -> str:
    return f"<w:sectPr>{''.join(references)}{more}</w:sectPr>"


def margin(kind: str, link: str, which: str = "default") -> str:
    return f'<w:{kind}Reference w:type="{which}" r:id="{link}"/>'


def test_page_headers_and_footers_stand_once_without_page_numbers():
    page = f"{run('Page ')}{field(' PAGE ', '3')}{run(' of ')}<w:fldSimple w:instr='NUMPAGES'>{run('9')}</w:fldSimple>"
    tab = "<w:r><w:tab/></w:r>"
    header = office_xml("w:hdr", paragraph("ACME", tab, "Confidential", tab, page) + paragraph("- 12 -"))
    footer = office_xml("w:ftr", paragraph(run("Policy of 2024-05-01, rev. 3 | "), field("PAGE", "3")))
    same = office_xml("w:hdr", paragraph("ACME Confidential"))
    related = {"h": "header header1.xml", "f": "footer footer1.xml", "s": "header header2.xml"}
    first = section(margin("header", "h"), margin("footer", "f"), margin("header", "s", "even"))
    body = paragraph("First.", properties=first) + paragraph("Second.") + section(margin("header", "s"))
    text = text_of(body, related=related, header1__xml=header, footer1__xml=footer, header2__xml=same)

    assert text == "ACME Confidential\n\nFirst.\n\nSecond.\n\nPolicy of 2024-05-01, rev. 3"


@pytest.mark.parametrize(("more", "shown"), [("", False), ("<w:titlePg/>", True)])
def test_a_header_of_first_pages_counts_from_a_section_on_that_has_one(more: str, shown: bool):
    body = paragraph("Text.", properties=section(margin("header", "h", "first"))) + section(more=more)
    header = office_xml("w:hdr", paragraph("Cover"))

    assert ("Cover" in text_of(body, related={"h": "header header1.xml"}, header1__xml=header)) == shown


# Drawings


def drawing(inner: str, description: str = "", more: str = "") -> str:
    properties = f'<wp:docPr id="1" name="n" descr="{description}">{more}</wp:docPr>'
    return f"<w:r><w:drawing><wp:inline>{properties}{inner}</wp:inline></w:drawing></w:r>"


_PICTURE = '<pic:pic><pic:nvPicPr><pic:cNvPr id="0" name="x" descr="a.png"/></pic:nvPicPr></pic:pic>'
_BOX = "<wps:wsp><wps:txbx><w:txbxContent>{}</w:txbxContent></wps:txbx></wps:wsp>"


def test_text_boxes_follow_their_paragraph_once():
    box = _BOX.format(paragraph("In the box", properties=numbered(0)) + table(row("a", "b"), row("c", "d")))
    inner = f"<v:textbox><w:txbxContent>{paragraph('old')}</w:txbxContent></v:textbox>"
    fallback = f"<w:pict><v:shape>{inner}</v:shape></w:pict>"
    forms = (
        "<mc:AlternateContent><mc:Choice Requires='wps'>{}</mc:Choice>"
        "<mc:Fallback>{}</mc:Fallback></mc:AlternateContent>"
    )
    both = forms.format(f"<w:drawing><wp:inline>{forms.format(box, fallback)}</wp:inline></w:drawing>", fallback)
    shape = f"<w:r>{both}</w:r>"
    text = text_of(paragraph("Before ", shape, "and after"), numbering=levels("(%1)"))

    assert text == "Before and after\n\n(1) In the box\n\n| a | b |\n| --- | --- |\n| c | d |"
    assert text_of(paragraph("a", f"<w:r>{fallback}</w:r>")) == "a\n\nold"


def test_pictures_are_their_alternative_text_or_counted():
    body = paragraph("See ", drawing(_PICTURE, "A  tree"), "here") + paragraph(drawing(_PICTURE))
    body += paragraph(drawing(_PICTURE, more='<a:ext><a:decorative val="1"/></a:ext>'))
    old = '<w:r><w:pict><v:shape alt="A bridge"><v:imagedata r:id="x"/></v:shape></w:pict></w:r>'

    assert text_of(body + paragraph(old), warnings=("1 picture without a text was left out",)) == (
        "See A tree here\n\nA bridge"
    )


def test_charts_and_diagrams_follow_their_paragraph():
    series = "<c:ser><c:tx><c:v>rent</c:v></c:tx><c:cat>{}</c:cat><c:val>{}</c:val></c:ser>".format(
        '<c:strLit><c:pt idx="0"><c:v>May</c:v></c:pt></c:strLit>',
        '<c:numLit><c:pt idx="0"><c:v>7</c:v></c:pt></c:numLit>',
    )
    points = "<dgm:pt><dgm:t><a:p><a:r><a:t>Plan</a:t></a:r></a:p></dgm:t></dgm:pt>"
    shapes = drawing('<c:chart r:id="c"/>') + drawing('<dgm:relIds r:dm="d"/>') + drawing('<c:chart r:id="lost"/>')
    text = text_of(
        paragraph("Data:", shapes),
        related={"c": "chart charts/chart1.xml", "d": "diagramData diagrams/data1.xml"},
        charts___chart1__xml=office_xml("c:chartSpace", f"<c:chart>{series}</c:chart>"),
        diagrams___data1__xml=office_xml("dgm:dataModel", points),
        warnings=("1 part that can't be read was left out",),
    )

    assert text == "Data:\n\n|  | rent |\n| --- | --- |\n| May | 7 |\n\n- Plan"


def test_a_damaged_chart_or_insertion_costs_no_more_than_itself():
    chart = paragraph("a", drawing('<c:chart r:id="c"/>'))
    lost = ("1 part that can't be read was left out",)

    assert text_of(chart, related={"c": "chart chart.xml"}, chart__xml="<c", warnings=lost) == "a"
    lost = ("1 part that can't be read was left out",)
    chunk = '<w:altChunk r:id="c"/>'
    assert text_of(paragraph("a") + chunk, related={"c": "chunk chunk.docx"}, chunk__docx="no", warnings=lost) == "a"


def test_what_is_embedded_is_counted():
    sheet = '<w:r><w:object><v:shape><v:imagedata/></v:shape><o:OLEObject ProgID="Excel.Sheet.12"/></w:object></w:r>'
    watermark = '<w:r><w:pict><v:shape><v:textpath string="DRAFT"/></v:shape></w:pict></w:r>'
    body = paragraph("a", sheet, watermark) + '<w:altChunk r:id="chunk"/>'
    data = word(body, {"chunk": "aFChunk chunk.rtf"}, vbaProject__bin="")

    reading = read(data)

    assert reading.contents[0].text == "a DRAFT"
    assert reading.warnings == (
        "1 embedded object was left out",
        "1 inserted file was left out",
        "1 set of macros was left out",
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("chunk.html", "<p>See</p><table><tr><td>a<td>b<tr><td>c<td>d</table>"),
        ("chunk.docx", word(paragraph("See") + table(row("a", "b"), row("c", "d")) + '<w:altChunk r:id="none"/>')),
    ],
)
def test_a_file_that_word_inserts_is_read(name: str, content: str | bytes):
    data = changed(word('<w:altChunk r:id="chunk"/>', {"chunk": f"aFChunk {name}"}), {f"word/{name}": content})
    reading = read(data)

    assert reading.contents[0].text == "See\n\n| a | b |\n| --- | --- |\n| c | d |"
    assert reading.warnings == (("1 inserted file was left out",) if name.endswith("docx") else ())


# Files


def test_a_file_in_the_strict_form_is_read():
    data = word(styled("Heading1", "Title") + paragraph("10", run("5", '<w:vertAlign w:val="superscript"/>')))
    strict = re.compile(r"http://schemas.openxmlformats.org/(officeDocument|wordprocessingml)/2006/")
    files = {
        "_rels/.rels": relations(main="officeDocument word/document.xml"),
        "word/document.xml": office_xml(
            "w:document", f"<w:body>{styled('Heading1', 'Title')}{paragraph('text')}</w:body>"
        ),
    }
    files = {name: strict.sub(r"http://purl.oclc.org/ooxml/\1/", content) for name, content in files.items()}

    assert read(changed(data, files)).contents[0].text == "# Title\n\ntext"


@pytest.mark.parametrize("name", ["w:fldSimple", "m:e", "w:x", "w:tbl"])
def test_content_nested_without_end_is_one_error(name):
    deep = f'<w:fldSimple w:instr=""/><m:oMath>{f"<{name}>" * 50_000}{f"</{name}>" * 50_000}</m:oMath>'
    if name == "w:tbl":
        deep = "<w:tbl><w:tr><w:tc><w:p/><w:tc/></w:tc><w:tc>" * 5000 + "</w:tc></w:tr></w:tbl>" * 5000

    with pytest.raises(UnreadableError, match="nests its content too deeply"):
        read(word(deep))


@pytest.mark.parametrize(
    "unit",
    [
        paragraph("word ", properties=numbered(3)),
        paragraph(field("REF x", "y"), reference("footnote", 1), reference("comment", 1)),
        f"<w:p>{mark('begin')}</w:p>",
        paragraph("a", properties="<w:rPr><w:del/></w:rPr>"),
        table(row("a", "b"), cell("c", "<w:vMerge/>") + row("d")),
        paragraph(run("1", '<w:vertAlign w:val="superscript"/>')),
    ],
)
def test_time_is_linear_in_the_size(unit: str):
    notes = note("footnote", 1, "note")

    def read_many(text: str) -> None:
        units = unit * (len(text) // len(unit))
        read(word(units, numbering=levels("%1.", "%2.", "%3.", "%1.%2.%3.%4."), footnotes=notes))

    assert is_linear(read_many, unit, 1 << 18, 0.05)
