"""Servers that send without end, slowly, or far more than it seems: each is one error, soon and in little memory."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache

import httpx
import pytest

from kinsplit.errors import LanguageModelError
from kinsplit.language_models import LanguageModel
from kinsplit.language_models.servers import OllamaModel, OpenAIModel, lines
from kinsplit.model_servers import server
from kinsplit.support.http import LimitedStream, RequestLimits, ResponseTooLongError
from tests.hostile_server import Hostile

#: What a hostile server has to send at most, so that a client that would read it all ends as well.
_ALL = 64 << 20
_PART = 1 << 16


@pytest.fixture(autouse=True)
def _quick(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses between tries, and the longest stream."""
    monkeypatch.setattr(server, "LONGEST_STREAM", 1 << 20)


@pytest.fixture(params=["ollama", "openai"])
def model(request: pytest.FixtureRequest, hostile: Hostile) -> LanguageModel:
    if request.param == "ollama":
        return OllamaModel("llama3", host=hostile.url, timeout=5)
    return OpenAIModel("gpt", base_url=hostile.url, timeout=5)


def asked(model: LanguageModel, *, streamed: bool) -> str:
    return "".join(model.stream("Hi")) if streamed else model.complete("Hi")  # type: ignore[attr-defined]


def endless(part: bytes) -> Callable[[], Iterator[bytes]]:
    return lambda: iter([part * (_PART // len(part))] * (_ALL // _PART))


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("part", [b"x", b"data: x\n", b"[", b"\xff"], ids=["no line ends", "no end", "deep", "no text"])
def test_an_answer_without_end_is_given_up_and_not_asked_for_again(
    model: LanguageModel, hostile: Hostile, part: bytes, streamed: bool
) -> None:
    hostile.parts = endless(part)
    with pytest.raises(LanguageModelError, match=r"the server (sent more than|sent a|sent an|answered)") as caught:
        asked(model, streamed=streamed)
    assert len(str(caught.value)) < 400
    assert hostile.sent < 4 * server.LONGEST_ANSWER


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_an_error_without_end_is_read_at_its_beginning(model: LanguageModel, hostile: Hostile, streamed: bool) -> None:
    hostile.head = b"HTTP/1.1 413 Too long\r\n\r\n"
    hostile.parts = endless(b"no room ")
    with pytest.raises(LanguageModelError, match="status 413: no room no room"):
        asked(model, streamed=streamed)
    assert hostile.sent < 4 << 20


@cache
def packed_all(letter: bytes) -> bytes:
    return gzip.compress(letter * _ALL, 4)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("letter", [b" ", b"x", b"\n"], ids=["blanks", "one line", "lines"])
def test_a_small_answer_that_unpacks_to_a_large_one_is_not_unpacked(
    model: LanguageModel, hostile: Hostile, letter: bytes, streamed: bool
) -> None:
    packed = packed_all(letter)
    hostile.head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed)
    hostile.parts = lambda: iter([packed])
    with pytest.raises(LanguageModelError, match=r"the server sent (more than|a line)"):
        asked(model, streamed=streamed)
    assert hostile.calls == 1


def test_what_is_unpacked_takes_no_more_memory_than_is_asked_for() -> None:
    packed = packed_all(b"x")
    response = httpx.Response(200, headers={"content-encoding": "gzip"}, stream=httpx.ByteStream(packed))
    parts = iter(LimitedStream(response, 1 << 20, lambda excess: None))
    assert max(len(next(parts)) for _ in range(8)) <= _PART
    with pytest.raises(ResponseTooLongError, match="more than 1,048,576 bytes"):
        list(parts)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nx: " + b"y" * 4000, b"HTTP/1.1 500 No\r\n\r\n"]
)
def test_a_server_that_drips_is_given_up_when_the_time_is_over(
    hostile: Hostile, head: bytes, streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "STREAM_TIME", 1)
    hostile.head, hostile.pause = head, 0.02
    hostile.parts = lambda: iter([b" "] * 2000)
    begun = time.monotonic()
    with pytest.raises(LanguageModelError, match=r"gave no answer within 0.2 s"):
        asked(OllamaModel("llama3", host=hostile.url, timeout=0.2), streamed=streamed)
    assert time.monotonic() - begun < 10  # Three tries; all that it has would take 40 s.


def test_a_stream_may_take_longer_than_a_whole_answer_but_not_for_ever(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile.parts = lambda: iter([b'{"message": {"content": "x"}}\n'] * 400)
    hostile.pause = 0.02
    monkeypatch.setattr(server, "STREAM_TIME", 1.5)
    pieces = OllamaModel("llama3", host=hostile.url, timeout=0.8).stream("Hi")
    begun, found = time.monotonic(), []
    with pytest.raises(LanguageModelError, match=r"gave no answer within 1.2 s"):
        found.extend(pieces)
    assert 0.5 < time.monotonic() - begun < 6
    assert hostile.calls == 1


@pytest.mark.parametrize("number", [1, 400, 480, 900, 100_000])
def test_an_answer_of_lists_in_lists_is_one_error(model: LanguageModel, hostile: Hostile, number: int) -> None:
    deep = b"[" * number + b"]" * number
    answers = [deep, b'{"error": %b}' % deep, b'{"message": {"content": %b}}' % deep]
    answers.append(b'{"choices": [{"message": {"content": %b}}]}' % deep)
    for answer in answers:
        for status in (b"200", b"413"):
            hostile.head = b"HTTP/1.1 %b OK\r\ncontent-length: %d\r\n\r\n" % (status, len(answer))
            hostile.parts = lambda answer=answer: iter([answer])
            for streamed in (False, True):
                # A few lists may be an answer; too many are an error.
                with suppress(LanguageModelError):
                    assert len(asked(model, streamed=streamed)) <= len(deep)


def test_lines_are_read_in_time_that_grows_with_their_length() -> None:
    seconds = []
    for size in (10_000, 80_000):
        cut = [b"x"] * size
        begun = time.process_time()
        assert [len(line) for line in lines(cut)] == [size]
        seconds.append(time.process_time() - begun)
    assert seconds[1] < 24 * seconds[0] + 0.1  # 64 times, were it quadratic.


def test_a_packing_that_was_not_asked_for_is_said(hostile: Hostile) -> None:
    hostile.head = b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\n\r\n"
    hostile.parts = lambda: iter([b"???"])
    with pytest.raises(LanguageModelError, match="packed by 'br', and only gzip was asked for"):
        OllamaModel("llama3", host=hostile.url).complete("Hi")


def test_an_answer_may_come_packed(hostile: Hostile) -> None:
    packed = gzip.compress(json.dumps({"message": {"content": "Voilà"}, "done": True}).encode())
    hostile.head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n"
    hostile.parts = lambda: iter([packed[:9], packed[9:]])
    model = OllamaModel("llama3", host=hostile.url)
    assert [asked(model, streamed=streamed) for streamed in (False, True)] == ["Voilà", "Voilà"]
    hostile.parts = lambda: iter([packed[:-9]])
    with pytest.raises(LanguageModelError, match="its gzip ends in the middle"):
        model.complete("Hi")


def test_an_error_packed_otherwise_is_told_by_its_status(hostile: Hostile) -> None:
    hostile.head = b"HTTP/1.1 404 Not Found\r\ncontent-encoding: br\r\n\r\n"
    hostile.parts = lambda: iter([b"???"])
    with pytest.raises(LanguageModelError, match="status 404: Not Found"):
        OllamaModel("llama3", host=hostile.url).complete("Hi")


def test_what_a_body_says_of_its_charset_is_passed_over() -> None:
    # Decoding punycode takes time that grows with the square of the length.
    response = httpx.Response(
        500, headers={"content-type": "text/plain; charset=punycode"}, stream=httpx.ByteStream("é".encode() * 99_999)
    )
    RequestLimits(5, None, 1 << 20).limit(response)
    response.read()
    assert response.text.startswith("ééé")


def test_a_connection_that_is_kept_is_ended_in_time_as_well(hostile: Hostile) -> None:
    hostile.head, hostile.keeps = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", True
    hostile.parts = lambda: iter([b"{}"])
    limits = RequestLimits(0.2, None, 99)
    hooks = {"request": [limits.begin], "response": [limits.limit]}
    with httpx.Client(event_hooks=hooks) as client:
        with limits.watched():
            assert client.get(hostile.url).json() == {}
        hostile.pause = 0.05
        with pytest.raises(httpx.ReadTimeout, match=r"no end after 0.2 s"), limits.watched():
            client.get(hostile.url)
    assert (hostile.calls, len(hostile.connections)) == (2, 1)
