"""The server, driven by the SDK's own client."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError

from kinsplit import Document, Index
from kinsplit import mcp as tools
from kinsplit.server.collections import Collections
from kinsplit.server.settings import ServiceSettings
from kinsplit.stores.filter_check import FilterWarning
from tests.answering.helpers import Scripted
from tests.cli.conftest import environment
from tests.mcp.conftest import FIRST, SECRET, TEXT
from tests.sparse import copy_sparse

Connect = Callable[[], Client]


@pytest.fixture(params=["auto", "legacy"])
def connect(server: MCPServer, request: pytest.FixtureRequest) -> Connect:
    """Return a function that makes a client: of today's protocol, or of the one with a handshake."""
    return lambda: Client(server, mode=request.param)


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool, and return its structured result, which its text repeats."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    assert json.loads(result.content[0].text) == result.structured_content  # type: ignore[union-attr]
    assert SECRET not in result.content[0].text  # type: ignore[union-attr]
    return result.structured_content


async def error(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)  # type: ignore[union-attr]


async def test_every_tool_says_what_it_takes_and_returns(connect: Connect) -> None:
    async with connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert sorted(tools) == ["ask", "list_documents", "read", "search"]
        for tool in tools.values():
            assert tool.description
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint
            assert all(each.get("description") for each in tool.input_schema["properties"].values()), tool.name
            assert tool.output_schema is not None
            assert tool.output_schema["type"] == "object"
        assert client.instructions is not None
        assert "sentence (the default), family" in client.instructions


async def test_found_passages_are_slices_with_citations(connect: Connect) -> None:
    async with connect() as client:
        found = await call(client, "search", question="When do larks sing?", top_k=1, window=0)
        (passage,) = found["passages"]
        assert found["collection"] == "sentence"
        assert passage["text"] == TEXT[passage["start"] : passage["end"]]
        assert passage["citation"].startswith(f"{passage['source_id']}")
        filtered = await call(client, "search", question="larks", where={"year": 2020}, window=0, budget=9)
        assert {each["source_id"] for each in filtered["passages"]} == {"paged.pdf"}
        with pytest.warns(FilterWarning):
            nothing = await call(client, "search", question="larks", where={"year": 2021})
        listed = await call(client, "list_documents", where={"year": 2021})
        assert nothing["notices"] == listed["notices"]
        assert nothing["notices"][0].startswith("where: no chunk has year = 2021. Did you mean 2024 or 2020")
        assert {each["citation"].partition(" [")[0] for each in filtered["passages"]} <= {
            "paged.pdf, p. 1",
            "paged.pdf, p. 2",
            "paged.pdf, p. 1-2",
        }
        assert sum(len(each["text"].split()) for each in filtered["passages"]) <= 9


async def test_a_reader_walks_around_a_passage_and_through_a_document(connect: Connect) -> None:
    async with connect() as client:
        passage = await call(client, "read", source_id=FIRST, start=TEXT.index("Larks"), end=TEXT.index("sing"))
        assert "Larks sing" in passage["text"]
        around = await call(client, "read", chunk=passage["chunks"][0], before=1, after=1)
        assert around["start"] < passage["start"] < passage["end"] < around["end"]
        same = await call(
            client, "read", source_id=FIRST, start=passage["start"], end=passage["end"], before=1, after=1
        )
        assert same == around
        texts, start = [], 0
        while start is not None:
            part = await call(client, "read", source_id=FIRST, start=start, end=start + 1)
            assert part["text"] == TEXT[part["start"] : part["end"]]
            texts.append(part["text"])
            start = part["next_start"]
        assert len(texts) == part["total_chunks"]
        assert "".join("".join(texts).split()) == "".join(TEXT.split())


