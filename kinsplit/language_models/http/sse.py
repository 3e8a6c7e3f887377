"""Lines of a stream of bytes, and the data of its server-sent events, both limited in length."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterable, Iterator

from kinsplit.support.http import ResponseTooLongError

#: Maximum characters of a line and of an event, which may be the whole answer of a server that can't stream.
LONGEST = 4 << 20
_utf_8 = codecs.getincrementaldecoder("utf-8-sig")


def lines(chunks: Iterable[bytes]) -> Iterator[str]:
    r"""Yield the lines of a UTF-8 text, however it is chunked.

    Only `\n`, `\r\n` and `\r` end a line. Other line ends of `str.splitlines` (and thus httpx), such as U+2028, may
    occur inside a JSON string.

    Args:
        chunks: The text's bytes.

    Raises:
        ResponseTooLongError: A line is longer than `LONGEST`.
    """
    decoder = io.IncrementalNewlineDecoder(_utf_8("replace"), translate=True)
    # Parts of the current line, joined once: a long line may come in a million of them.
    held: list[str] = []
    length = 0
    for chunk in chunks:
        first, *others = decoder.decode(chunk).split("\n")
        held.append(first)
        if others:
            yield "".join(held)
            yield from others[:-1]
            held, length = [others[-1]], 0
        length += len(held[-1])
        if length > LONGEST:
            raise ResponseTooLongError(f"a line of more than {LONGEST:,} characters")
    held.append(decoder.decode(b"", final=True))
    # The decoder may hold back a carriage return, which ends a line.
    *whole, last = "".join(held).split("\n")
    yield from whole
    if last:
        yield last


def events(text: Iterable[str]) -> Iterator[str]:
    """Yield the data of each server-sent event that has any, and finally any text that was not an event.

    Args:
        text: Lines of the stream; see https://html.spec.whatwg.org/multipage/server-sent-events.html.

    Raises:
        ResponseTooLongError: An event, or the other text, is longer than `LONGEST`.
    """
    data: list[str] = []
    other: list[str] = []
    length = length_of_data = 0
    for line in text:
        length += len(line)
        field, _, value = line.partition(":")
        if field == "data":
            data.append(value.removeprefix(" "))
            length_of_data += len(line)
        elif not line.strip():
            # The end of an event.
            if any(data):
                yield "\n".join(data)
            data, length, length_of_data = [], length - length_of_data - len(line), 0
        elif field not in ("", "event", "id", "retry"):
            other.append(line)
        else:
            # Comments keep a connection open; `event` and `id` have no meaning here.
            length -= len(line)
        if length > LONGEST:
            raise ResponseTooLongError(f"an event of more than {LONGEST:,} characters")
    # A server may close the connection without ending its last event; one that can't stream sends one object.
    for left in (data, other):
        if any(left):
            yield "\n".join(left)
