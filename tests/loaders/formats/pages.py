"""PDF pages for the tests, drawn text by text."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence

from reportlab.pdfgen.canvas import Canvas

from kinsplit.loaders.formats.pdf import read

WIDTH, HEIGHT = 600, 800
LEADING = 12
Text = tuple[float, float, str]  # the left end, the height from the top and the characters


def page_of(draw: Callable[[Canvas], None], *more: Callable[[Canvas], None], size: float = 10) -> bytes:
    """Return a PDF whose pages are drawn by functions."""
    target = io.BytesIO()
    canvas = Canvas(target, pagesize=(WIDTH, HEIGHT))
    for each in (draw, *more):
        canvas.setFont("Helvetica", size)
        each(canvas)
        canvas.showPage()
    canvas.save()
    return target.getvalue()


def put(texts: Iterable[Text]) -> Callable[[Canvas], None]:
    """Return a function that draws texts at their places, in their order."""

    def draw(canvas: Canvas) -> None:
        for left, down, text in texts:
            canvas.drawString(left, HEIGHT - down, text)

    return draw


def block(left: float, down: float, lines: Sequence[str], leading: float = LEADING) -> list[Text]:
    """Return lines below each other."""
    return [(left, down + leading * number, line) for number, line in enumerate(lines)]


def text_of(*texts: Iterable[Text]) -> str:
    """Return what is read of one page with texts."""
    return read(page_of(put([each for some in texts for each in some]))).contents[0].text


def assembled(*objects: bytes) -> bytes:
    """Return a PDF of numbered objects, of which the first is the catalog."""
    body, offsets = b"%PDF-1.4\n", []
    for number, value in enumerate(objects, 1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, value)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    end = b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
    return body + end % (len(objects) + 1, table, len(objects) + 1, len(body))


def stream(data: bytes, entries: bytes = b"") -> bytes:
    """Return a stream object."""
    return b"<</Length %d%s>>stream\n%s\nendstream" % (len(data), entries, data)
