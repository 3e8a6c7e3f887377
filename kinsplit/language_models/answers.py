"""What a language model was asked for, found in what it answered; and prompts that texts can't break out of."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from kinsplit.language_models.protocol import Schema
from kinsplit.tokenizers import replace_surrogates

# Where a chat template begins the thoughts, the answer only ends them.
_THOUGHTS = re.compile(
    r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)|\A(?:(?!<think(?:ing)?>).)*</think(?:ing)?>", re.DOTALL
)
# Types of parts of a message that are none of its text, although they may have some.
_NO_TEXT = frozenset({"reasoning", "thinking"})
_OPENING = re.compile(r"[\[{]")
# A string of JSON, which may lack its end, or a bracket outside of strings.
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[{\]}]', re.DOTALL)
# Nothing that is asked for is nested more deeply.
_DEEPEST = 50
# Python reads no number of more digits than about this.
_LONGEST_INTEGER = 4_000
_NUMBER = re.compile(r"[+-]?\d{1,18}(?:\.\d*)?")
# What a model writes that knows JSON from hearsay: signs, other quotation marks, a comma at the end.
_LOOSE_ARRAY = re.compile(r"\[([\s\d,.+\-\"']*)\]")
# Numbers of an array that isn't closed; the last one may be cut, so it needs something behind it.
_OPEN_ARRAY = re.compile(r"\[(?P<numbers>(?:\s*\"?[+-]?\d{1,18}(?:\.\d+)?\"?\s*,)+)")


class _Unnumbered(str):
    """A text whose lines aren't counted, which each of JSON's errors would do from the beginning."""

    __slots__ = ()

    def count(self, *_: object) -> int:
        return 0

    def rfind(self, *_: object) -> int:
        return -1


class Numbers(NamedTuple):
    """The numbers that an answer names.

    Attributes:
        values: In the order of the answer.
        whole: False if the answer broke off.
    """

    values: list[int]
    whole: bool


def numbers_schema(key: str) -> Schema:
    """Return the schema of an object with one list of whole numbers."""
    numbers = {"type": "array", "items": {"type": "integer"}}
    return {"type": "object", "properties": {key: numbers}, "required": [key], "additionalProperties": False}


def read_numbers(answer: str, key: str) -> Numbers:
    """Return the list of numbers that an answer holds, however it is dressed up.

    An object's list under the key is taken before a bare list, and of several the longest. Numbers may be written as
    strings or with zeros behind the point; of lists in a list, and of objects, the first number of each counts.

    Args:
        answer: What the model said: JSON, with or without a fence or prose around it.
        key: Where the list is in the object that was asked for.

    Returns:
        The numbers; none if the answer holds no list of numbers.
    """
    answer = _THOUGHTS.sub(" ", answer)
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
    """Yield the JSON objects that an answer holds, outermost only, however it is dressed up."""
    return (value for value in _values(_THOUGHTS.sub(" ", answer)) if isinstance(value, dict))


def text_of(content: Any) -> str:
    """Return what a message's content says, which may come in parts, of which some are thoughts or calls of tools."""
    if isinstance(content, list):
        return "".join(map(text_of, content))
    if isinstance(content, dict):
        return "" if content.get("type") in _NO_TEXT else text_of(content.get("text"))
    return "" if content is None else str(content)


def inert(text: str) -> str:
    """Return a text that can't end the element of a prompt that it stands in, and that UTF-8 can carry."""
    return replace_surrogates(text).replace("</", "<\\/")


def _values(answer: str) -> Iterator[Any]:
    """Yield the objects and lists that an answer holds, outermost only."""
    decoder = json.JSONDecoder(parse_int=_json_number)
    answer = _Unnumbered(answer)
    at = 0
    while match := _OPENING.search(answer, at):
        start = match.start()
        try:
            value, at = decoder.raw_decode(answer, start)
        except (json.JSONDecodeError, RecursionError) as error:
            stop = error.pos if isinstance(error, json.JSONDecodeError) else len(answer)
            inner, at = _whole_values(answer, start, stop)
            yield from (decoder.raw_decode(answer, place)[0] for place in inner)
        else:
            yield value


def _whole_values(text: str, start: int, stop: int) -> tuple[list[int], int]:
    """Return where objects and lists begin that are whole, inside JSON that breaks off; and where to read on.

    To try each bracket as a beginning would take quadratic time.

    Args:
        text: The text.
        start: Where the JSON begins.
        stop: Where it breaks off, unless it is nested too deeply before.
    """
    opened: list[int] = []
    whole: list[int] = []
    for token in _JSON_TOKEN.finditer(text, start, stop):
        if token[0] in "[{":
            if len(opened) == _DEEPEST:
                return whole, token.start()
            opened.append(token.start())
        elif token[0] in "]}" and opened:
            begin = opened.pop()
            while whole and whole[-1] > begin:
                whole.pop()
            whole.append(begin)
    return whole, max(stop, start + 1)


def _json_number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else float(digits)


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
