"""Front matter of Markdown: YAML between lines of `---`, or TOML between lines of `+++`, as metadata.

Dates are strings, as they are written. A value without quotation marks is true, false or a number if it is written as
JSON would write it, so that a version `1.10` stays a string. One that is empty or null is left out.
"""

from __future__ import annotations

import datetime
import json
import re
import tomllib
from typing import Any, NamedTuple

from kinsplit.errors import MissingExtraError
from kinsplit.support.extras import needs

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
