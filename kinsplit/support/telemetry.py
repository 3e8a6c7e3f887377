"""OpenTelemetry spans of the stages, where a program records spans.

A span holds counts and the names of models. Questions and ids are recorded only where
`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` is `true`, as for other instrumentations of generative AI. Names
come from its semantic conventions where they have one: https://opentelemetry.io/docs/specs/semconv/gen-ai/
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

T = TypeVar("T")
R = TypeVar("R")

#: Values of attributes by name; a name without a dot belongs to kinsplit.
Attributes = Mapping[str, str | int | float | bool]

_NONE: Attributes = MappingProxyType({})
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


class SpanRecorder(Protocol):
    """Function that adds attributes to a span."""

    def __call__(self, attributes: Attributes = ..., /, **counts: int) -> None: ...  # noqa: D102


def is_active() -> bool:
    """Return whether a program may record spans: only one that has imported OpenTelemetry can have set that up."""
    return "opentelemetry.trace" in sys.modules


@contextmanager
def span(name: str, attributes: Attributes = _NONE, *, texts: Attributes = _NONE) -> Iterator[SpanRecorder]:
    """Record the block as a span, the parent of spans that begin inside it; yield a function that adds attributes."""
    if not is_active():
        yield _ignore
        return
    with _active(_tracer().start_span(name)) as record:
        record(attributes)
        if texts and os.environ.get(_CAPTURE, "").lower() == "true":
            record(texts)
        yield record


def model_span(operation: Literal["embeddings", "chat"], model: str) -> AbstractContextManager[SpanRecorder]:
    """Record the block as a call of a model; see `span`."""
    provider, colon, _ = model.partition(":")
    attributes = {"gen_ai.operation.name": operation, "gen_ai.request.model": model}
    attributes["gen_ai.provider.name"] = provider if colon else "kinsplit"
    return span(f"{operation} {model}", attributes)


@contextmanager
def request_span(method: str, headers: Mapping[str, str]) -> Iterator[SpanRecorder]:
    """Record the block as an HTTP request that a server answers, continuing the trace of the client's headers.

    There is no span where another instrumentation has made one for the request.
    """
    if not is_active():
        yield _ignore
        return
    from opentelemetry import propagate, trace

    if trace.get_current_span().get_span_context().is_valid:
        yield _ignore
        return
    current = _tracer().start_span(method, propagate.extract(headers), trace.SpanKind.SERVER)
    with _active(current, propagate.extract(headers)) as record:
        record({"http.request.method": method})

        def finish(attributes: Attributes = _NONE, /, **counts: int) -> None:
            record(attributes, **counts)
            if "http.route" in attributes:
                current.update_name(f"{method} {attributes['http.route']}")

        yield finish


def carried() -> dict[str, str]:
    """Return the current span as headers for `continued` in another process; nothing where no spans are recorded."""
    headers: dict[str, str] = {}
    if is_active():
        from opentelemetry import propagate

        propagate.inject(headers)
    return headers


@contextmanager
def continued(headers: Mapping[str, str]) -> Iterator[None]:
    """Make the spans that begin inside the block children of the span with some headers of `carried`."""
    if not headers:
        yield
        return
    from opentelemetry import context, propagate

    token = context.attach(propagate.extract(headers))
    try:
        yield
    finally:
        context.detach(token)


def spanned(name: str, items: Generator[T, None, R], *, texts: Attributes = _NONE) -> Generator[T, None, R]:
    """Run a generator inside a span, which is not the current one for the consumer between two items."""
    if not is_active():
        return (yield from items)

    def run() -> Generator[T, None, R]:
        with span(name, texts=texts):
            return (yield from items)

    # Within a context of its own, as a task has one.
    context, inner = copy_context(), run()
    try:
        while True:
            try:
                item = context.run(next, inner)
            except StopIteration as stop:
                result: R = stop.value
                return result
            yield item
    finally:
        context.run(inner.close)


@contextmanager
def _active(current: Span, parent: Context | None = None) -> Iterator[SpanRecorder]:
    """Make a span the current one until the block ends, and end it then."""
    from opentelemetry import context, trace

    def record(attributes: Attributes = _NONE, /, **counts: int) -> None:
        for key, value in {**attributes, **counts}.items():
            current.set_attribute(key if "." in key else f"kinsplit.{key}", value)

    before = context.get_current()
    context.attach(trace.set_span_in_context(current, parent))
    try:
        yield record
    except GeneratorExit:  # Nobody waits for the result.
        raise
    except BaseException as error:  # Its message may quote a document.
        current.set_attribute("error.type", type(error).__qualname__)
        current.set_status(trace.StatusCode.ERROR)
        raise
    finally:
        # Not by the token: a coroutine that was cancelled is closed in another context.
        context.attach(before)
        current.end()


def _tracer() -> Tracer:
    from opentelemetry import trace

    return trace.get_tracer("kinsplit")


def _ignore(attributes: Attributes = _NONE, /, **counts: int) -> None:
    pass