async def test_a_long_document_is_read_in_parts(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connect() as client:
        monkeypatch.setattr(tools, "MOST", 30)
        first = await call(client, "read", source_id=FIRST)
        second = await call(client, "read", source_id=FIRST, start=first["next_start"])
        assert first["start"] == 0
        assert len(first["text"]) <= 30
        assert second["chunks"][0] != first["chunks"][-1]


async def test_the_parent_of_a_chunk(connect: Connect) -> None:
    async with connect() as client:
        found = await call(client, "search", question="larks sing", collection="family", top_k=1, window=0)
        (passage,) = found["passages"]
        parent = await call(client, "read", chunk=passage["chunks"][0], parent=True, collection="family")
        assert parent["start"] <= passage["start"] < passage["end"] <= parent["end"]
        assert len(parent["text"]) > len(passage["text"])
        remedy = await error(client, "read", chunk=parent["chunks"][0], parent=True, collection="family")
        assert "Use before and after instead." in remedy


async def test_documents_are_listed_with_their_metadata(connect: Connect) -> None:
    async with connect() as client:
        listed = await call(client, "list_documents", limit=1)
        assert (listed["total"], listed["collections"]) == (2, ["sentence", "family"])
        (row,) = listed["documents"]
        assert (row["source_id"], row["metadata"]["year"]) == (FIRST, 2024)
        rest = await call(client, "list_documents", offset=1, where={"year": {"$lt": 2024}})
        assert (rest["total"], rest["documents"]) == (1, [])


async def test_an_answer_has_checked_citations_and_its_progress_is_reported(
    collections: Collections, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connect() as client:
        quoted = await call(client, "ask", question="When do larks sing?")
        assert quoted["verdict"] == "quoted"
        monkeypatch.setattr(collections, "model", Scripted(["Larks sing ", "at dawn [1]."]))
        steps: list[float] = []

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            steps.append(progress)

        result = await client.call_tool("ask", {"question": "When do larks sing?"}, progress_callback=progressed)
        answered = result.structured_content
        assert answered is not None
        assert answered["text"] == "Larks sing at dawn [1]."
        assert answered["checks"][0]["cited"] == [1]
        assert steps == sorted(steps)
        assert len(steps) >= 3


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("search", {"question": " "}, "Ask a question."),
        (
            "search",
            {"question": "x", "collection": "nothing"},
            "collection: must be one that is served (got 'nothing'). Served: sentence, family.",
        ),
        ("search", {"question": "x", "where": {"absolute_path": SECRET}}, "Use another key."),
        ("list_documents", {"where": {f"key{i}": i for i in range(33)}}, "Filter by fewer keys"),
        ("search", {"question": "x", "where": {"year": [2020] * 10_000}}, "Filter by fewer values"),
        ("search", {"question": "x", "where": {"yaer": 2020}}, "Did you mean 'year'?"),
        ("list_documents", {"where": {"yaer": 2020}}, "Did you mean 'year'?"),
        ("search", {"question": "x", "top_k": 1000}, "top_k: must be at most 50 (got 1000). It takes: question, coll"),
        ("search", {"question": "x" * 3000}, "question: must have at most 2000 characters"),
        ("search", {}, "question: is required"),
        ("search", {"question": "x", "topk": 3}, "topk: is not known here (got 3). Did you mean 'top_k'? It takes: "),
        ("read", {"source_id": "nothing"}, "list_documents lists the ids."),
        ("read", {"source_id": FIRST, "start": 9999}, "Its text ends at"),
        ("read", {"chunk": "nonsense"}, "Use the ids that kinsplit gave the chunks."),
        ("read", {"chunk": "00000000-0000-0000-0000-000000000000"}, "Take an id from `chunks`"),
        ("read", {}, "Take one of them from a result of search."),
    ],
)
async def test_mistakes_are_explained_to_the_model(
    server: MCPServer, tool: str, arguments: dict[str, Any], expected: str
) -> None:
    async with Client(server) as client:
        told = await error(client, tool, **arguments)
        assert expected in told
        assert "Error executing" not in told
        assert "pydantic" not in told


async def test_documents_are_resources(connect: Connect) -> None:
    async with connect() as client:
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "kinsplit://{collection}/{+document}"
        (content,) = (await client.read_resource(f"kinsplit://sentence/{FIRST}")).contents
        assert content.text == TEXT.strip()  # type: ignore[union-attr]
        with pytest.raises(MCPError, match="list_documents lists the ids"):
            await client.read_resource("kinsplit://sentence/../nothing")


