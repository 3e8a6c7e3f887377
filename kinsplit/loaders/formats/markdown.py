"""Markdown with its title and front matter.

The front matter (see `kinsplit.loaders.markup.front_matter`) becomes metadata, its `title` the title. The text below
is unchanged, except that `data:` URIs and base64 are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kinsplit.loaders.content import Format, LeftOut, Reading
from kinsplit.loaders.decoding import decode
from kinsplit.loaders.markup.front_matter import front_matter
from kinsplit.loaders.markup.markdown import markdown_content, title_of

# Shorter ones stay: they are what an article about them shows.
_SHORTEST = 200
_HEAD = r"data:[\w.+/-]{0,120}(?:;[\w.+=-]{1,80}){0,5}"
_URI = re.compile(
    # Inside quotation marks there may be spaces and line breaks.
    rf"(?<=\"){_HEAD},(?:[A-Za-z0-9+/=\s]{{{_SHORTEST},}}|[^\"\n]{{{_SHORTEST},}})(?=\")"
    rf"|(?<='){_HEAD},(?:[A-Za-z0-9+/=\s]{{{_SHORTEST},}}|[^'\n]{{{_SHORTEST},}})(?=')"
    rf"|(?<!\w){_HEAD},[^\s\"'<>()\[\]]{{{_SHORTEST},}}"
)
_LONG = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/]{500,}={0,2}(?![A-Za-z0-9+/=_-])")
_LINES = re.compile(
    r"(?:^[ \t]{0,8}[A-Za-z0-9+/]{60,120}[ \t]*\r?\n){8,}(?:[ \t]{0,8}[A-Za-z0-9+/]{1,120}={1,2}(?=[ \t\r]*$))?", re.M
)
_ALPHABETS = tuple(map(re.compile, ("[A-Z]", "[a-z]", "[0-9]")))
#: What stands in the place of base64.
NOTE = "(base64)"


def read(data: bytes) -> Reading:
    """Return the text of a Markdown file, with its title and metadata."""
    text, warnings = decode(data)
    return with_front_matter(text, warnings)


def with_front_matter(text: str, warnings: Sequence[str] = ()) -> Reading:
    """Return Markdown whose front matter becomes metadata, without files written out in it."""
    matter = front_matter(text)
    metadata = dict(matter.fields)
    title = metadata.pop("title", None)
    stated = None if title is None else str(title)
    left_out = LeftOut()
    text = without_data(text[matter.end :], left_out)
    content = markdown_content(text, title_of(text) if stated is None else stated, above=stated, metadata=metadata)
    return Reading((content,), (*warnings, *matter.warnings, *left_out.warnings))


def without_data(text: str, left_out: LeftOut) -> str:
    """Return text without long `data:` URIs and base64, which are counted.

    Of a URI nothing stays, so that `![a chart](data:...)` becomes `![a chart]()`.
    """

    def noted(match: re.Match[str]) -> str:
        if not all(alphabet.search(match[0]) for alphabet in _ALPHABETS):  # numbers, or a sequence of genes
            return match[0]
        left_out.add("block of base64", "blocks of base64")
        return NOTE + "\n" * match[0].endswith("\n")

    if "data:" in text:
        text, count = _URI.subn("", text)
        if count:
            left_out.add("data: URI", count=count)
    return _LINES.sub(noted, _LONG.sub(noted, text))


FORMAT = Format("markdown", (".md", ".markdown"), "Markdown, as it is; front matter as metadata", read)
