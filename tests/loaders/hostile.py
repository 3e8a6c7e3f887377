"""Small files that exhaust or crash what reads them."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable
from pathlib import Path

from kinsplit.errors import LoadError

from .office import changed, document, saved


def crash(path: Path, size: int, *, given: bool, reader: str = "") -> None:
    """Do what a reader with a mistake in its C code does to one file, and nothing to the others."""
    if path.stem == "crash":
        os.abort()
    raise LoadError(path, "is left alone")


def raw_pdf(*objects: str | bytes) -> bytes:
    """Return a PDF of numbered objects, of which the first one is the catalogue."""
    target = io.BytesIO(b"%PDF-1.7\n")
    target.seek(0, io.SEEK_END)
    places = []
    for number, body in enumerate(objects, 1):
        places.append(target.tell())
        target.write(b"%d 0 obj\n%b\nendobj\n" % (number, body.encode() if isinstance(body, str) else body))
    at = target.tell()
    target.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1))
    target.writelines(b"%010d 00000 n \n" % place for place in places)
    target.write(b"trailer\n<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF\n" % (len(places) + 1, at))
    return target.getvalue()


def stream(data: bytes, entries: str = "") -> bytes:
    packed = zlib.compress(data, 9)
    return f"<</Length {len(packed)}/Filter/FlateDecode{entries}>>\nstream\n".encode() + packed + b"\nendstream"


_CATALOGUE = "<</Type/Catalog/Pages 2 0 R>>"
_FONT = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
_PAGES = "<</Type/Pages/Kids[3 0 R]/Count 1>>"


def _page(resources: str) -> str:
    return f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<<{resources}>>>>"


def _form(content: bytes, inner: int) -> bytes:
    return stream(
        content, f"/Type/XObject/Subtype/Form/BBox[0 0 99 99]/Resources<</XObject<</F {inner} 0 R>>/Font<</A 5 0 R>>>>"
    )


def form_that_draws_itself_twice() -> bytes:
    page = _page("/XObject<</F 6 0 R>>")
    return raw_pdf(_CATALOGUE, _PAGES, page, stream(b"/F Do"), _FONT, _form(b"/F Do /F Do", 6))


def nested_forms() -> bytes:
    """Draw ten million words by seven forms, of which each draws the next one ten times."""
    forms = [_form(b"/F Do " * 10, number) for number in range(7, 13)]
    last = _form(b"BT /A 9 Tf (word) Tj ET " * 10, 12)
    return raw_pdf(_CATALOGUE, _PAGES, _page("/XObject<</F 6 0 R>>"), stream(b"/F Do"), _FONT, *forms, last)


def long_content() -> bytes:
    """Unpack to 100 MB of drawing commands."""
    content = stream(b"BT /A 9 Tf (word) Tj ET\n" * (100_000_000 // 24))
    return raw_pdf(_CATALOGUE, _PAGES, _page("/Font<</A 5 0 R>>"), content, _FONT)


def a_million_pages() -> bytes:
    pages = "<</Type/Pages/Kids[3 0 R]/Count 1000000>>"
    return raw_pdf(_CATALOGUE, pages, _page("/Font<</A 5 0 R>>"), stream(b"BT /A 9 Tf (word) Tj ET"), _FONT)


def one_page_many_times() -> bytes:
    pages = f"<</Type/Pages/Kids[{'3 0 R ' * 20_000}]/Count 20000>>"
    words = b"BT /A 9 Tf 1 1 Td (some words) Tj ET " * 100
    return raw_pdf(_CATALOGUE, pages, _page("/Font<</A 5 0 R>>"), stream(words), _FONT)


def dense_word() -> bytes:
    """Hold 60 MB of paragraphs in less than 200 KB."""
    data = saved(document())
    word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    paragraphs = "<w:p><w:r><w:t>a</w:t></w:r></w:p>" * (60_000_000 // 34)
    return changed(data, {"word/document.xml": f"<w:document {word}><w:body>{paragraphs}</w:body></w:document>"})


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**30)


def _written(make: Callable[[], bytes]) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(make()) and None


#: What writes each of them, by file name.
HOSTILE: dict[str, Callable[[Path], None]] = {
    "itself.pdf": _written(form_that_draws_itself_twice),
    "nested.pdf": _written(nested_forms),
    "long.pdf": _written(long_content),
    "million.pdf": _written(a_million_pages),
    "repeated.pdf": _written(one_page_many_times),
    "dense.docx": _written(dense_word),
    "sparse.log": _sparse,
}
