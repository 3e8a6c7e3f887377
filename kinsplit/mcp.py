"""A server for the Model Context Protocol: an index as tools for language models, and its transports.

Ranges are half-open and count Unicode code points of the document as it was indexed.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from itertools import islice
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer, ResourceSecurity
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, ListResourcesResult, PaginatedRequestParams, Resource, ToolAnnotations
from pydantic import Field, ValidationError
from pydantic.fields import FieldInfo
from starlette.applications import Starlette
from starlette.routing import Route

import kinsplit
from kinsplit.answering import Answer, Finished, answer, in_threads
from kinsplit.chunk import Chunk
from kinsplit.doors import DOORS, MCP
from kinsplit.errors import InvalidParameterError, KinsplitError, require
from kinsplit.hints import question
from kinsplit.identity import chunk_id
from kinsplit.retrieval import Candidate, Passages, cite, join
from kinsplit.server import limits
from kinsplit.server.collections import Collections, OpenCollection
from kinsplit.server.middleware.metrics import Metrics
from kinsplit.server.request_options import parse_filter
from kinsplit.server.settings import ServiceSettings
from kinsplit.support.settings import first_fault
from kinsplit.wire import (
    LOCATION,
    Extent,
    Finding,
    RankedText,
    RowView,
    answer_row,
    finding_row,
    passage_row,
    visible_metadata,
)

_LOG = logging.getLogger("kinsplit.mcp")
#: Nothing is changed, and nothing outside the index is reached.
_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
#: Documents per page, and siblings on each side of an excerpt.
_ROWS, _AROUND = 100, 50
#: End of every document.
_END = 2**31
#: Characters of an excerpt; a longer one is read in several calls.
MOST = 20_000
_UNKNOWN = "list_documents lists the ids."


class DocumentPlace(Extent):
    """A part of a document."""

    citation: str = Field(description="How to cite it: the document, its pages if it has any, and the range.")
    source_id: str = Field(description="Id of the document, for `read`.")
    context: str = Field(description="Headings above it, and the speaker or the header of a table that it continues.")


class PassageResult(DocumentPlace, RankedText):
    """A passage that answers the question."""


class FoundPassages(Finding):
    """The passages found for a question."""

    collection: str = Field(description="Collection that was searched.")
    passages: list[PassageResult] = Field(description="Passages, best first; empty if nothing was found or fits.")


class AnswerSource(DocumentPlace):
    """A passage that an answer cites by its number."""

    number: int = Field(description="Number in the answer's citations, such as [1].")
    location: str = Field(description=LOCATION)
    text: str = Field(description="Text of the passage.")


class SentenceCheck(RowView):
    """The check of one sentence of the answer against the passages it cites."""

    text: str = Field(description="The sentence.")
    status: str = Field(description="found, not_found, uncited or no_such_source.")
    cited: list[int] = Field(description="Numbers of the passages that it cites.")


class Answered(RowView):
    """An answer with its sources."""

    collection: str = Field(description="Collection that was searched.")
    text: str = Field(description="The answer, with citations such as [1].")
    verdict: str = Field(
        description="supported, partly_supported or unsupported by its sources; not_in_material; quoted, if no model "
        "answered and sentences are quoted instead; or broken_off."
    )
    model: str | None = Field(description="Language model that answered, if any.")
    sources: list[AnswerSource] = Field(description="The passages, best first.")
    checks: list[SentenceCheck] = Field(description="Check of each sentence.")
    notices: list[dict[str, str]] = Field(description="Remarks for the reader, each with its `kind` and `message`.")


class DocumentExcerpt(DocumentPlace):
    """A part of a document as it was indexed."""

    text: str = Field(description="The text; a blank line separates parts that don't adjoin.")
    chunks: list[str] = Field(description="Ids of its chunks, in document order.")
    first_chunk: int = Field(description="Index of its first chunk in the document, from 0.")
    total_chunks: int = Field(description="Number of chunks of the document.")
    next_start: int | None = Field(description="Where to continue reading by `start`; null at the end of the document.")
    metadata: dict[str, Any] = Field(description="Metadata of the document.")


class DocumentEntry(RowView):
    """A document of a collection."""

    source_id: str = Field(description="Id of the document.")
    chunks: int = Field(description="Number of chunks.")
    metadata: dict[str, Any] = Field(description="Metadata, which `where` can test.")


class Documents(RowView):
    """A page of the documents of a collection, ordered by id."""

    collection: str = Field(description="Collection that was listed.")
    collections: list[str] = Field(description="All collections.")
    total: int = Field(description="Number of documents that match.")
    offset: int = Field(description="Number of documents before this page.")
    documents: list[DocumentEntry]
    notices: list[str] = Field(
        description="If nothing is found: each value of `where` that no chunk has, and near ones."
    )


def to_found(collection: str, passages: Passages) -> FoundPassages:
    """Return the passages that a search found."""
    rows = [_cited(passage_row(each, rank)) for rank, each in enumerate(passages, 1)]
    return FoundPassages.model_validate({"collection": collection, "passages": rows, **finding_row(passages)})


def to_answered(collection: str, answer: Answer) -> Answered:
    """Return an answer."""
    row = answer_row(answer)
    sources = [_cited(source) for source in row["sources"]]
    return Answered.model_validate({**row, "collection": collection, "sources": sources})


def _cited(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a passage with its citation."""
    return {**row, "citation": cite(row["source_id"], row["start"], row["end"], row["pages"])}


