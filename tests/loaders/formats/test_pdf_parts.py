"""Form fields, comments, alternative texts, raised characters, and what a PDF holds without a text."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from PIL import Image
from pypdf import PdfReader, PdfWriter
from pypdf.annotations import FreeText, Highlight, Text
from pypdf.generic import ArrayObject, FloatObject
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from kinsplit.loaders.content import Reading
from kinsplit.loaders.formats.pdf import read
from tests.loaders.formats.pages import assembled, page_of, put, stream

Run = tuple[str, float, float]  # characters, their size and how far they are raised


def _text(data: bytes) -> str:
    return read(data).contents[0].text


def test_values_of_form_fields_stand_beside_their_labels() -> None:
    def draw(canvas: Canvas) -> None:
        form = canvas.acroForm
        put(
            [(72, 100, "Surname:"), (72, 140, "Member:"), (72, 180, "Guest:"), (72, 220, "Level:"), (72, 300, "Sign.")]
        )(canvas)
        form.textfield(name="surname", value="Featherstone", x=150, y=690, width=200, height=20)
        form.checkbox(name="member", checked=True, x=150, y=655)
        form.checkbox(name="guest", checked=False, x=150, y=615)
        form.choice(name="level", value="Expert", options=["Novice", "Expert"], x=150, y=570, width=100, height=20)
        form.textfield(name="empty", value="", x=150, y=490, width=200, height=20)

    assert _text(page_of(draw)).split("\n\n") == [
        "Surname: Featherstone",
        "Member: ☒",
        "Guest: ☐",
        "Level: Expert",
        "Sign.",
    ]


def test_a_box_before_its_label_and_a_value_without_one() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(100, 700, "I agree")
        canvas.acroForm.checkbox(name="agree", checked=True, x=72, y=695)
        canvas.acroForm.textfield(name="alone", value="On its own", x=72, y=500, width=200, height=20)

    assert _text(page_of(draw)) == "☒ I agree\n\nOn its own"


def _annotated(*notes: object) -> bytes:
    writer = PdfWriter(PdfReader(io.BytesIO(page_of(put([(72, 100, "The heron waits."), (72, 130, "It eats.")])))))
    for note in notes:
        writer.add_annotation(0, note)
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


def test_comments_stand_below_the_page_and_free_text_at_its_place() -> None:
    comment = Text(rect=(300, 690, 320, 710), text="Which one?", title_bar="Anna")
    free = FreeText(text="Grey heron", rect=(72, 600, 200, 612))
    corners = ArrayObject(map(FloatObject, (72, 710, 120, 710, 72, 698, 120, 698)))
    bare = Highlight(rect=(72, 698, 120, 710), quad_points=corners)

    found = _text(_annotated(comment, free, bare))

    assert found == "The heron waits.\n\nIt eats.\n\nGrey heron\n\n[Comment by Anna: Which one?]"


def test_attachments_are_named() -> None:
    writer = PdfWriter(PdfReader(io.BytesIO(page_of(put([(72, 100, "See the list.")])))))
    writer.add_attachment("list.csv", b"a,b")
    target = io.BytesIO()
    writer.write(target)

    assert read(target.getvalue()).warnings == ("1 attachment was left out: list.csv",)


def _with_pictures(*sizes: int, text: str = "A page.", mode: int = 0) -> Reading:
    def draw(canvas: Canvas) -> None:
        for number, size in enumerate(sizes):
            picture = Image.effect_noise((size, size), 40 + number).convert("RGB")
            canvas.drawImage(ImageReader(picture), 72, 300, 100, 100)
        line = canvas.beginText(72, 700)
        line.setTextRenderMode(mode)
        line.textOut(text)
        canvas.drawText(line)

    return read(page_of(draw))


def test_pictures_without_a_text_are_counted_and_ornaments_are_not() -> None:
    assert _with_pictures().warnings == ()
    assert _with_pictures(64).warnings == ("1 picture without a text was left out",)
    assert _with_pictures(64, 80, 8).warnings == ("2 pictures without a text were left out",)


def test_the_invisible_text_of_a_scan_is_its_text() -> None:
    scan = _with_pictures(200, text="What was recognised.", mode=3)

    assert (scan.contents[0].text, scan.warnings) == ("What was recognised.", ())


def test_alternative_texts_stand_below_the_page() -> None:
    content = b"BT /F 12 Tf 72 700 Td (Birds) Tj ET /Figure <</MCID 0>> BDC 72 300 100 100 re f EMC"
    data = assembled(
        b"<</Type/Catalog/Pages 2 0 R/MarkInfo<</Marked true>>/StructTreeRoot 6 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/StructParents 0"
        b"/Resources<</Font<</F 5 0 R>>>>>>",
        stream(content),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Type/StructTreeRoot/K[7 0 R]/ParentTree<</Nums[0[7 0 R]]>>>>",
        b"<</Type/StructElem/S/Figure/P 6 0 R/Pg 3 0 R/K 0/Alt(A heron on one leg)>>",
    )

    assert _text(data) == "Birds\n\nA heron on one leg"


def _runs(*lines: list[Run]) -> Callable[[Canvas], None]:
    def draw(canvas: Canvas) -> None:
        for number, runs in enumerate(lines):
            line = canvas.beginText(72, 700 - 20 * number)
            for characters, size, rise in runs:
                line.setFont("Helvetica", size)
                line.setRise(rise)
                line.textOut(characters)
            canvas.drawText(line)

    return draw


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([("a speed of 10", 12, 0), ("5", 8, 5), (" metres", 12, 0)], "a speed of 10^5 metres"),
        ([("10", 12, 0), ("-5", 8, 5), (" m", 12, 0), ("2", 8, 5), (".", 12, 0)], "10^-5 m^2."),
        ([("O(n", 12, 0), ("2", 8, 5), (") is 2", 12, 0), ("n", 8, 5), ("!", 12, 0)], "O(n^2) is 2^n!"),
        (
            [("as Smith says", 12, 0), ("3", 7, 5), (" and Ray.", 12, 0), ("4,5", 7, 5)],
            "as Smith says[3] and Ray.[4,5]",
        ),
        ([("H", 12, 0), ("2", 8, -2), ("O and 101", 12, 0), ("2", 8, -2), (" bits", 12, 0)], "H2O and 101_2 bits"),
        ([("the 12", 12, 0), ("th", 8, 5), (" month", 12, 0)], "the 12th month"),
        ([("5", 12, 0), ("1", 8, 5), ("/2 cups", 12, 0)], "5 1/2 cups"),
        ([("2,400 and 1,305", 12, 0)], "2,400 and 1,305"),
    ],
)
def test_raised_characters_are_not_joined_to_others(runs: list[Run], expected: str) -> None:
    assert _text(page_of(_runs(runs))) == expected


def test_a_raised_digit_after_a_number_is_a_note_if_a_line_begins_with_it() -> None:
    data = page_of(
        _runs([("It rose to 25", 12, 0), ("1", 7, 5), (" metres.", 12, 0)], [("1", 7, 5), ("See page 4.", 12, 0)])
    )

    assert _text(data) == "It rose to 25[1] metres.\n[1] See page 4."
