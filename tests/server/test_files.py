"""Pages of files as pictures, and the files themselves."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from PIL import Image

from kinsplit import Document, Index
from kinsplit.errors import InvalidParameterError
from kinsplit.parsers import create
from kinsplit.server.processes.pdf_page import located
from kinsplit.server.processes.viewer import recording_at
from tests.loaders.helpers import pdf
from tests.server.conftest import Connect, error_of

STORE = "memory:file-tests"
PAGES = (
    ["A walrus is a large", "animal of the far north.", "It eats clams and other", "molluscs from the bed of the sea."],
    ["Penguins live in the south.", "A walrus never meets one."],
)
NOTES = "# Ice\n\nGlaciers *move* slowly.\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder whose files are indexed."""
    folder = tmp_path_factory.mktemp("files") / "arctic"
    folder.mkdir()
    (folder / "walrus.pdf").write_bytes(pdf(*PAGES))
    (folder / "notes.md").write_text(NOTES)
    (folder / "course.toml").write_text('[[files]]\nmatch = "*.vtt"\nurl = "https://example.org/talk.mp3?x=1"\n')
    (folder / "talk.vtt").write_text("WEBVTT\n\n00:01:05.000 --> 00:01:09.500\nWalruses have long tusks.\n")
    (folder / "walk.py").write_text("def walk():\n    return 'tusks'\n")
    with Index(
        STORE, collection="files", strategy=create("sentence", chunk_size=12, chunk_overlap=0), embedder="hash"
    ) as index:
        assert not index.add(folder).failed
        yield folder


@pytest.fixture
async def client(connect: Connect, folder: Path) -> httpx.AsyncClient:
    client: httpx.AsyncClient = await connect(store=STORE, collections="files", originals=str(folder.parent))
    return client


async def test_a_page_is_a_picture_with_the_lines_of_a_passage_marked(client: httpx.AsyncClient) -> None:
    found = (await client.get("/search?q=clams+and+other+molluscs&top_k=1&window=0&render=1")).json()["passages"][0]
    nothing = dict.fromkeys(("kind", "html", "problem", "recording"))
    assert found["view"] == {**nothing, "pages": True, "original": True}
    place = {"start": found["start"], "end": found["end"]}
    response = await client.get("/documents/arctic/walrus.pdf/pages/1.png", params={**place, "width": 600})
    assert response.headers["content-type"] == "image/png"
    assert response.headers["x-marked-lines"] == str(found["text"].count("\n") + 1)
    picture = Image.open(io.BytesIO(response.content))
    assert picture.width == 600
    yellow = [
        at
        for at in range(picture.height)
        if any(picture.getpixel((x, at))[2] < 200 < picture.getpixel((x, at))[0] for x in range(0, 600, 3))
    ]
    assert abs(float(response.headers["x-marked-top"]) - yellow[0] / picture.height) < 0.01
    assert yellow[-1] - yellow[0] < 0.1 * picture.height
    plain = await client.get("/documents/arctic/walrus.pdf/pages/2.png")
    assert (plain.headers["x-marked-lines"], "x-marked-top" in plain.headers) == ("0", False)
    other = await client.get("/documents/arctic/walrus.pdf/pages/2.png", params=place)
    assert other.headers["x-marked-lines"] == "0"
    assert other.content == plain.content