def read_chunk(collection: OpenCollection, id_: str, before: int, after: int, *, parent: bool) -> DocumentExcerpt:
    """Read a chunk with its siblings, or its parent, or raise InvalidParameterError if there is none."""
    store = collection.index.store
    found = next(iter(store.get([id_])), None)
    if found is None:
        remedy = "Take an id from `chunks` in a result of search."
        raise InvalidParameterError("chunk", "must be the id of a chunk", id_, remedy)
    if parent:
        whole = next(iter(store.get([found.parent_id])), None) if found.parent_id else None
        if whole is None:
            raise InvalidParameterError("parent", "needs a chunk with a parent", id_, "Use before and after instead.")
        return _excerpt(collection, [whole])
    first, last = max(0, found.index - before), min(found.total - 1, found.index + after)
    where = {"source_id": found.source_id, "chunk_index": {"$gte": first, "$lte": last}}
    return _excerpt(collection, store.find(where, found.level))


def read_span(
    collection: OpenCollection, source_id: str, start: int, end: int, before: int, after: int
) -> DocumentExcerpt:
    """Read the chunks of a document that a range touches, with their siblings, or raise InvalidParameterError."""
    chunks = collection.index.store.find({"source_id": source_id}, level=0)
    require(chunks, "source_id", "must be the id of a document", source_id, _UNKNOWN)
    touched = [n for n, chunk in enumerate(chunks) if any(s.start < end and start < s.end for s in chunk.spans)]
    length = max(chunk.end for chunk in chunks)
    remedy = f"Its text ends at {length}."
    require(touched, "start", "must be before end and within the text", f"{start} to {end}", remedy)
    return _excerpt(collection, chunks[max(0, touched[0] - before) : touched[-1] + after + 1])


def _excerpt(collection: OpenCollection, chunks: Sequence[Chunk]) -> DocumentExcerpt:
    """Return as many of consecutive chunks as fit, at least one."""
    fitting: list[Chunk] = []
    for chunk in chunks:
        if fitting and sum(len(each.text) for each in fitting) + len(chunk.text) > MOST:
            break
        fitting.append(chunk)
    passage, last = join(fitting, [Candidate(fitting[0], 0.0)]), fitting[-1]
    following = chunk_id(last.source_id, collection.index.strategy.fingerprint, last.level, last.index + 1)
    next_id = last.next_id or (following if last.index + 1 < last.total else None)
    beyond = next(iter(collection.index.store.get([next_id])), None) if next_id else None
    return DocumentExcerpt.model_validate(
        {
            **_cited(passage_row(passage)),
            "first_chunk": fitting[0].index,
            "total_chunks": fitting[0].total,
            "next_start": None if beyond is None else max(passage.end, beyond.start),
        }
    )


