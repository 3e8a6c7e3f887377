"""Spans of the stages, as OpenTelemetry's SDK receives them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from kinsplit import Document, Index
from kinsplit.answering import answer, ask
from kinsplit.errors import InvalidParameterError
from kinsplit.retrieval import Ranked
from kinsplit.server.app import create_app
from kinsplit.server.collections import Collections
from kinsplit.server.settings import ServiceSettings
from kinsplit.support import telemetry
from tests.answering.helpers import Scripted

QUESTION = "When do larks sing?"
TEXT = "Owls hunt at night. Larks sing at dawn."
SEARCH = [
    *("kinsplit.search", "  embeddings hash:64", "  kinsplit.search.candidates", "  kinsplit.search.score"),
    *("  kinsplit.search.fetch", "  kinsplit.search.expand"),
]


class Spans:
    """The finished spans."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    def clear(self) -> None:
        self._exporter.clear()

    def all(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def tree(self) -> list[str]:
        """The names in order of their beginnings, indented by depth."""
        found = {each.context.span_id: each for each in self.all()}
        lines = []
        for each in sorted(self.all(), key=lambda each: each.start_time):
            depth, above = 0, each.parent
            while above is not None and above.span_id in found:
                depth, above = depth + 1, found[above.span_id].parent
            lines.append("  " * depth + each.name)
        return lines

    def facts(self, name: str) -> dict[str, object]:
        """The attributes of the first span with a name."""
        return dict(next(each for each in self.all() if each.name == name).attributes or {})


class Backwards:
    """A reranker that prefers later texts."""

    def rerank(self, query: str, texts: Sequence[str]) -> list[Ranked]:
        return [Ranked(index, float(index)) for index in range(len(texts))]


@pytest.fixture(scope="module")
def exporter() -> Iterator[InMemorySpanExporter]:
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with pytest.MonkeyPatch.context() as patch:
        # A provider can be set only once per process.
        patch.setattr(telemetry, "_tracer", lambda: provider.get_tracer("kinsplit"))
        yield exporter


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> Spans:
    exporter.clear()
    return Spans(exporter)


@pytest.fixture
def index() -> Iterator[Index]:
    with Index("memory:telemetry", embedder="hash") as made:
        made.add(Document("notes.md", TEXT))
        yield made


def indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def test_the_stages_of_indexing(spans: Spans, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text(TEXT)
    (tmp_path / "broken.pdf").write_bytes(b"nonsense")
    with Index("memory:", embedder="hash") as index:
        index.add(tmp_path)
    assert spans.tree() == [
        "kinsplit.index",
        *("  kinsplit.read", "  kinsplit.read", "  kinsplit.split", "  embeddings hash:64", "  kinsplit.write"),
    ]
    counts = spans.facts("kinsplit.index")
    assert (counts["kinsplit.documents"], counts["kinsplit.failed"], counts["kinsplit.added"]) == (1, 1, 1)
    broken, read = (dict(each.attributes or {}) for each in spans.all()[:2])
    assert broken == {"error.type": "LoadError"}
    assert read == {"kinsplit.documents": 1, "kinsplit.characters": len(TEXT)}
    assert spans.facts("kinsplit.split") == {
        "kinsplit.strategy": "sentence",
        "kinsplit.documents": 1,
        "kinsplit.chunks": 1,
    }
    assert spans.facts("embeddings hash:64")["gen_ai.operation.name"] == "embeddings"


async def test_the_stages_of_a_search_are_the_same_sync_and_async(spans: Spans, index: Index) -> None:
    spans.clear()
    index.search(QUESTION, rerank=Backwards())
    reranked = [*SEARCH[:5], "  kinsplit.search.rerank", SEARCH[5], "  kinsplit.search.rerank"]
    assert spans.tree() == reranked
    facts = [dict(each.attributes or {}) for each in spans.all()]
    spans.clear()
    await asyncio.gather(*(index.asearch(QUESTION, rerank=Backwards()) for _ in range(5)))
    assert sorted(spans.tree()) == sorted(reranked * 5)
    assert [dict(each.attributes or {}) for each in spans.all() if each.name == "kinsplit.search"] == [facts[-1]] * 5
    assert facts[-1] == {
        "gen_ai.operation.name": "retrieval",
        "kinsplit.top_k": 3,
        "kinsplit.window": 1,
        "kinsplit.passages": 1,
    }


def test_the_stages_of_an_answer(spans: Spans, index: Index) -> None:
    spans.clear()
    ask(index, QUESTION, Scripted("Larks sing at dawn [1]."))
    assert spans.tree() == [
        *("kinsplit.ask", *indented(SEARCH), "  chat scripted", "  kinsplit.ask.check"),
    ]
    assert spans.facts("chat scripted")["gen_ai.request.model"] == "scripted"


def test_spans_of_the_reader_of_an_answer_are_not_inside_it(spans: Spans, index: Index) -> None:
    spans.clear()
    events = answer(index, QUESTION, Scripted("Larks sing at dawn [1]."))
    with telemetry.span("reader"):
        next(events)
        with telemetry.span("between"):
            pass
        events.close()
    assert spans.tree() == [
        *("reader", "  kinsplit.ask", *indented(indented(SEARCH)), "  between"),
    ]
    assert spans.facts("kinsplit.ask") == {}


def test_texts_are_recorded_on_request_only(spans: Spans, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = count(1)

    def recorded() -> str:
        spans.clear()
        ask(index, QUESTION, Scripted("Larks sing at dawn [1]."))
        # A new text each time, since a document that is unchanged has no span.
        index.add(Document("larks.md", f"{TEXT} {next(numbers)} larks."))
        with pytest.raises(InvalidParameterError):
            index.add([Document("larks", ""), Document("larks", "")])
        return " ".join(each.to_json() for each in spans.all()).casefold()

    assert "larks" not in recorded()
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    assert recorded().count(QUESTION.casefold()) == 2
    assert "larks.md" in recorded()
    assert spans.facts("kinsplit.search")["gen_ai.retrieval.query.text"] == QUESTION


async def test_a_request_continues_the_trace_of_its_client(spans: Spans, index: Index) -> None:
    settings = ServiceSettings.load(store="memory:telemetry", embedder="hash", collections="default")
    app = create_app(settings, Collections(settings))
    trace_id, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client,
    ):
        spans.clear()
        await client.get("/search", params={"q": QUESTION}, headers={"traceparent": f"00-{trace_id}-{parent}-01"})
        assert spans.tree() == ["GET /search", *indented(SEARCH)]
        request = spans.all()[-1]
        assert request.parent is not None
        assert f"{request.context.trace_id:032x} {request.parent.span_id:016x}" == f"{trace_id} {parent}"
        assert request.kind is trace.SpanKind.SERVER
        assert request.attributes == {
            "http.request.method": "GET",
            "http.route": "/search",
            "http.response.status_code": 200,
        }
        spans.clear()
        with telemetry.span("another instrumentation"):
            await client.post("/ask", json={"question": QUESTION})
        assert spans.tree()[:2] == ["another instrumentation", "  kinsplit.ask"]


def test_a_program_without_opentelemetry_does_not_load_it(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace")
    assert index.search(QUESTION)
    assert index.add(Document("other.md", TEXT)).added == 1
    assert ask(index, QUESTION).text
    assert "opentelemetry.trace" not in sys.modules