async def test_resources_are_listed_by_pages(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_ROWS", 1)
    async with connect() as client:
        listed, cursor = [], None
        while True:
            page = await client.list_resources(cursor=cursor)
            listed += page.resources
            cursor = page.next_cursor
            if cursor is None:
                break
        places = [f"kinsplit://{name}/{file}" for name in ("sentence", "family") for file in (FIRST, "paged.pdf")]
        assert [each.uri for each in listed] == places
        for each in listed:
            assert (await client.read_resource(each.uri)).contents
        for wrong in ("x", "2:0"):
            with pytest.raises(MCPError, match="cursor: must be that of the last page"):
                await client.list_resources(cursor=wrong)


async def test_a_collection_has_its_own_name_and_any_document_an_address() -> None:
    sources = ["../x & y.md", "a b/é?#%41.md"]
    with Index("memory:named", collection="demo", strategy="structure", embedder="hash") as index:
        index.add([Document(source_id, TEXT) for source_id in sources])
    opened = Collections(ServiceSettings.load(store="memory:named", collections="demo", embedder="hash"))
    async with Client(tools.create_server(opened)) as client:
        assert "Collections: demo (the default)" in str(client.instructions)
        found = await call(client, "search", question="larks")
        listed = await call(client, "list_documents")
        assert (found["collection"], listed["collection"], listed["collections"]) == ("demo", "demo", ["demo"])
        resources = (await client.list_resources()).resources
        assert [each.name for each in resources] == sources
        for each in resources:
            assert (await client.read_resource(each.uri)).contents[0].text  # type: ignore[union-attr]
    opened.close()


async def test_a_cancelled_call_stops_the_model_and_others_go_on(
    collections: Collections, server: MCPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go, stopped = threading.Event(), threading.Event(), threading.Event()

    def pieces(prompt: str) -> Iterator[str]:
        try:
            yield "Larks "
            begun.set()
            assert go.wait(30)
            yield "sing "
            yield "at dawn [1]."
        finally:
            stopped.set()

    monkeypatch.setattr(collections, "model", Scripted(pieces))
    async with Client(server, mode="legacy") as client:
        asking = asyncio.create_task(client.call_tool("ask", {"question": "When do larks sing?"}))
        assert await asyncio.to_thread(begun.wait, 30)
        others = await asyncio.gather(*(call(client, "search", question=f"larks {n}") for n in range(20)))
        assert all(each["passages"] for each in others)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (await call(client, "search", question="owls"))["passages"]
        go.set()
        assert await asyncio.to_thread(stopped.wait, 30)


@pytest.mark.parametrize("http", [False, True])
async def test_the_command_serves_an_embedded_collection(
    course_index: Path, tmp_path: Path, socket_enabled: None, http: bool
) -> None:
    """Over standard input and output, nothing but the protocol is on stdout: the client would fail on anything else."""
    shutil.copytree(course_index, tmp_path / "copy", copy_function=copy_sparse)
    arguments = ["-m", "kinsplit", "mcp", "--embedder", "hash"]
    if not http:
        parameters = StdioServerParameters(
            command=sys.executable, args=arguments, env=environment(), cwd=tmp_path / "copy"
        )
        with (tmp_path / "log").open("w+") as log:
            async with Client(stdio_client(parameters, errlog=log), read_timeout_seconds=120) as client:
                await _use(client)
            log.seek(0)
            assert log.read() == ""
        return
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        *("--http", "--port", "0"),
        env=environment(),
        cwd=tmp_path / "copy",
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        line = (await asyncio.wait_for(process.stdout.readline(), 120)).decode()
        address = line.removeprefix("Listening on ").partition(";")[0]
        async with Client(address, read_timeout_seconds=120) as client:
            await _use(client)
    finally:
        process.terminate()
        await process.wait()


async def _use(client: Client) -> None:
    listed = await call(client, "list_documents")
    assert listed["total"] == 5
    found = await asyncio.gather(*(call(client, "search", question="merge sort halves") for _ in range(4)))
    assert {each["passages"][0]["source_id"] for each in found} == {"course/cs/sorting.md"}
