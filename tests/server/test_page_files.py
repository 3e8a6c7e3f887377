"""The page's files, as the service sends them."""

from __future__ import annotations

import re
from pathlib import Path

import httpx

import kinsplit
from kinsplit.server.routes.page import page_files
from tests.server.conftest import Connect, error_of

FOLDER = Path(kinsplit.__file__).parent / "server" / "page"
FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file())
MODULES = [name for name in FILES if name.endswith(".js")]


async def test_the_page_is_at_the_root_and_needs_no_key(connect: Connect) -> None:
    client = await connect(api_keys="key")
    response = await client.get("/")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy
    assert response.headers["x-content-type-options"] == "nosniff"
    named = re.findall(r'(?:src|href)="(page/[^"]+)"', response.text)
    assert len(named) > 5
    assert response.headers["vary"] == "Accept-Encoding"
    for name in named:
        assert (await client.get(f"/{name}")).status_code == 200


async def test_each_file_is_served_and_asked_for_again_only_when_it_changed(
    client: httpx.AsyncClient,
) -> None:
    kinds = {"js": "text/javascript", "css": "text/css", "html": "text/html", "svg": "image/svg+xml"}
    for name in FILES:
        response = await client.get(f"/page/{name}")
        assert response.content == (FOLDER / name).read_bytes()
        assert response.headers["content-type"].startswith(kinds[name.rsplit(".", 1)[1]])
        assert response.headers["cache-control"] == "no-cache"
        etag = response.headers["etag"]
        for known in (etag, f'"old", W/{etag}', "*"):
            again = await client.get(f"/page/{name}", headers={"If-None-Match": known})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
        changed = await client.get(f"/page/{name}", headers={"If-None-Match": '"old"'})
        assert changed.status_code == 200
        head = await client.head(f"/page/{name}")
        assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", etag)


async def test_nothing_else_is_served(client: httpx.AsyncClient) -> None:
    for name in (
        "",
        "none.js",
        "../settings.py",
        "..%2Fsettings.py",
        "%2Fetc%2Fpasswd",
        "js",
        "JS/main.js",
    ):
        assert error_of(await client.get(f"/page/{name}"), 404)["rule"] == "does not exist", name


def test_the_page_asks_nobody_else() -> None:
    for name, file in page_files().items():
        text = file.content.decode()
        assert not re.findall(r"https?://(?!www\.w3\.org/(?:2000/svg|1998/Math/MathML))[^\s\"')]+", text), name
        assert not re.search(r"""["'(]//\w""", text), name
        assert "@import" not in text, name


def test_text_becomes_markup_in_one_place_alone() -> None:
    index = page_files()["index.html"].content.decode()
    assert not re.search(r"\son\w+=|style=|<script(?![^>]*\ssrc=)", index)
    for name in MODULES:
        text = (FOLDER / name).read_text()
        found = re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser", text
        )
        # Which makes anew what it knows of what the service sends.
        assert found == (["DOMParser"] if name == "js/parts/rendered.js" else []), name


def test_every_module_is_small_used_and_finds_what_it_imports() -> None:
    wanted = {"js/main.js", "js/theme-early.js"}
    for name in MODULES:
        text = (FOLDER / name).read_text()
        assert len(text.splitlines()) < 400, name
        for source in re.findall(r"import\(\"(\.[^\"]+)\"\)", text):
            wanted.add((FOLDER / name).parent.joinpath(source).resolve().relative_to(FOLDER.resolve()).as_posix())
        for names, source in re.findall(r"import (?:\{([^}]*)\}|\* as \w+) from \"(\.[^\"]+)\"", text):
            path = (FOLDER / name).parent.joinpath(source).resolve()
            assert path.is_file(), (name, source)
            wanted.add(path.relative_to(FOLDER.resolve()).as_posix())
            exported = set(re.findall(r"export (?:async )?(?:function\*?|const|class|let) (\w+)", path.read_text()))
            exported |= set(re.findall(r"export async function\* (\w+)", path.read_text()))
            assert {each.strip() for each in names.split(",") if each.strip()} <= exported, (name, source)
    assert wanted == set(MODULES)
