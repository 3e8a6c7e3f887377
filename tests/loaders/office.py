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


_OFFICE = "http://schemas.openxmlformats.org"
_NAMESPACES = {
    "w": f"{_OFFICE}/wordprocessingml/2006/main",
    "r": f"{_OFFICE}/officeDocument/2006/relationships",
    "m": f"{_OFFICE}/officeDocument/2006/math",
    "a": f"{_OFFICE}/drawingml/2006/main",
    "c": f"{_OFFICE}/drawingml/2006/chart",
    "dgm": f"{_OFFICE}/drawingml/2006/diagram",
    "p": f"{_OFFICE}/presentationml/2006/main",
    "pic": f"{_OFFICE}/drawingml/2006/picture",
    "wp": f"{_OFFICE}/drawingml/2006/wordprocessingDrawing",
    "mc": f"{_OFFICE}/markup-compatibility/2006",
    "w14": "http://schemas.microsoft.com/office/word/2010/wordml",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
    "v": "urn:schemas-microsoft-com:vml",
    "o": "urn:schemas-microsoft-com:office:office",
}
_DECLARED = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in _NAMESPACES.items())


def office_xml(root: str, content: str) -> str:
    """Return a part of an Office file, given its root element and what is in it."""
    return f"<{root} {_DECLARED}>{content}</{root.partition(' ')[0]}>"


def relations(**targets: str) -> str:
    """Return the relations of a part: the kind and the target by id, separated by a space."""
    of = f"{_NAMESPACES['r']}/"
    lines = (
        f'<Relationship Id="{key}" Type="{of}{kind}" Target="{target}"/>'
        for key, (kind, _, target) in ((key, text.partition(" ")) for key, text in targets.items())
    )
    return f'<Relationships xmlns="{_OFFICE}/package/2006/relationships">{"".join(lines)}</Relationships>'


def word(body: str, related: dict[str, str] | None = None, **parts: str) -> bytes:
    """Return a Word document.

    Args:
        body: The XML of its blocks.
        related: Further relations of its text, as in `relations`.
        parts: The XML in further parts by their kind, such as `footnotes`, or by their names below `word/`.
    """
    roots = {"styles": "styles", "numbering": "numbering", "footnotes": "footnotes", "endnotes": "endnotes"}
    roots |= {"comments": "comments", "settings": "settings"}
    known = {kind: f"{kind} {kind}.xml" for kind in parts if kind in roots}
    named = {
        f"word/{kind}.xml" if kind in roots else f"word/{kind.replace('___', '/').replace('__', '.')}": (
            office_xml(f"w:{roots[kind]}", content) if kind in roots else content
        )
        for kind, content in parts.items()
    }
    return zipped(
        {
            "_rels/.rels": relations(main="officeDocument word/document.xml"),
            "word/document.xml": office_xml("w:document", f"<w:body>{body}</w:body>"),
            "word/_rels/document.xml.rels": relations(**known, **(related or {})),
            **named,
        }
    )


def run(text: str, properties: str = "") -> str:
    """Return a run of a Word document with properties such as `<w:vanish/>`."""
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*runs: str, properties: str = "") -> str:
    """Return a paragraph of a Word document; what is no XML becomes a run."""
    inner = "".join(one if one.startswith("<") else run(one) for one in runs)
    return f"<w:p><w:pPr>{properties}</w:pPr>{inner}</w:p>"