def list_page(
    collections: Collections, collection: OpenCollection, where: Mapping[str, Any] | None, offset: int, limit: int
) -> Documents:
    """List the documents of a collection that match a filter."""
    store = collection.index.store
    sources = store.sources(0, where)
    notices: list[str] = []
    if not sources:
        store.check_fields(where)
        notices = store.unmatched(where)
    page = dict(islice(sources.items(), offset, offset + limit))
    fingerprint = collection.index.strategy.fingerprint
    first = {chunk.source_id: chunk for chunk in store.get([chunk_id(id_, fingerprint, 0, 0) for id_ in page])}
    rows = [DocumentEntry(source_id=id_, chunks=n, metadata=_metadata(first.get(id_))) for id_, n in page.items()]
    names, total = [each.label for each in collections], len(sources)
    listed = {"collection": collection.label, "collections": names, "total": total, "offset": offset}
    return Documents.model_validate({**listed, "documents": rows, "notices": notices})


def _pick(collections: Collections, name: str | None) -> OpenCollection:
    try:
        return collections.pick(name)
    except InvalidParameterError:
        known = ", ".join(each.label for each in collections)
        raise InvalidParameterError("collection", "must be one that is served", name, f"Served: {known}.") from None


def list_resources(collections: Collections, cursor: str) -> ListResourcesResult:
    """List a page of the documents of all collections, from a cursor on: the number of a collection and an offset.

    Raises:
        InvalidParameterError: The cursor is none that a page ended with.
    """
    found = re.fullmatch(r"(\d{1,9}):(\d{1,9})", cursor)
    opened = list(collections)
    known = found is not None and int(found[1]) < len(opened)
    require(known, "cursor", "must be that of the last page", cursor, "Begin without one.")
    number, offset = map(int, cursor.split(":"))
    label, sources = opened[number].label, opened[number].index.store.sources(0)
    page = [
        Resource(uri=f"kinsplit://{quote(label)}/{quote(each)}", name=each, mime_type="text/plain")
        for each in islice(sources, offset, offset + _ROWS)
    ]
    following = f"{number}:{offset + _ROWS}" if offset + _ROWS < len(sources) else f"{number + 1}:0"
    more = following != f"{len(opened)}:0"
    return ListResourcesResult(resources=page, next_cursor=following if more else None)


def _metadata(chunk: Chunk | None) -> dict[str, Any]:
    return {} if chunk is None else visible_metadata(join([chunk], [Candidate(chunk, 0.0)]).metadata)


_Tool = TypeVar("_Tool", bound=Callable[..., Any])

_QUESTION = "The question, in a whole sentence with the words that matter."
_Question = Annotated[str, Field(max_length=limits.QUERY, description=_QUESTION)]
_Id = Annotated[str | None, Field(max_length=limits.NAME)]
_Collection = Annotated[_Id, Field(description="Collection to use; null for the default one.")]
_WHERE = 'Metadata filter, such as {"subject": "cs", "year": {"$gte": 2020}}; list_documents shows the keys.'
_Where = Annotated[dict[str, Any] | None, Field(description=_WHERE)]


def _with_options(tool: _Tool) -> _Tool:
    """Replace the `**options` of a tool, which has the name of an operation, by its options."""
    signature = inspect.signature(tool, eval_str=True)
    own = {name: each for name, each in signature.parameters.items() if each.kind is not each.VAR_KEYWORD}
    derived = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=info.default, annotation=_annotated(info))
        for name, info in DOORS[tool.__name__][MCP].fields().items()
        if name not in own
    ]
    tool.__signature__ = signature.replace(parameters=[*own.values(), *derived])  # type: ignore[attr-defined]
    return tool


def _annotated(info: FieldInfo) -> Any:
    return Annotated[info.annotation, info]


