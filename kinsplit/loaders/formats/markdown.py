"""Markdown with its title and front matter.

The front matter, YAML between lines of `---` or TOML between lines of `+++`, becomes metadata, its `title` the title.
Dates are strings, as they are written. A value without quotation marks is true, false or a number if it is written as
JSON would write it, so that a version `1.10` stays a string. One that is empty or null is left out. The text below is
unchanged, except that `data:` URIs and base64 are left out.
"""

from __future__ import annotations

import datetime
import json
import re
import tomllib
from collections.abc import Sequence
from typing import Any, NamedTuple

from kinsplit.errors import MissingExtraError
from kinsplit.loaders.content import Format, LeftOut, Reading
from kinsplit.loaders.decoding import decode
from kinsplit.loaders.markup.markdown import markdown_content, title_of
from kinsplit.support.extras import needs

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


_LONGEST = 2**15  # characters
_OPENING = re.compile(r"(---|\+\+\+)[ \t]*\r?\n(?=[^\r\n])")
_CLOSING = {
    "---": re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE),
    "+++": re.compile(r"^\+\+\+[ \t]*(?:\r?\n|\Z)", re.MULTILINE),
}
_FIELD = re.compile(r"(?:[ \t]*#[^\n]*\n|[ \t]*\r?\n)*[\w\"'][^\n]{0,100}?[:=](?:\s|$)")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{0,16}[1-9])?", re.ASCII)


class FrontMatter(NamedTuple):
    """The front matter of a text.

    Attributes:
        fields: The metadata; empty without front matter.
        end: Offset after it, and after the blank lines that follow; 0 without front matter.
        warnings: Why something that looks like front matter is none.
    """

    fields: dict[str, Any]
    end: int = 0
    warnings: tuple[str, ...] = ()


def front_matter(text: str) -> FrontMatter:
    """Return the front matter of a text.

    Raises:
        MissingExtraError: It is YAML, and PyYAML is not installed.
    """
    opening = _OPENING.match(text)
    closing = _CLOSING[opening[1]].search(text[:_LONGEST], opening.end()) if opening else None
    if opening is None or closing is None:
        return FrontMatter({})  # A thematic break.
    source = text[opening.end() : closing.start()]
    try:
        fields = _yaml(source) if opening[1] == "---" else _plain(tomllib.loads(source.replace("\r\n", "\n")))
    except MissingExtraError:
        if _FIELD.match(source) or source.startswith("{"):
            raise
        return FrontMatter({})  # Text between thematic breaks.
    except (ValueError, RecursionError) as error:
        if not _FIELD.match(source):
            return FrontMatter({})
        reason = " ".join(str(error).split())[:200]
        return FrontMatter({}, 0, (f"has front matter that can't be read, and stays in the text: {reason}",))
    if not isinstance(fields, dict):
        return FrontMatter({})
    end = closing.end()
    while text[end : end + 1] in ("\r", "\n") and end < len(text):
        end += 1
    return FrontMatter({key: value for key, value in fields.items() if value is not None}, end)


def _yaml(source: str) -> Any:
    """Return the value of YAML, or raise ValueError or MissingExtraError."""
    with needs("files"):
        import yaml

    try:
        node = yaml.compose(source, yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    return {} if node is None else _value(node, set())


def _value(node: Any, seen: set[int]) -> Any:
    if isinstance(node.value, str):
        # JSON, which is YAML, has characters beyond U+FFFF as two escapes.
        text = node.value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text if node.style else _scalar(text)
    if id(node) in seen:
        raise ValueError("it repeats a list or a mapping by its name, which may have no end")
    seen.add(id(node))
    if node.id == "sequence":
        return [_value(child, seen) for child in node.value]
    if not all(isinstance(key.value, str) for key, _ in node.value):
        raise ValueError("a key isn't a string")
    return {key.value: _value(child, seen) for key, child in node.value}


def _scalar(text: str) -> Any:
    if text in {"", "~", "null", "Null", "NULL"}:
        return None
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    return json.loads(text) if _NUMBER.fullmatch(text) else text


def _plain(value: Any) -> Any:
    """Return a value of TOML as JSON has it."""
    if isinstance(value, dict):
        return {key: _plain(child) for key, child in value.items()}
    if isinstance(value, list):
        return list(map(_plain, value))
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else value
