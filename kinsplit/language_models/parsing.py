"""Requested values in the answers of language models, and texts that can't break out of a prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from kinsplit.language_models.protocol import Schema
from kinsplit.spans import replace_surrogates

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_BEGIN_OF_THOUGHTS, _ENDS_OF_THOUGHTS = re.compile(r"<think(?:ing)?>"), ("</think>", "</thinking>")
# Types of message parts that don't belong to the answer, although they may have text.
_NO_TEXT = frozenset({"reasoning", "thinking"})
_WORD = re.compile(r"\w+")
_OPENING = re.compile(r"[\[{]")
_NUMBER = re.compile(r"[+-]?\d{1,18}(?:\.\d*)?")
# Arrays that are almost JSON: with signs, other quotation marks, or a trailing comma.
_LOOSE_ARRAY = re.compile(r"\[([\s\d,.+\-\"']*)\]")
# Numbers of an unclosed array; the last one may be truncated, so a comma must follow it.
_OPEN_ARRAY = re.compile(r"\[(?P<numbers>(?:\s*+\"?[+-]?\d{1,18}+(?:\.\d++)?\"?\s*+,)++)")
# Maximum characters parsed in search of JSON, as a multiple of the answer's length: a thousand opening brackets would
# otherwise be parsed a thousand times. The parser gives up at about that depth.
_LOOKS, _DEPTH = 8, 1000


class _Unnumbered(str):
    """A text whose lines aren't counted; each JSON error would otherwise count them from the beginning."""

    __slots__ = ()

    def count(self, *_: object) -> int:
        return 0

    def rfind(self, *_: object) -> int:
        return -1


class Numbers(NamedTuple):
    """The numbers in an answer."""

    values: list[int]  # The numbers in the order of the answer.
    whole: bool


def numbers_schema(key: str) -> Schema:
    """Return the schema of an object with one list of whole numbers."""
    numbers = {"type": "array", "items": {"type": "integer"}}
    return {"type": "object", "properties": {key: numbers}, "required": [key], "additionalProperties": False}


def read_numbers(answer: str, key: str) -> Numbers:
    """Return the list of numbers in an answer, whatever surrounds it; none if there is no such list.

    An object's list under the key takes precedence over a bare list, and of several the longest. Numbers may be strings
    or end in ".0"; of lists in a list, and of objects, the first number of each counts.
    """
    answer = _without_thoughts(answer)
    named: list[list[int]] = []
    bare: list[list[int]] = []
    for value in _values(answer):
        if isinstance(value, dict) and isinstance(value.get(key), list):
            named.append(_integers(value[key]))
        elif isinstance(value, dict):
            bare.extend(_integers(each) for each in value.values() if isinstance(each, list))
        elif isinstance(value, list):
            bare.append(_integers(value))
    loose = (_loose_integers(array) for array in _LOOSE_ARRAY.findall(answer))
    best = next((best for found in (named, bare, loose) if (best := max(found, key=len, default=[]))), [])
    cut = _OPEN_ARRAY.search(answer, answer.rfind("]") + 1)
    begun = _loose_integers(cut["numbers"]) if cut else []
    return Numbers(begun, whole=False) if len(begun) > len(best) else Numbers(best, whole=True)


def read_objects(answer: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects in an answer, whatever surrounds them."""
    return (value for value in _values(_without_thoughts(answer)) if isinstance(value, dict))


def text_of(content: Any) -> str:
    """Return the text of a message's content, which may have parts, among them thoughts and tool calls."""
    if isinstance(content, list):
        return "".join(map(text_of, content))
    if isinstance(content, dict):
        return "" if content.get("type") in _NO_TEXT else text_of(content.get("text"))
    return "" if content is None else str(content)


def escape_tags(text: str) -> str:
    """Return a text that can't close its element in a prompt, and that UTF-8 can encode."""
    return replace_surrogates(text).replace("</", "<\\/")


def plain(text: str) -> str:
    """Return the words of a text in lower case, by which texts are compared whatever their formatting."""
    return " ".join(_WORD.findall(text.casefold()))


def _values(answer: str) -> Iterator[Any]:
    """Yield the outermost objects and lists in an answer."""
    decoder = json.JSONDecoder()
    answer = _Unnumbered(answer)
    at, left = 0, _LOOKS * (len(answer) + _DEPTH)
    while left > 0 and (match := _OPENING.search(answer, at)):
        try:
            value, at = decoder.raw_decode(answer, match.start())
        except json.JSONDecodeError as error:
            left -= error.pos - match.start()
            at = match.end()
        except (ValueError, RecursionError):  # A number with too many digits, or too deeply nested lists.
            left -= _DEPTH
            at = match.end()
        else:
            yield value


def _without_thoughts(answer: str) -> str:
    # If the chat template opens the thoughts, the answer only closes them.
    first = _BEGIN_OF_THOUGHTS.search(answer)
    before = answer[: first.start()] if first else answer
    ends = (found + len(end) for end in _ENDS_OF_THOUGHTS if (found := before.rfind(end)) >= 0)
    return _THOUGHTS.sub(" ", answer[max(ends, default=0) :])


def _loose_integers(text: str) -> list[int]:
    return _integers(re.sub("[\"']", " ", text).split(","))


def _integers(values: list[Any]) -> list[int]:
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    return [number for value in values if (number := _integer(value)) is not None]


def _integer(value: Any) -> int | None:
    if isinstance(value, list | dict):
        inner = value.values() if isinstance(value, dict) else value
        found = (each for each in inner if isinstance(each, int | float | str))
        return next((number for each in found if (number := _integer(each)) is not None), None)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    match = _NUMBER.fullmatch(str(value).strip())
    if match is None:
        return None
    whole, _, fraction = match[0].partition(".")
    return int(whole) if not fraction.strip("0") else None
