"""The tools of the server, and its transports."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Annotated, Any, TypeVar

from mcp.server.mcpserver import Context, MCPServer, ResourceSecurity
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import ToolAnnotations
from pydantic import Field
from pydantic.fields import FieldInfo
from starlette.applications import Starlette
from starlette.routing import Route

import kinsplit
from kinsplit.answering import Finished, answer, in_threads
from kinsplit.errors import KinsplitError
from kinsplit.mcp.results import (
    Answered,
    DocumentExcerpt,
    Documents,
    FoundPassages,
    list_page,
    read_chunk,
    read_span,
    to_answered,
    to_found,
)
from kinsplit.options import MCP_ASK, MCP_SEARCH, AnswerOptions, Door, SearchOptions
from kinsplit.server import limits
from kinsplit.server.collections import Collections
from kinsplit.server.middleware.metrics import Metrics
from kinsplit.server.request_options import parse_filter
from kinsplit.server.settings import ServiceSettings
from kinsplit.support.settings import Settings

_LOG = logging.getLogger("kinsplit.mcp")
#: Nothing is changed, and nothing outside the index is reached.
_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
#: Documents per page, and siblings on each side of an excerpt.
_ROWS, _AROUND = 100, 50
#: End of every document.
_END = 2**31

_Tool = TypeVar("_Tool", bound=Callable[..., Any])

_Question = Annotated[
    str, Field(max_length=limits.QUERY, description="The question, in a whole sentence with the words that matter.")
]
_Collection = Annotated[
    str | None, Field(max_length=limits.NAME, description="Collection to use; null for the default one.")
]
_Where = Annotated[
    dict[str, Any] | None,
    Field(
        description='Metadata filter, such as {"subject": "cs", "year": {"$gte": 2020}}; list_documents shows the keys.'
    ),
]


def _with_options(door: Door, *models: type[Settings]) -> Callable[[_Tool], _Tool]:
    """Replace the `**options` of a tool by the options of some models that a door offers."""

    def replace(tool: _Tool) -> _Tool:
        signature = inspect.signature(tool, eval_str=True)
        own = {name: each for name, each in signature.parameters.items() if each.kind is not each.VAR_KEYWORD}
        derived = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=info.default, annotation=_annotated(info))
            for name, info in door.fields(*models).items()
            if name not in own
        ]
        tool.__signature__ = signature.replace(parameters=[*own.values(), *derived])  # type: ignore[attr-defined]
        return tool

    return replace


def _annotated(info: FieldInfo) -> Any:
    return Annotated[info.annotation, info]


def create_server(collections: Collections) -> MCPServer:
    """Create a server with the tools and the documents as resources.

    Args:
        collections: The open collections; the caller closes them.
    """
    names = ", ".join(
        f"{each.name} (the default)" if each is collections.default else each.name for each in collections
    )
    instructions = (
        "Searches a private collection of documents. Call search for the passages that answer a question, then read "
        "to see what stands around one. Cite passages by their `citation`. ask writes an answer with checked "
        f"citations. Collections: {names}."
    )
    server = MCPServer(
        "kinsplit",
        instructions=instructions,
        version=kinsplit.__version__,
        log_level="WARNING",
        # What is offered never changes, and each subscription would keep a connection open.
        subscriptions=False,
    )
    for add in (_add_search, _add_ask, _add_read, _add_list, _add_resource):
        add(server, collections)
    return server


def create_http_app(server: MCPServer, settings: ServiceSettings, metrics: Metrics) -> Starlette:
    """Create an application that answers at /mcp by streamable HTTP, guarded like the service.

    Args:
        server: The tools.
        settings: The settings.
        metrics: The metrics.
    """
    from kinsplit.server.middleware.stack import guard  # Needs the extra `server`.

    hosts = [name for host in settings.hosts for name in (host, f"{host}:*")]
    own_origins = [f"{scheme}://{name}" for scheme in ("http", "https") for name in hosts]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=bool(hosts) and "*" not in settings.cors_origins,
        allowed_hosts=hosts,
        allowed_origins=[*own_origins, *settings.cors_origins],
    )
    protocol = server.streamable_http_app(
        stateless_http=True, max_request_body_size=settings.max_body, transport_security=security
    )
    # Without sessions the server sends nothing by itself: a GET would only keep a connection open.
    route = Route("/mcp", protocol, methods=["POST"])
    app = Starlette(routes=[route], lifespan=lambda _: server.session_manager.run())
    guard(app, settings, metrics)
    return app


@contextmanager
def _reported() -> Iterator[None]:
    """Report kinsplit's errors, with their remedy, to the model."""
    try:
        yield
    except KinsplitError as error:
        _LOG.info("%s", type(error).__name__)
        raise ToolError(str(error)) from error


