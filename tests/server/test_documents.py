from __future__ import annotations

from urllib.parse import quote

import httpx
import pytest

from kinsplit import Document, Index
from tests.server.conftest import LOOPS, SCRIPT, STORE, Connect, error_of

NAMES = ["course/alice, ch. 1?.txt", "course/loops.md", "gaps.txt"]


async def test_documents_come_in_pages(client: httpx.AsyncClient) -> None:
    pages = [(await client.get("/documents", params={"offset": at, "limit": 2})).json() for at in (0, 2, 4)]
    assert [row["id"] for page in pages for row in page["documents"]] == NAMES
    assert [(page["total"], page["offset"]) for page in pages] == [(3, 0), (3, 2), (3, 4)]
    assert error_of(await client.get("/documents?limit=0"), 422)["field"] == "limit"
    assert error_of(await client.get("/documents?offset=-1"), 422)["field"] == "offset"


async def test_a_document_without_text_is_nowhere(client: httpx.AsyncClient) -> None:
    with Index(STORE, collection="by-sentence", embedder="hash", must_exist=True) as index:
        assert not index.add([Document("empty.txt", ""), Document("blank.txt", " \n", {"course": "none"})]).failed
    assert [row["id"] for row in (await client.get("/documents")).json()["documents"]] == NAMES
    found = (await client.get("/search?q=empty.txt&top_k=50")).json()["passages"]
    assert {passage["source_id"] for passage in found} <= set(NAMES)
    assert "none" not in (await client.get("/filters")).text
    for name in ("empty.txt", "blank.txt"):
        assert error_of(await client.get(f"/documents/{name}"), 404)["field"] == "id"


@pytest.mark.parametrize("strategy", ["sentence", "word"])
async def test_a_document_is_put_together_with_its_boundaries(client: httpx.AsyncClient, strategy: str) -> None:
    response = await client.get(f"/documents/course/loops.md?strategy={strategy}")
    document = response.json()
    ((start, end),) = document["spans"]
    assert document["text"] == LOOPS[start:end] == LOOPS.strip()
    units = document["text"].encode("utf-16-le")
    with Index(STORE, collection=f"by-{strategy}", embedder="hash", must_exist=True) as index:
        stored = {chunk.id: chunk for chunk in index.store.find({"source_id": "course/loops.md"}, level=None)}
    assert {chunk["level"] for chunk in document["chunks"]} == {0, 1}
    for chunk in document["chunks"]:
        text = stored[chunk["id"]].text
        (place,) = chunk["ranges"]
        assert document["text"][place["start"] : place["end"]] == text == LOOPS[chunk["start"] : chunk["end"]]
        assert units[2 * place["utf16_start"] : 2 * place["utf16_end"]].decode("utf-16-le") == text


async def test_white_space_before_the_first_chunk_moves_the_ranges(client: httpx.AsyncClient) -> None:
    document = (await client.get("/documents/gaps.txt?strategy=word")).json()
    assert document["text"].startswith("First words here.   \n\n\n   Second")
    assert document["spans"][0][0] == 3
    assert document["chunks"][0]["ranges"][0]["start"] == 0


async def test_chunks_come_in_pages_and_levels(client: httpx.AsyncClient) -> None:
    path = "/documents/course/loops.md/chunks"
    whole = (await client.get(path)).json()
    assert whole["total"] == len(whole["chunks"]) > 2
    second = (await client.get(path, params={"offset": 1, "limit": 1})).json()
    assert second["chunks"] == whole["chunks"][1:2]
    parents = (await client.get(path, params={"level": 1})).json()
    assert {chunk["parent_id"] for chunk in whole["chunks"]} <= {chunk["id"] for chunk in parents["chunks"]}
    assert error_of(await client.get(path, params={"level": 100}), 422)["field"] == "level"


async def test_any_id_can_be_asked_for(client: httpx.AsyncClient) -> None:
    for name in NAMES:
        for path in (quote(name), quote(name, safe="")):
            assert (await client.get(f"/documents/{path}")).json()["id"] == name
            assert (await client.get(f"/documents/{path}/chunks")).json()["id"] == name
    # Text is data: the page has to show it, not run it.
    response = await client.get(f"/documents/{quote(NAMES[0])}")
    assert response.json()["text"] == SCRIPT
    assert response.headers["content-type"] == "application/json"


async def test_ids_that_look_like_something_else(connect: Connect) -> None:
    names = ["notes", "notes/chunks", "chunks", "notes/chunks/chunks", "two\nlines.md", "notes/chunks\n", "x" * 3000]
    with Index("memory:odd-ids", collection="odd", embedder="hash") as index:
        assert not index.add([Document(name, f"The text of number {n}.") for n, name in enumerate(names)]).failed
        client = await connect(store="memory:odd-ids", collections="odd")
        listed = (await client.get("/documents")).json()["documents"]
        assert [row["id"] for row in listed] == sorted(names)
        for number, name in enumerate(names):
            path = quote(name, safe="")
            document = (await client.get(f"/documents/{path}")).json()
            assert (document["id"], document["text"]) == (name, f"The text of number {number}.")
            chunks = (await client.get(f"/documents/{path}/chunks")).json()
            assert (chunks["id"], chunks["total"]) == (name, 1)
        # With unescaped slashes, the last part belongs to the route.
        assert (await client.get("/documents/notes/chunks")).json()["chunks"][0]["text"] == "The text of number 0."
        assert (await client.get("/documents/notes/chunks/chunks")).json()["id"] == "notes/chunks"


@pytest.mark.parametrize(
    "path",
    [
        *(
            "../../etc/passwd",
            "..%2f..%2fetc%2fpasswd",
            "%2e%2e/%2e%2e/etc/passwd",
            "/etc/passwd",
            "x%2F..%2Fgaps.txt",
        ),
        *("gaps.txt%00", "%00", "%0agaps.txt", "file:///etc/passwd", "C:%5CWindows", "%ff%fe", "%ED%A0%80", "*", "%25"),
        *("course/loops.md/", "course", "x" * 900, "'; DROP TABLE chunks; --"),
    ],
)
async def test_an_id_is_compared_and_never_opened(client: httpx.AsyncClient, path: str) -> None:
    target = httpx.URL("http://localhost").copy_with(raw_path=f"/documents/{quote(path, safe='%/.')}".encode())
    assert error_of(await client.send(client.build_request("GET", target)), 404)
