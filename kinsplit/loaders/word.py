"""Word documents (`.docx`) by way of HTML, so that they read as HTML does.

`mammoth` reads headings, lists, tables, footnotes and text boxes in the document's order. Titles become headings of the
first level, pictures their alternative text. Page headers and footers, comments and deleted text are left out.
"""

from __future__ import annotations

from typing import Any

from kinsplit.loaders.archive import Archive
from kinsplit.loaders.content import Content, Format, Reading, UnreadableError
from kinsplit.loaders.html import readable_html

_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name^='HTML Preformatted'] => pre:separator('\\n')
p[style-name^='Code'] => pre:separator('\\n')
p[style-name^='Macro Text'] => pre:separator('\\n')
"""


def read(data: bytes) -> Reading:
    """Return the text of a Word document, with its title."""
    import mammoth

    archive = Archive(data, "Word document")
    markup = archive.without_media()
    try:
        result = mammoth.convert_to_html(
            markup,
            style_map=_STYLES,
            convert_image=mammoth.images.img_element(_without_picture),
            external_file_access=False,
            include_embedded_style_map=False,
        )
    except (RecursionError, MemoryError):
        raise UnreadableError("nests its content too deeply. Open it and save it again.") from None
    except Exception as error:  # mammoth raises whatever a malformed part leads to
        raise UnreadableError(f"is broken or no Word document: {error!r}. Open it and save it again.") from error
    text, title = readable_html(result.value)
    return Reading((Content(text, _core_title(archive) or title),))


def _without_picture(image: Any) -> dict[str, str]:
    del image  # mammoth adds its alternative text
    return {"src": ""}


def _core_title(archive: Archive) -> str | None:
    if "docProps/core.xml" not in archive.names:
        return None
    title = archive.xml("docProps/core.xml").findtext("{http://purl.org/dc/elements/1.1/}title")
    return (title or "").strip() or None


FORMAT = Format("word", (".docx",), "headings, lists and tables as Markdown", read)