async def test_of_a_long_range_only_what_is_on_the_page_is_looked_for(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    renderer, wanted = client.app.state.viewer.renderer, []  # type: ignore[attr-defined]
    draw = renderer.draw

    async def spied(path: Path, digest: str, page: int, text: str, before: str, width: int) -> object:
        wanted.append(text)
        return await draw(path, digest, page, text, before, width)

    monkeypatch.setattr(renderer, "draw", spied)
    whole = (await client.get("/documents/arctic/walrus.pdf")).json()["text"]
    pictures = [
        await client.get("/documents/arctic/walrus.pdf/pages/2.png", params={"start": start, "end": len(whole)})
        for start in (0, 1, 2)
    ]
    assert {picture.headers["x-marked-lines"] for picture in pictures} == {"2"}
    # The chunk that begins on the page before, and those of the page; the same for all, so that one picture was drawn.
    assert len(set(wanted)) == 1
    assert "A walrus is a large" not in wanted[0]
    assert "Penguins live in the south." in wanted[0]
    assert len(renderer._long._kept) == 1


@pytest.mark.parametrize(
    ("path", "status", "field", "rule"),
    [
        ("walrus.pdf/pages/3.png", 404, "page", "must be a page of the document, from 1 to 2"),
        ("walrus.pdf/pages/0.png", 404, "page", "must be a page of the document, from 1 to 2"),
        ("walrus.pdf/pages/x.png", 422, "page", "valid integer"),
        ("walrus.pdf/pages/1.png?start=5", 422, "start", "must be a range of the document"),
        ("walrus.pdf/pages/1.png?start=9&end=9", 422, "start", "must be a range of the document"),
        ("walrus.pdf/pages/1.png?start=0&end=99999", 422, "end", "must be an offset in the document"),
        ("walrus.pdf/pages/1.png?width=99999", 422, "width", "2400"),
        ("notes.md/pages/1.png", 404, "id", "must be a PDF file"),
        ("none.pdf/pages/1.png", 404, "id", "must be the id of a document"),
        ("none.pdf/original", 404, "id", "must be the id of a document"),
        ("..%2F..%2Fetc%2Fpasswd/original", 404, "id", "must be the id of a document"),
    ],
)
async def test_what_can_t_be_drawn_is_one_clear_error(
    client: httpx.AsyncClient, path: str, status: int, field: str, rule: str
) -> None:
    error = error_of(await client.get(f"/documents/arctic/{path}"), status)
    assert error["field"] == field
    assert rule in error["rule"]


async def test_a_file_is_returned_as_it_was_indexed(client: httpx.AsyncClient, connect: Connect, folder: Path) -> None:
    response = await client.get("/documents/arctic/walrus.pdf/original")
    assert response.content == (folder / "walrus.pdf").read_bytes()
    assert response.headers["content-disposition"] == "attachment; filename*=UTF-8''walrus.pdf"
    assert response.headers["content-type"] == "application/octet-stream"
    assert "default-src 'none'" in response.headers["content-security-policy"]
    with pytest.raises(InvalidParameterError, match=r"^originals: must be folders"):
        await connect(store=STORE, collections="files", originals=str(folder / "none"))
    (folder.parent / "other").mkdir()
    for given in ({}, {"originals": str(folder.parent / "other")}, {"originals": f"{folder}/notes.md"}):
        other = await connect(store=STORE, collections="files", **given)
        error = error_of(await other.get("/documents/arctic/walrus.pdf/original"), 404)
        assert error["rule"] == "must be a file that this service may return"
        assert str(folder) not in (await other.get("/search?q=walrus&render=1")).text
    off = await connect(store=STORE, collections="files", pictures=False)
    assert "pages may be shown" in error_of(await off.get("/documents/arctic/walrus.pdf/pages/1.png"), 404)["rule"]
    assert not (await off.get("/documents/arctic/walrus.pdf?render=1")).json()["view"]["pages"]


async def test_a_file_that_changed_is_said_to_have_changed(client: httpx.AsyncClient, folder: Path) -> None:
    path, aside = folder / "walrus.pdf", folder.parent / "aside.pdf"
    drawn = "/documents/arctic/walrus.pdf/pages/2.png?width=300"
    before = (await client.get(drawn)).content
    data = path.read_bytes()
    for change, rule in (
        (lambda: path.write_bytes(pdf(["Something else"])), "has changed since it was indexed"),
        (lambda: path.unlink(), "is no longer there"),
        (lambda: (path.unlink(), os.mkfifo(path)), "is no longer there"),
        (lambda: (path.rename(aside), path.symlink_to(aside)), "is no longer there"),
    ):
        path.unlink(missing_ok=True)
        path.write_bytes(data)
        change()
        for url in (drawn, "/documents/arctic/walrus.pdf/original"):
            error = error_of(await client.get(url), 409)
            assert rule in error["rule"]
            assert str(folder) not in str(error)
    path.unlink()
    path.write_bytes(data)
    assert (await client.get(drawn)).content == before


async def test_a_pdf_that_pdfium_refuses_is_one_clear_error(client: httpx.AsyncClient, folder: Path) -> None:
    broken = folder.parent / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\nnothing follows")
    metadata = {"absolute_path": str(broken), "file_type": "pdf"}
    digest = hashlib.sha256(broken.read_bytes()).hexdigest()
    documents = [
        Document("broken.pdf", "A page about seals.", metadata, (0,), digest=digest),
        Document("former.pdf", "A page about seals.", metadata, (0,)),
    ]
    with Index(STORE, collection="files", embedder="hash", must_exist=True) as index:
        assert not index.add(documents).failed
        error = error_of(await client.get("/documents/broken.pdf/pages/1.png"), 422)
        assert error["rule"] == "has a page 1 that can't be drawn"
        error = error_of(await client.get("/documents/former.pdf/pages/1.png"), 409)
        assert error["rule"] == "was indexed without its hash"
        for document in documents:
            index.delete(document.id)


async def test_texts_come_with_what_they_look_like(client: httpx.AsyncClient) -> None:
    found = (await client.get("/search?q=glaciers+move&top_k=1&render=1")).json()["passages"][0]
    assert found["source_id"] == "arctic/notes.md"
    assert "<em>" in found["view"]["html"]
    assert '<mark class="best">' in found["view"]["html"]
    assert found["view"]["pages"] is False
    whole = (await client.get("/documents/arctic/walk.py?render=1&start=0&end=3")).json()
    assert '<mark class="best"><span class="word">def</span></mark>' in whole["view"]["html"]
    whole = (await client.get("/documents/arctic/walk.py")).json()
    assert (whole["view"]["kind"], whole["view"]["html"]) == ("code", None)
    error = error_of(await client.get("/documents/arctic/walk.py?render=1&start=5"), 422)
    assert error["rule"] == "must be a range of the document"
    spoken = (await client.get("/search?q=long+tusks&top_k=1&render=1")).json()["passages"][0]
    assert spoken["times"] == [65.0, 69.5]
    assert spoken["view"]["html"] is None
    assert spoken["view"]["recording"] == "https://example.org/talk.mp3?x=1#t=65,69.5"
    assert (await client.get("/search?q=tusks&top_k=1")).json()["passages"][0]["view"] is None
    response = await client.post("/ask", json={"question": "How do glaciers move?", "render": True})
    events = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
    assert "<em>move</em>" in events[0]
    assert re.search(r'"views": {"\d": {"kind": "markdown", "html": "', events[-1])
    answer = json.loads(events[-1])
    assert answer["verdict"] == "quoted"
    assert answer["html"].count("<blockquote>") == len(answer["citations"])
    assert "<em>move</em>" in answer["html"]
    assert '<mark class="best" data-number="0">[2]</mark></p></blockquote>' in answer["html"]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://example.org/a.mp4", "https://example.org/a.mp4#t=65,69.5"),
        ("https://www.youtube.com/watch?v=x&t=3s", "https://www.youtube.com/watch?v=x&t=65s"),
        ("https://youtu.be/x", "https://youtu.be/x?t=65s"),
        ("javascript:alert(1)", None),
        ("/talk.mp3", None),
        ("http://[", None),
        (None, None),
    ],
)
def test_a_recording_is_linked_at_its_time(address: str | None, expected: str | None) -> None:
    assert recording_at(address, (65.0, 69.5)) == expected
    assert recording_at(address, None) is None