class _Server(MCPServer):
    """A server whose mistakes have the form of kinsplit's errors, and whose resources are all documents, by pages."""

    def __init__(self, collections: Collections, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self._collections = collections

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None) -> Any:
        """Call a tool; see `MCPServer.call_tool`."""
        schemas = {tool.name: tool.input_schema for tool in await self.list_tools()}
        known = [*schemas[name]["properties"]] if name in schemas else []
        takes = f"It takes: {', '.join(known)}."
        for field in arguments.keys() - known if known else ():
            remedy = question("parameter", field, known) + takes
            raise ToolError(str(InvalidParameterError(field, "is not known here", arguments[field], remedy)))
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                fault = first_fault(error.__cause__.errors())
                raise ToolError(str(InvalidParameterError(fault.field, fault.rule, fault.value, takes))) from None
            if isinstance(error.__cause__, ToolError):
                raise error.__cause__ from None
            raise

    async def _handle_list_resources(
        self, _: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        cursor = (params and params.cursor) or "0:0"
        try:
            return await asyncio.to_thread(list_resources, self._collections, cursor)
        except KinsplitError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error


def create_server(collections: Collections) -> MCPServer:
    """Create a server with the tools, and the documents as resources, of collections that the caller closes."""
    names = ", ".join(each.label + " (the default)" * (each is collections.default) for each in collections)
    instructions = (
        "Searches a private collection of documents. Call search for the passages that answer a question, then read "
        "to see what stands around one. Cite passages by their `citation`. ask writes an answer with checked "
        f"citations. Collections: {names}."
    )
    server = _Server(
        collections,
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
    """Create an application that answers at /mcp by streamable HTTP, guarded like the service."""
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
    @_with_options
    async def search(
        question: _Question, collection: _Collection = None, where: _Where = None, **options: Any
    ) -> FoundPassages:
        """Find the passages of the indexed documents that answer a question, by meaning and by words.

        Each passage is an exact slice of its document, with its id, pages, context, score and citation. To see more of
        what stands around a passage, call `read` with its source_id and range, or with one of its chunks.
        """
        with _reported():
            picked = _pick(collections, collection)
            wanted = parse_filter(where)
            passages = await picked.index.asearch(question, where=wanted, **options)
        return to_found(picked.label, passages)


def _add_ask(server: MCPServer, collections: Collections) -> None:
    @server.tool(title="Answer from documents", annotations=_READS)
    @_with_options
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
            picked = _pick(collections, collection)
            events = answer(picked.index, question, collections.model, where=parse_filter(where), **options)
            # If the client cancels the call, this closes the generator, which stops the model.
            async with aclosing(in_threads(events)) as steps:
                number = 0
                async for event in steps:
                    if isinstance(event, Finished):
                        return to_answered(picked.label, event.answer)
                    number += 1
                    await context.report_progress(number)
        raise AssertionError("The last event of all is Finished.")


def _add_read(server: MCPServer, collections: Collections) -> None:
    @server.tool(title="Read around a passage", annotations=_READS)
    async def read(
        source_id: Annotated[_Id, Field(description="Id of the document; not needed with `chunk`.")] = None,
        chunk: Annotated[_Id, Field(description="Id of a chunk, instead of source_id, start and end.")] = None,
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
            picked = _pick(collections, collection)
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
            picked = _pick(collections, collection)
            return await asyncio.to_thread(list_page, collections, picked, parse_filter(where), offset, limit)


def _add_resource(server: MCPServer, collections: Collections) -> None:
    # An id is compared in the store, never opened as a path.
    security = ResourceSecurity(exempt_params={"collection", "document"})

    @server.resource("kinsplit://{collection}/{+document}", title="Document", mime_type="text/plain", security=security)
    async def document(collection: str, document: str) -> str:
        """The beginning of an indexed document, up to 20,000 characters; the tool `read` continues."""
        try:
            return (await asyncio.to_thread(read_span, _pick(collections, collection), document, 0, _END, 0, 0)).text
        except KinsplitError as error:
            raise ResourceError(str(error)) from error
