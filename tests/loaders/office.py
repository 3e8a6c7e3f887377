"""Office files and e-books for the tests, and archives that mean harm."""

from __future__ import annotations

import io
import zipfile

import docx
from docx.enum.style import WD_STYLE_TYPE
from pptx import Presentation
from pptx.presentation import Presentation as Slides

_CONTAINER = """<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="book/content.opf"/></rootfiles></container>"""


def zipped(files: dict[str, str | bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            # With no time of today, so that equal files make equal archives.
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def changed(data: bytes, files: dict[str, str | bytes]) -> bytes:
    """Return an archive with some files replaced or added."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return zipped({name: archive.read(name) for name in archive.namelist()} | files)


def document() -> docx.document.Document:
    """Return an empty Word document, without the hundred styles of tables that its reader would have to parse."""
    made = docx.Document()
    for style in list(made.styles):
        if style.type == WD_STYLE_TYPE.TABLE and style.name != "Normal Table":
            style.delete()
    return made


def presentation(*titles: str) -> Slides:
    """Return a presentation with a slide of title and content for each title."""
    made = Presentation()
    for title in titles:
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = title
    return made


def saved(document: Slides | docx.document.Document) -> bytes:
    target = io.BytesIO()
    document.save(target)
    return target.getvalue()


def epub(
    chapters: dict[str, str], spine: list[str], *, title: str = "A book", attributes: str = "", **more: str
) -> bytes:
    """Return an e-book.

    Args:
        chapters: HTML by name.
        spine: The names in reading order.
        title: Its title.
        attributes: Of every item of the spine.
        more: Further files, a dot written as `__` and a slash as `___`.
    """
    items = "".join(f'<item id="{n}" href="{n}" media-type="application/xhtml+xml"/>' for n in chapters)
    refs = "".join(f'<itemref idref="{name}" {attributes}/>' for name in spine)
    package = f"""<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">
<metadata><dc:title>{title}</dc:title></metadata><manifest>{items}</manifest><spine>{refs}</spine></package>"""
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": _CONTAINER,
            "book/content.opf": package,
            **{f"book/{name}": text for name, text in chapters.items()},
            **{name.replace("___", "/").replace("__", "."): text for name, text in more.items()},
        }
    )
