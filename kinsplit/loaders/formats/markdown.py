"""Markdown with its title and front matter.

The front matter (see `kinsplit.loaders.markup.front_matter`) becomes metadata, its `title` the title. The text below
is unchanged, except that `data:` URIs and base64 are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from kinsplit.loaders.content import Format, LeftOut, Reading
from kinsplit.loaders.decoding import decode
from kinsplit.loaders.markup.data_uris import without_data
from kinsplit.loaders.markup.front_matter import front_matter
from kinsplit.loaders.markup.markdown import markdown_content, title_of


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


FORMAT = Format("markdown", (".md", ".markdown"), "Markdown, as it is; front matter as metadata", read)
