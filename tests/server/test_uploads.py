"""Files that are uploaded into a folder, and from there into the index."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st

from kinsplit import Document, Index
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


async def test_what_was_left_out_of_a_file_is_told(client: httpx.AsyncClient) -> None:
    (row,) = await rows(client, ("birds.html", b"<p>Owls hunt.</p><img src=a><img src=b>"))
    assert row["warnings"] == ["2 pictures without a text were left out"]


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
    assert await ids(client) == ["files/notes.jsonl#a", "files/notes.jsonl#b"]
    refused = error_of(await client.delete("/documents/files/notes.jsonl%23a"), 404)
    assert refused["remedy"] == "It is a row of files/notes.jsonl: delete that file, or upload it without the row."
    assert (await rows(client, ("notes.jsonl", data.splitlines()[0])))[0]["documents"] == 1
    assert await ids(client) == ["files/notes.jsonl#a"]
    assert (await client.delete("/documents/files/notes.jsonl")).json()["chunks"] == 1
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
        ("rows.jsonl#a.md", "rows.jsonl_a.md"),
        ("kinsplit.json", "_kinsplit.json"),
        ("x" * 500 + ".md", "x" * 188 + "-1c2c3480.md"),
        ("\ud800.md", "_.md"),
    ],
)
def test_names_are_made_safe(given: str, stored: str) -> None:
    assert safe_name(given) == stored


@given(st.text(max_size=300), st.sampled_from([".md", ".jsonl", ".PDF"]))
def test_a_safe_name_stays_and_is_that_of_one_file(start: str, suffix: str) -> None:
    try:
        name = safe_name(start + suffix)
    except InvalidParameterError:
        return
    assert safe_name(name) == name
    assert len(name.encode()) <= 200
    assert name[0] != "."
    assert not set(name) & set("/\\#\0")
    assert os.fsencode(name)


@pytest.mark.parametrize("given", ["", ".md", "notes", "notes.exe", "..", "course.toml", "notes.md/"])
def test_names_that_nothing_can_read_are_refused(given: str) -> None:
    with pytest.raises(InvalidParameterError, match="suffix of a known format"):
        safe_name(given)


@pytest.mark.parametrize(
    "id_",
    ["files/..%2Fsecret.md", "files/%2E%2E/secret.md", "secret.md", "other/secret.md", "files/", "files/" + "x" * 300],
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
    for headers in (
        {"Origin": "http://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "null"},
        {"Origin": "http://[x"},
    ):
        assert error_of(await send(client, BIRDS, **headers), 403)["field"] == "Origin"
        error_of(await client.delete("/documents/files/birds.md", headers=headers), 403)
    assert (await send(client, BIRDS, Origin="http://localhost")).status_code == 200
    keyed = await connect(store="memory:keyed", collections="uploaded", uploads=tmp_path / "keyed", api_keys="secret")
    error_of(await send(keyed, BIRDS), 401)
    assert (await send(keyed, BIRDS, **{"X-API-Key": "secret"})).status_code == 200
    error_of(await keyed.delete("/documents/keyed/birds.md"), 401)


async def test_without_the_setting_nothing_can_be_changed(connect: Connect) -> None:
    client = await connect()
    error_of(await send(client, BIRDS), 405)
    error_of(await client.delete("/documents/gaps.txt"), 405)
    assert (await client.get("/strategies")).json()["uploads"] is None


async def text_of(client: httpx.AsyncClient, id_: str, strategy: str | None = None) -> str | None:
    response = await client.get(f"/documents/{quote(id_)}", params={"strategy": strategy} if strategy else None)
    return response.json()["text"] if response.status_code == 200 else None


async def test_collections_share_no_file(connect: Connect, tmp_path: Path) -> None:
    client = await connect(store=f"memory:{tmp_path}", collections="first,B=second", uploads=tmp_path / "up")
    texts = {None: "Alpha.", "B": "Beta."}
    for strategy, text in texts.items():
        sent = [("files", ("shared.md", text.encode()))]
        response = await client.post("/documents", files=sent, params={"strategy": strategy} if strategy else None)
        assert response.json()["files"][0]["id"] == "up/shared.md"
    assert {strategy: await text_of(client, "up/shared.md", strategy) for strategy in texts} == texts
    files = {None: tmp_path / "up" / "shared.md", "B": tmp_path / "up" / "second" / "shared.md"}
    assert {strategy: path.read_text() for strategy, path in files.items()} == texts

    assert (await client.delete("/documents/up/shared.md?strategy=B")).json()["chunks"] == 1
    error_of(await client.delete("/documents/up/shared.md?strategy=B"), 404)
    assert (await text_of(client, "up/shared.md"), files[None].read_text()) == ("Alpha.", "Alpha.")
    # The folder of the other collection is no file of this one.
    error_of(await client.delete("/documents/up/second"), 404)
    assert (await client.delete("/documents/up/shared.md")).json()["chunks"] == 1
    assert [path.name for path in (tmp_path / "up").iterdir()] == ["second"]


async def test_the_folder_of_a_collection_that_is_named_like_a_file_stays(connect: Connect, tmp_path: Path) -> None:
    client = await connect(store=f"memory:{tmp_path}", collections="first,B=notes.md", uploads=tmp_path / "up")
    assert (await client.post("/documents?strategy=notes.md", files=[("files", BIRDS)])).status_code == 200
    (refused,) = await rows(client, ("notes.md", b"A file."))
    assert "already, but is not a document of this collection" in refused["error"]
    assert await text_of(client, "up/birds.md", "notes.md") == BIRDS[1].decode()


async def test_a_row_takes_no_other_id(connect: Connect, tmp_path: Path) -> None:
    store = f"memory:{tmp_path}"
    course = tmp_path / "course"
    course.mkdir()
    (course / "syllabus.md").write_text("The syllabus.")
    with Index(store, collection="mixed", embedder="hash") as index:
        index.add([course, Document("up/api.md", "It was never a file."), Document("up/c.jsonl#x", "Nor was this.")])
        client = await connect(store=store, collections="mixed", uploads=tmp_path / "up")
        await rows(client, ("a.md", b"The upload."))
        taken = ["course/syllabus.md", "up/a.md", "up/later.md", "up/r.jsonl", "a#b", "../x", "r.jsonl"]
        squatters = "".join(json.dumps({"docid": docid, "text": "A squatter."}) + "\n" for docid in taken)
        (row,) = await rows(client, ("r.jsonl", squatters.encode()))
        assert (row["id"], row["documents"], row["error"]) == ("up/r.jsonl", len(taken), None)
        assert {id_ for id_ in await ids(client) if id_.startswith("up/r.jsonl")} == {f"up/r.jsonl#{t}" for t in taken}
        assert await text_of(client, "course/syllabus.md") == "The syllabus."
        assert await text_of(client, "up/a.md") == "The upload."
        assert await text_of(client, "up/r.jsonl") is None

        # What the owner indexed under such an id stays too, and keeps no other file out.
        api, conflict, later = await rows(
            client,
            ("api.md", b"A squatter."),
            ("c.jsonl", b'{"docid": "x", "text": "A squatter."}'),
            ("later.md", b"The later upload."),
        )
        assert api["error"] == "would replace 'up/api.md', which was not uploaded. Give the file another name."
        assert conflict["error"] == "would replace 'up/c.jsonl#x', which was not uploaded. Give the file another name."
        assert later["error"] is None
        assert await text_of(client, "up/api.md") == "It was never a file."
        assert await text_of(client, "up/later.md") == "The later upload."
        error_of(await client.delete("/documents/up/api.md"), 404)
        assert (await client.delete("/documents/up/r.jsonl")).json()["chunks"] == len(taken)
        assert await text_of(client, "up/a.md") == "The upload."


async def test_what_nobody_uploaded_stays_in_the_folder(client: httpx.AsyncClient, tmp_path: Path) -> None:
    own = tmp_path / "files" / "own.md"
    own.write_text("It was there before.")
    (tmp_path / "files" / ".git").mkdir()
    (refused,) = await rows(client, ("own.md", b"A squatter."))
    assert "already, but is not a document of this collection" in refused["error"]
    error_of(await client.delete("/documents/files/own.md"), 404)
    assert own.read_text() == "It was there before."
    assert sorted(path.name for path in own.parent.iterdir()) == [".git", "own.md"]


async def test_a_file_without_text_is_refused(client: httpx.AsyncClient, tmp_path: Path) -> None:
    await rows(client, BIRDS)
    blank, nothing = await rows(client, ("birds.md", b" \n"), ("none.jsonl", b'{"docid": "a", "text": ""}'))
    for refused in (blank, nothing):
        assert (refused["id"], "holds no text" in refused["error"]) == (None, True)
    assert [path.name for path in (tmp_path / "files").iterdir()] == ["birds.md"]
    assert await text_of(client, "files/birds.md") == BIRDS[1].decode()


async def test_documents_of_a_file_deleted_by_hand_can_be_deleted(client: httpx.AsyncClient, tmp_path: Path) -> None:
    await rows(client, BIRDS)
    (tmp_path / "files" / "birds.md").unlink()
    assert (await client.delete("/documents/files/birds.md")).json()["chunks"] == 1
    assert await ids(client) == []


async def test_writers_of_one_name_leave_one_of_their_files(client: httpx.AsyncClient, tmp_path: Path) -> None:
    async def work(number: int) -> None:
        for turn in range(4):
            if (number + turn) % 3 == 0:
                assert (await client.delete("/documents/files/race.md")).status_code in (200, 404)
            else:
                (row,) = await rows(client, ("race.md", f"Text {number}-{turn}. ".encode() * (number + 1)))
                assert row["error"] is None

    async with asyncio.TaskGroup() as group:
        for number in range(6):
            group.create_task(work(number))
    path = tmp_path / "files" / "race.md"
    assert ((await text_of(client, "files/race.md")) or "") == (path.read_text().strip() if path.exists() else "")
    assert [each.name for each in path.parent.iterdir()] == ["race.md"] * path.exists()


def test_a_folder_belongs_to_one_service(make_app: Callable[..., FastAPI], tmp_path: Path) -> None:
    def start(store: str, **given: Any) -> FastAPI:
        return make_app(**{"store": f"memory:{tmp_path}/{store}", "collections": "notes", **given})

    (tmp_path / "up" / "notes").mkdir(parents=True)
    start("one", collections="first,B=notes", uploads=tmp_path / "up")
    for folder in (tmp_path / "up", tmp_path / "up" / ".." / "up", tmp_path / "up" / "notes"):
        with pytest.raises(InvalidParameterError, match="uploads: is used by another service"):
            start("two", uploads=folder)
    (tmp_path / "file").touch()
    with pytest.raises(InvalidParameterError, match="must be a folder that exists or can be created"):
        start("three", uploads=tmp_path / "file")
    with pytest.raises(InvalidParameterError, match="must be a folder with a name"):
        start("four", uploads=Path("/"))
    watched = tmp_path / "course"
    (watched / "in").mkdir(parents=True)
    (watched / "a.md").touch()
    for folder in (watched, watched / "in"):
        with pytest.raises(InvalidParameterError, match=r"must not overlap with .*course, which is watched"):
            start("five", uploads=folder, watch=str(watched))
    with pytest.raises(InvalidParameterError, match=r"must have another name than .*course, which is watched"):
        start("six", uploads=tmp_path / "other" / "course", watch=str(watched / "a.md"))


async def test_a_folder_is_free_again_when_its_service_ends(make_app: Callable[..., FastAPI], tmp_path: Path) -> None:
    for _ in range(2):
        app = make_app(store=f"memory:{tmp_path}", collections="notes", uploads=tmp_path / "up")
        async with app.router.lifespan_context(app):
            pass
