"""A response is the same however the network cuts its bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinsplit.language_models import LanguageModel, stream
from kinsplit.language_models.servers import OllamaModel, OpenAIModel, lines
from tests.language_models.fake_server import FakeServer, Reply

#: Two, three and four bytes long; what str.splitlines, but no JSON, takes for the end of a line; a tag of thoughts.
_LETTERS = 'é€👍\u2028\u2029\x85\x1c\x0b\x0c\r\n\t ab"\\:[]{}<think/>'
_PIECES = st.lists(st.text(_LETTERS, min_size=1, max_size=6), min_size=1, max_size=5)
_CUTS = st.lists(st.integers(0, 2000), max_size=12)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    return [data[a:b] for a, b in pairwise([0, *sorted(places), len(data)])]


def answered(model: LanguageModel, chunks: list[bytes]) -> list[str]:
    """Return the pieces of an answer of which the response comes in chunks."""

    def chunked() -> Iterator[bytes]:
        yield from chunks

    transport = httpx.MockTransport(lambda request: httpx.Response(200, content=chunked()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx.Client, "_transport_for_url", lambda *_: transport)
        return list(model.stream("Hi"))  # type: ignore[attr-defined]


@settings(max_examples=25)
@given(_PIECES, _CUTS, st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_a_stream_of_events_may_be_cut_at_any_byte(
    pieces: list[str], places: list[int], ascii_: bool, end: str
) -> None:
    told = [json.dumps({"choices": [{"delta": {"content": piece}}]}, ensure_ascii=ascii_) for piece in pieces]
    told.append('{"choices": [{"delta": {}, "finish_reason": "stop"}]}')
    text = "".join(f": keep alive{end}{end}event: x{end}data: {each}{end}{end}" for each in [*told, "[DONE]"])
    assert answered(OpenAIModel("gpt", base_url="http://h"), cut(text.encode(), places)) == pieces


@settings(max_examples=25)
@given(_PIECES, _CUTS, st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_a_stream_of_objects_may_be_cut_at_any_byte(
    pieces: list[str], places: list[int], ascii_: bool, end: str
) -> None:
    told = [json.dumps({"message": {"content": each}}, ensure_ascii=ascii_) + end for each in pieces]
    last = json.dumps({"message": {"content": ""}, "done": True})
    assert answered(OllamaModel("llama3", host="h"), cut(("".join(told) + last).encode(), places)) == pieces


@given(st.text(_LETTERS), _CUTS)
def test_lines_end_where_a_line_ends_and_nowhere_else(text: str, places: list[int]) -> None:
    found = list(lines(cut(text.encode(), places)))
    wanted = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert found == (wanted if wanted[-1] else wanted[:-1])


def test_bytes_that_are_no_text_become_marks() -> None:
    assert list(lines([b"\xef\xbb\xbfa\xff\nb\xe2\x82"])) == ["a\ufffd", "b\ufffd"]


def test_a_line_separator_inside_an_answer_is_a_part_of_it(model: LanguageModel, fake: FakeServer) -> None:
    piece = "one\u2028two\x85three"
    body = {
        "ollama": json.dumps({"message": {"content": piece}, "done": True}, ensure_ascii=False),
        "openai": f"data: {json.dumps({'choices': [{'delta': {'content': piece}}]}, ensure_ascii=False)}\n\n"
        f"data: {json.dumps({'choices': [{'delta': {}, 'finish_reason': 'stop'}]})}\n\n",
    }
    fake.replies.append(Reply(body=body[model.name.partition(":")[0]]))
    assert list(stream(model, "Hi")) == [piece]