@pytest.mark.parametrize(
    ("page", "text", "before", "expected"),
    [
        ("one two three four", "two\nthree", "", ["twothree"]),
        ("an ex-\nample of it", "example", "", ["example"]),
        ("12 one two three four", "one two three four five six seven eight", "", ["onetwothreefour"]),
        ("the end. Copy. the end.", "the end", "Copy.", ["theend"]),
        (
            "the first line ends\nfoot 7\nthe second line begins",
            "the first line ends\nthe second line begins",
            "",
            ["thefirstlineends", "thesecondlinebegins"],
        ),
        (
            "x = letters guessed y = 1 x = letters guessed",
            "x = letters guessed\nof another page",
            "y = 1",
            ["xlettersguessed"],
        ),
        ("ﬁne Ｗords", "fine words", "", ["finewords"]),
        (
            "Ice 1 Ice\nbelow the first heading",
            "Ice\nbelow the first heading\nof another page",
            "",
            ["icebelowthefirstheading"],
        ),
        ("nothing of it", "quite another text", "", []),
        ("1 2 3", "", "", []),
    ],
)
def test_a_text_is_found_on_its_page(page: str, text: str, before: str, expected: list[str]) -> None:
    letters = "".join(c for c in unicodedata.normalize("NFKC", page).casefold() if c.isalnum())
    found = located(letters, text, before)
    assert [letters[start:end] for start, end in found] == expected
    if before:
        assert found[0][0] == letters.rindex(expected[0])
