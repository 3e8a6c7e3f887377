"""Bytes as they come over a connection -> lines, and the data of server-sent events."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterable, Iterator

_utf_8 = codecs.getincrementaldecoder("utf-8-sig")


def lines(chunks: Iterable[bytes]) -> Iterator[str]:
    r"""Yield the lines of a UTF-8 text, however it is cut.

    Only `\n`, `\r\n` and `\r` end one. Other characters that `str.splitlines` (and so httpx) takes for ends of lines,
    such as U+2028, may stand inside a string of JSON.

    Args:
        chunks: The text's bytes.
    """
    decoder = io.IncrementalNewlineDecoder(_utf_8("replace"), translate=True)
    held = ""
    for chunk in chunks:
        *whole, held = (held + decoder.decode(chunk)).split("\n")
        yield from whole
    *whole, held = (held + decoder.decode(b"", final=True)).split("\n")
    yield from whole
    if held:
        yield held


def events(text: Iterable[str]) -> Iterator[str]:
    """Yield the data of each server-sent event that has any, or as the last one what came instead of events.

    Args:
        text: Lines; see https://html.spec.whatwg.org/multipage/server-sent-events.html.
    """
    data: list[str] = []
    other: list[str] = []
    for line in text:
        field, _, value = line.partition(":")
        if field == "data":
            data.append(value.removeprefix(" "))
        elif not line.strip():
            # The end of an event.
            if any(data):
                yield "\n".join(data)
            data = []
        # Comments keep a connection open; `event` and `id` say nothing here.
        elif field not in ("", "event", "id", "retry"):
            other.append(line)
    # A server that hangs up after its last event may leave its end out; and one that can't stream sends one object.
    for left in (data, other):
        if any(left):
            yield "\n".join(left)