def _add_search(server: MCPServer, collections: Collections) -> None:
    @server.tool(title="Search documents", annotations=_READS)
    @_with_options(MCP_SEARCH, SearchOptions)
    async def search(
        question: _Question, collection: _Collection = None, where: _Where = None, **options: Any
    ) -> FoundPassages:
        """Find the passages of the indexed documents that answer a question, by meaning and by words.

        Each passage is an exact slice of its document, with its id, pages, section, score and citation. To see more of
        what stands around a passage, call `read` with its source_id and range, or with one of its chunks.
        """
        with _reported():
            picked = collections.pick(collection)
            passages = await picked.index.asearch(question, where=parse_filter(where), **options)
        return to_found(picked.name, passages)


def _add_ask(server: MCPServer, collections: Collections) -> None:
    @server.tool(title="Answer from documents", annotations=_READS)
    @_with_options(MCP_ASK, SearchOptions, AnswerOptions)
    async def ask(
        question: _Question,
        context: Context[Any, Any],
        collection: _Collection = None,
        where: _Where = None,
        **options: Any,
    ) -> Answered:
        """Answer a question from the indexed documents, with citations that are checked sentence by sentence.

        The server's own language model answers; without one, the best sentences are quoted. If you want to read and
        judge the passages yourself, call `search` instead.
        """
        with _reported():
            picked = collections.pick(collection)
            events = answer(picked.index, question, collections.model, where=parse_filter(where), **options)
            # If the client cancels the call, this closes the generator, which stops the model.
            async with aclosing(in_threads(events)) as steps:
                number = 0
                async for event in steps:
                    if isinstance(event, Finished):
                        return to_answered(picked.name, event.answer)
                    number += 1
                    await context.report_progress(number)
        raise AssertionError("The last event of all is Finished.")


def _add_read(server: MCPServer, collections: Collections) -> None:
    @server.tool(title="Read around a passage", annotations=_READS)
    async def read(
        source_id: Annotated[
            str | None, Field(max_length=limits.NAME, description="Id of the document; not needed with `chunk`.")
        ] = None,
        chunk: Annotated[
            str | None, Field(max_length=limits.NAME, description="Id of a chunk, instead of source_id, start and end.")
        ] = None,
        start: Annotated[int, Field(ge=0, le=_END, description="First character to read.")] = 0,
        end: Annotated[int, Field(ge=1, le=_END, description="One past the last character to read.")] = _END,
        before: Annotated[int, Field(ge=0, le=_AROUND, description="Number of chunks to add before it.")] = 0,
        after: Annotated[int, Field(ge=0, le=_AROUND, description="Number of chunks to add after it.")] = 0,
        parent: Annotated[
            bool, Field(description="With `chunk`: read its parent, such as its section, instead of its neighbours.")
        ] = False,
        collection: _Collection = None,
    ) -> DocumentExcerpt:
        """Read a part of an indexed document: around a passage, the parent of a chunk, or on from some place.

        Whole chunks are returned, up to 20,000 characters; continue with `start` = `next_start`. Without start and end,
        the document is read from its beginning.
        """
        with _reported():
            picked = collections.pick(collection)
            if chunk is not None:
                return await asyncio.to_thread(read_chunk, picked, chunk, before, after, parent=parent)
            if source_id is None:
                raise ToolError("Either source_id or chunk must be given. Take one of them from a result of search.")
            return await asyncio.to_thread(read_span, picked, source_id, start, end, before, after)


def _add_list(server: MCPServer, collections: Collections) -> None:
    @server.tool(title="List documents", annotations=_READS)
    async def list_documents(
        collection: _Collection = None,
        where: _Where = None,
        offset: Annotated[int, Field(ge=0, le=_END, description="Number of documents to skip.")] = 0,
        limit: Annotated[int, Field(ge=1, le=_ROWS, description="Maximum number of documents to return.")] = 50,
    ) -> Documents:
        """List the indexed documents with their metadata, ordered by id, and the names of all collections."""
        with _reported():
            picked = collections.pick(collection)
            return await asyncio.to_thread(list_page, collections, picked, parse_filter(where), offset, limit)


def _add_resource(server: MCPServer, collections: Collections) -> None:
    # An id is compared in the store, never opened as a path.
    security = ResourceSecurity(exempt_params={"collection", "document"})

    @server.resource("kinsplit://{collection}/{+document}", title="Document", mime_type="text/plain", security=security)
    async def document(collection: str, document: str) -> str:
        """The beginning of an indexed document, up to 20,000 characters; the tool `read` continues."""
        try:
            return (await asyncio.to_thread(read_span, collections.pick(collection), document, 0, _END, 0, 0)).text
        except KinsplitError as error:
            raise ResourceError(str(error)) from error
