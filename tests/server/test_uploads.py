"""Files that are uploaded into a folder, and from there into the index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from kinsplit import Index
from kinsplit.errors import InvalidParameterError, StoreError
from kinsplit.server.routes.uploads import safe_name
from tests.loaders.helpers import pdf
from tests.server.conftest import Connect, error_of

Sent = tuple[str, bytes]
BIRDS: Sent = ("birds.md", b"Owls hunt at night.")


@pytest.fixture
async def client(connect: Connect, tmp_path: Path) -> httpx.AsyncClient:
    # The collection doesn't exist yet.
    return await connect(
        store=f"memory:{tmp_path}", collections="uploaded", uploads=tmp_path / "files", max_upload=99_999
    )


async def send(client: httpx.AsyncClient, *files: Sent, **headers: str) -> httpx.Response:
    return await client.post("/documents", files=[("files", file) for file in files], headers=headers)


async def rows(client: httpx.AsyncClient, *files: Sent) -> list[dict[str, Any]]:
    response = await send(client, *files)
    assert response.status_code == 200, response.text
    return list(response.json()["files"])


async def ids(client: httpx.AsyncClient) -> list[str]:
    return [row["id"] for row in (await client.get("/documents")).json()["documents"]]


async def test_files_are_found_replaced_and_deleted(client: httpx.AsyncClient, tmp_path: Path) -> None:
    birds, trees = await rows(client, BIRDS, ("trees.pdf", pdf(["A tree has a root."])))
    assert birds == {
        "name": "birds.md",
        "id": "files/birds.md",
        "documents": 1,
        "chunks": 1,
        "warnings": [],
        "error": None,
    }
    assert trees["error"] is None
    assert await ids(client) == ["files/birds.md", "files/trees.pdf"]
    await rows(client, ("birds.md", b"Larks sing at dawn."))
    assert (await client.get("/documents/files/birds.md")).json()["text"] == "Larks sing at dawn."
    assert sorted(path.name for path in (tmp_path / "files").iterdir()) == ["birds.md", "trees.pdf"]
    gone = await client.delete("/documents/files/birds.md")
    assert gone.json() == {"id": "files/birds.md", "strategy": "sentence", "chunks": 1}
    assert await ids(client) == ["files/trees.pdf"]
    assert not (tmp_path / "files" / "birds.md").exists()
    error_of(await client.delete("/documents/files/birds.md"), 404)


async def test_a_file_that_cannot_be_read_leaves_its_former_state(client: httpx.AsyncClient, tmp_path: Path) -> None:
    whole = pdf(["A tree has a root."])
    first, second, third = await rows(
        client, ("trees.pdf", whole), ("trees.pdf", b"nonsense"), ("new.pdf", b"nonsense")
    )
    assert first["error"] is None
    for failed in (second, third):
        assert failed["id"] is None
        assert "PDF" in failed["error"]
        assert str(tmp_path) not in failed["error"]
    assert [path.read_bytes() for path in (tmp_path / "files").iterdir()] == [whole]
    assert await ids(client) == ["files/trees.pdf"]


async def test_rows_of_a_file_are_deleted_with_it(client: httpx.AsyncClient) -> None:
    data = b'{"docid": "a", "text": "Owls hunt."}\n{"docid": "b", "text": "Larks sing."}\n'
    assert (await rows(client, ("notes.jsonl", data)))[0]["documents"] == 2
    assert await ids(client) == ["a", "b"]
    assert (await client.delete("/documents/files/notes.jsonl")).json()["chunks"] == 2
    assert await ids(client) == []


async def test_a_failing_store_leaves_no_file(
    client: httpx.AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(Index, "add", fail)
    error_of(await send(client, BIRDS), 503)
    assert list((tmp_path / "files").iterdir()) == []


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("notes.md", "notes.md"),
        ("../../etc/notes.md", "notes.md"),
        (r"C:\Users\me\notes.MD", "notes.MD"),
        (".hidden.md", "hidden.md"),
        ('a<b>:"|?*.md', "a_b______.md"),
        ("con.md", "_con.md"),
        ("cafe\u0301.md", "café.md"),
        ("evil\u202efdp.md", "evil_fdp.md"),
        ("x" * 500 + ".md", "x" * 197 + ".md"),
        ("\ud800.md", "?.md"),
    ],
)
def test_names_are_made_safe(given: str, stored: str) -> None:
    assert safe_name(given) == stored


@pytest.mark.parametrize("given", ["", ".md", "notes", "notes.exe", "..", "course.toml", "notes.md/"])
def test_names_that_nothing_can_read_are_refused(given: str) -> None:
    with pytest.raises(InvalidParameterError, match="suffix of a known format"):
        safe_name(given)


@pytest.mark.parametrize(
    "id_", ["files/..%2Fsecret.md", "files/%2E%2E/secret.md", "secret.md", "other/secret.md", "files/"]
)
async def test_only_uploaded_files_can_be_deleted(client: httpx.AsyncClient, tmp_path: Path, id_: str) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("It is secret.")
    response = await client.delete(httpx.URL(f"http://localhost/documents/{id_}"))
    assert response.status_code in (404, 405)
    assert secret.exists()


async def test_limits_and_foreign_pages(client: httpx.AsyncClient, connect: Connect, tmp_path: Path) -> None:
    large = error_of(await send(client, ("large.md", b"x" * 100_000)), 413)
    assert large["rule"] == "must be at most 99999 bytes"
    assert error_of(await send(client, *[BIRDS] * 101), 422)["field"] == "files"
    error_of(await client.post("/documents"), 422)
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        assert error_of(await send(client, BIRDS, **headers), 403)["field"] == "Origin"
        error_of(await client.delete("/documents/files/birds.md", headers=headers), 403)
    assert (await send(client, BIRDS, Origin="http://localhost")).status_code == 200
    keyed = await connect(store="memory:keyed", collections="uploaded", uploads=tmp_path / "files", api_keys="secret")
    error_of(await send(keyed, BIRDS), 401)
    assert (await send(keyed, BIRDS, **{"X-API-Key": "secret"})).status_code == 200
    error_of(await keyed.delete("/documents/files/birds.md"), 401)


async def test_without_the_setting_nothing_can_be_changed(connect: Connect) -> None:
    client = await connect()
    error_of(await send(client, BIRDS), 405)
    error_of(await client.delete("/documents/gaps.txt"), 405)
    assert (await client.get("/strategies")).json()["uploads"] is None
