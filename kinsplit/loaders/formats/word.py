"""Word documents (`.docx`), converted to HTML and then read like HTML.

`mammoth` reads headings, lists, tables, footnotes and text boxes in the document's order. Titles become headings of the
first level, pictures their alternative text, equations a line of text (see `equations`). Page headers and footers,
comments and deleted text are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kinsplit.loaders.content import Content, Format, Reading, UnreadableError
from kinsplit.loaders.formats.archive import Archive, linear, local_name, parse
from kinsplit.loaders.formats.headings import titled
from kinsplit.loaders.formats.html import readable_html
from kinsplit.support.extras import needs

# Simple fields, text of another direction, and equations in paragraphs of their own.
_WRAPPERS = frozenset({"fldSimple", "bdo", "dir", "oMathPara"})
_DROPPED = re.compile(rb":(?:oMath|fldSimple|bdo|dir)\b")
_TOO_DEEP = "nests its content too deeply. Open it and save it again."
_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name^='HTML Preformatted'] => pre:separator('\\n')
p[style-name^='Code'] => pre:separator('\\n')
p[style-name^='Macro Text'] => pre:separator('\\n')
"""


def read(data: bytes) -> Reading:
    """Return the text of a Word document, with its title."""
    with needs("files"):
        import mammoth

    archive = Archive(data, "Word document")
    markup = archive.without_media(_for_mammoth)
    try:
        picture = mammoth.images.img_element(_without_picture)
        safe = {"external_file_access": False, "include_embedded_style_map": False}
        result = mammoth.convert_to_html(markup, style_map=_STYLES, convert_image=picture, **safe)
    except MemoryError:
        raise
    except RecursionError:
        raise UnreadableError(_TOO_DEEP) from None
    except Exception as error:  # mammoth raises exceptions of any kind for a malformed part
        reason = f"is broken or not a valid Word document: {error!r}. Open it and save it again."
        raise UnreadableError(reason) from error
    page, title = readable_html(result.value), _core_title(archive)
    return Reading((Content(page.text, title or page.first_heading, headings=titled(page.headings, title)),))


def _for_mammoth(part: bytes) -> bytes:
    """Return XML in which elements that mammoth would drop with all their text are replaced."""
    from xml.etree.ElementTree import tostring

    if not _DROPPED.search(part):
        return part
    try:
        root = parse(part)
    except UnreadableError:
        return part  # mammoth reports the fault if the document needs this part.
    namespace = root.tag.rpartition("}")[0] + "}"
    try:
        for parent in list(root.iter()):
            parent[:] = list(_lifted(parent, namespace))
        return bytes(tostring(root, "utf-8"))
    except RecursionError:
        raise UnreadableError(_TOO_DEEP) from None


def _lifted(parent: Any, namespace: str) -> Iterator[Any]:
    """Yield an element's children, with equations as runs and without wrappers around their content."""
    from xml.etree.ElementTree import Element, SubElement

    for child in parent:
        name = local_name(child)
        if name in _WRAPPERS:
            yield from _lifted(child, namespace)
        elif name == "oMath":
            run = Element(f"{namespace}r")
            SubElement(run, f"{namespace}t").text = linear(child)
            yield run
        else:
            yield child


def _without_picture(image: Any) -> dict[str, str]:
    del image  # mammoth adds its alternative text
    return {"src": ""}


def _core_title(archive: Archive) -> str | None:
    if "docProps/core.xml" not in archive.names:
        return None
    title = archive.xml("docProps/core.xml").findtext("{http://purl.org/dc/elements/1.1/}title")
    return (title or "").strip() or None


FORMAT = Format("word", (".docx",), "headings, lists and tables as Markdown", read)
