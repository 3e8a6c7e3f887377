from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tenacity import nap
from typer.testing import CliRunner, Result

import kinsplit
from kinsplit import wikipedia
from kinsplit.cli import app
from kinsplit.errors import FetchError, InvalidParameterError
from kinsplit.loaders import load
from kinsplit.parsers import create
from kinsplit.wikipedia import Api, fetch
from tests.hostile_server import Hostile
from tests.wikipedia.fake_wiki import FakeWiki, Page, Reply, serving

TEXT = """Recursion is a method of solving a problem.
It reduces the problem to smaller ones.


== History ==


=== Early years ===
Dedekind used it in 1888.


=== Gallery ===


== See also ==


== References ==
"""


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between tries, which take no time."""
    taken: list[float] = []
    monkeypatch.setattr(nap.time, "sleep", taken.append)
    return taken


@pytest.fixture
def wiki(pauses: list[float], socket_enabled: None) -> Iterator[FakeWiki]:
    with serving() as running:
        running.pages = {
            "Recursion": Page(TEXT, 10),
            "C++/CLI": Page("C++/CLI is a language.", 11),
            "Mercury": Page("Mercury may refer to:", 12, disambiguation=True),
        }
        running.redirects = {"Recursive definition": "Recursion"}
        yield running


def run(wiki: FakeWiki, *arguments: object) -> Result:
    all_of_them = ["fetch-wikipedia", *arguments, "--api", wiki.url]
    return CliRunner().invoke(app, [str(argument) for argument in all_of_them], catch_exceptions=False)


def test_an_article_becomes_markdown_that_says_where_it_is_from(wiki: FakeWiki, tmp_path: Path) -> None:
    with Api(url=wiki.url) as api:
        (one,) = fetch(api, ["Recursion"], tmp_path / "new" / "folder")

    assert one.state == "new"
    assert one.path == tmp_path / "new" / "folder" / "Recursion.md"
    assert one.path.read_text() == (
        '---\ntitle: "Recursion"\nurl: "https://en.wikipedia.org/wiki/Recursion"\nrevision: 10\n'
        "revised: 2026-01-02T03:04:05Z\nlicence: CC BY-SA 4.0\n---\n\n"
        "# Recursion\n\nRecursion is a method of solving a problem.\n\nIt reduces the problem to smaller ones.\n\n"
        "## History\n\n### Early years\n\nDedekind used it in 1888.\n"
    )
    assert [path.name for path in one.path.parent.iterdir()] == ["Recursion.md"]


def test_loaded_again_it_keeps_its_source_and_its_sections(wiki: FakeWiki, tmp_path: Path) -> None:
    with Api(url=wiki.url) as api:
        fetch(api, ["Recursion"], tmp_path)
    (loaded,) = load(tmp_path)
    (document,) = loaded.documents

    assert document.metadata["title"] == "Recursion"
    assert document.metadata["url"] == "https://en.wikipedia.org/wiki/Recursion"
    assert (document.metadata["revision"], document.metadata["licence"]) == (10, "CC BY-SA 4.0")
    chunks = create("structure", chunk_size=20, min_chunk_size=1).chunk(document)
    assert chunks[-1].context == "Recursion > History > Early years"


def test_only_what_has_changed_is_fetched_again(wiki: FakeWiki, tmp_path: Path) -> None:
    with Api(url=wiki.url) as api:
        fetch(api, ["Recursion", "C++/CLI"], tmp_path)
        wiki.calls.clear()
        again = fetch(api, ["Recursion", "C++/CLI"], tmp_path)
        unchanged, wiki.calls = wiki.props, []
        wiki.pages["Recursion"] = Page("It is new.", 20)
        changed = fetch(api, ["Recursion", "C++/CLI"], tmp_path)

    assert [one.state for one in again] == ["unchanged", "unchanged"]
    assert unchanged == ["info|pageprops|revisions"]
    assert [one.state for one in changed] == ["updated", "unchanged"]
    assert wiki.props == ["info|pageprops|revisions", "extracts"]
    assert "It is new." in (tmp_path / "Recursion.md").read_text()
    assert (tmp_path / "C++_CLI.md").exists()
    assert wiki.most == 1


def test_what_can_not_be_fetched_is_told_and_the_rest_goes_on(wiki: FakeWiki, tmp_path: Path) -> None:
    result = run(wiki, "recursive_definition", "Nowhere", "Mercury", "a[b", "--output", tmp_path)

    assert result.exit_code == 1
    assert result.stdout == f"{tmp_path / 'Recursion.md'}  New, revision 10  (for recursive_definition)\n"
    told = result.stderr.splitlines()
    assert told[0].startswith("Warning: Nowhere: There is no such page.")
    assert told[1].endswith("Choose one of those listed at https://en.wikipedia.org/wiki/Mercury")
    assert told[2].startswith("Warning: a[b: That is no title")
    assert len(list(tmp_path.iterdir())) == 1


def test_json_tells_of_every_title(wiki: FakeWiki, tmp_path: Path) -> None:
    result = run(wiki, "Recursion", "Nowhere", "--output", tmp_path, "--json")

    first, second = json.loads(result.stdout)["articles"]
    assert (first["state"], first["revision"], first["path"]) == ("new", 10, str(tmp_path / "Recursion.md"))
    assert (second["state"], second["path"]) == ("failed", None)
    assert run(wiki, "Nowhere", "--output", tmp_path, "--json").exit_code == 2


def test_it_says_who_asks_and_asks_for_patience(wiki: FakeWiki, tmp_path: Path) -> None:
    run(wiki, "Recursion", "--output", tmp_path, "--contact", "me@example.org")

    for parameters, headers in wiki.calls:
        assert headers["user-agent"] == f"kinsplit/{kinsplit.__version__} (me@example.org)"
        assert parameters["maxlag"] == "5"


_LAG = Reply({"error": {"code": "maxlag", "info": "Waiting for db: 7 seconds lagged."}}, headers={"retry-after": "5"})


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ([_LAG], [5.0]),
        ([Reply("slow down", 429, {"retry-after": "17"}), Reply("", 503)], [17.0, 2.0]),
        ([Reply("", 502)] * 3, [1.0, 2.0, 4.0]),
    ],
)
def test_a_busy_wiki_is_asked_again_when_it_wants(
    wiki: FakeWiki, pauses: list[float], tmp_path: Path, replies: list[Reply], expected: list[float]
) -> None:
    wiki.replies.extend(replies)
    with Api(url=wiki.url) as api:
        (one,) = fetch(api, ["Recursion"], tmp_path)

    assert one.state == "new"
    assert pauses == expected


@pytest.mark.parametrize(
    ("replies", "message", "calls"),
    [
        ([_LAG] * 9, "is busy: Waiting for db", 5),
        ([Reply("", 429, {"retry-after": "9999"})], "asks to wait for 9999 s", 1),
        ([Reply("", 404)], "answered with status 404", 1),
        ([Reply("<html>")], "something other than JSON", 1),
        ([Reply([1])], "its answer is not an object", 1),
        ([Reply({"error": "No such action."})], "No such action", 1),
        ([Reply({"query": {"pages": []}, "continue": {"x": "1"}})] * 9, "goes round in circles", 2),
        ([Reply("", 302, {"location": "/w/api.php"})] * 30, "redirects without end", 21),
        ([Reply([[]] * 9)], "its answer is not an object", 1),
        ([Reply({"query": [1]})], "its pages are not those of a wiki", 1),
        ([Reply({"query": {"pages": ["x"]}})], "its pages are not those of a wiki", 1),
        ([Reply("[" * 100_000)], "something other than JSON", 1),
        ([Reply("x" * (1 << 23) + "x")], "sent more than 8,388,608 bytes", 1),
        ([Reply({"query": {}, "continue": {"x": str(n)}}) for n in range(200)], "100 parts of an answer came", 100),
        ([Reply("no gzip", 200, {"content-encoding": "gzip"})] * 9, "can't be reached", 5),
        ([Reply({"error": {"code": "badvalue", "info": "Unrecognized value."}})], "Unrecognized value", 1),
    ],
)
def test_a_wiki_that_fails_is_one_clear_error(
    wiki: FakeWiki, tmp_path: Path, replies: list[Reply], message: str, calls: int
) -> None:
    wiki.replies.extend(replies)
    with Api(url=wiki.url) as api, pytest.raises(FetchError, match=message):
        fetch(api, ["Recursion"], tmp_path)

    assert len(wiki.calls) == calls


@pytest.mark.parametrize("mode", ["body", "packed", "redirect", "drip"])
def test_a_wiki_without_end_is_given_up(
    hostile: Hostile, pauses: list[float], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wikipedia, "SECONDS", 0.3)
    hostile.parts = lambda: iter([b"x" * (1 << 16)] * 1024)
    if mode == "packed":
        packed = gzip.compress(b"x" * (1 << 26), 4)
        hostile.head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed)
        hostile.parts = lambda: iter([packed])
    if mode == "redirect":
        hostile.head = b"HTTP/1.1 302 Found\r\nlocation: /\r\n\r\n"
    if mode == "drip":
        hostile.parts, hostile.pause = (lambda: iter([b" "] * 900)), 0.03
    with Api(url=hostile.url) as wiki, pytest.raises(FetchError, match=r"sent more|no end after|redirects without end"):
        wiki.query({})
    assert hostile.sent < 128 << 20  # Each redirect fills the buffers of a connection.


def test_a_title_whose_accents_are_apart_leads_to_its_page(wiki: FakeWiki, tmp_path: Path) -> None:
    wiki.pages["Caf\u00e9"] = Page("Coffee is drunk there.", 3)
    with Api(url=wiki.url) as api:
        (one,) = fetch(api, ["Cafe\u0301"], tmp_path)
    assert (one.article.title, one.state) == ("Caf\u00e9", "new")


def test_a_blank_title_is_refused_before_anything_is_asked(wiki: FakeWiki, tmp_path: Path) -> None:
    result = run(wiki, "Recursion", " ", "--output", tmp_path / "out")
    assert (result.exit_code, wiki.calls, (tmp_path / "out").exists()) == (2, [], False)
    assert result.stderr.startswith("Error: titles: must each name an article (got ['Recursion', ' ']).")


@pytest.mark.parametrize("url", ["http://me:secret@127.0.0.1:1/api.php", "http://me:secret@h:port/", "me:secret"])
def test_no_message_holds_the_password_of_an_address(pauses: list[float], socket_enabled: None, url: str) -> None:
    with Api(url=url) as api, pytest.raises(FetchError) as caught:
        api.query({})
    assert "secret@" not in str(caught.value)
    assert ".." not in str(caught.value)


@pytest.mark.parametrize("contact", ["me\n@example.org", "m\u00e9@example.org", "me\x00"])
def test_a_contact_that_can_not_be_sent_is_refused(contact: str) -> None:
    with pytest.raises(InvalidParameterError, match="contact: must be printable ASCII"):
        Api(contact=contact)


def test_an_article_that_fails_leaves_the_others(wiki: FakeWiki, tmp_path: Path) -> None:
    wiki.pages["Empty"] = Page("  ", 5)
    result = run(wiki, "Empty", "Recursion", "--output", tmp_path)

    assert result.exit_code == 1
    assert "Empty: https://en.wikipedia.org/wiki/Empty holds no text." in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["Recursion.md"]


def test_many_titles_come_in_parts_of_fifty_and_in_continued_answers(wiki: FakeWiki, tmp_path: Path) -> None:
    wiki.pages = {f"Page {number}": Page(f"Text {number}.", number + 1) for number in range(70)}
    wiki.parts = 30
    with Api(url=wiki.url) as api:
        done = fetch(api, [*wiki.pages, "Page 3"], tmp_path)

    assert len(done) == 70
    assert [one.article.revision for one in done] == list(range(1, 71))
    assert wiki.props.count("info|pageprops|revisions") == 3
    assert wiki.props.count("extracts") == 70


def test_two_pages_never_share_a_file(wiki: FakeWiki, tmp_path: Path) -> None:
    wiki.pages |= {"A/B": Page("One.", 1), "A:B": Page("Two.", 2), "..": Page("Up.", 3)}
    with Api(url=wiki.url) as api:
        states = [one.state for one in fetch(api, ["A/B", "A:B", ".."], tmp_path / "in")]

    assert states == ["new", "failed", "new"]
    assert sorted(path.name for path in (tmp_path / "in").iterdir()) == ["A_B.md", "_.md"]
    assert not list(tmp_path.glob("*.md"))


def test_a_wiki_that_is_not_there(pauses: list[float], socket_enabled: None) -> None:
    with serving() as gone:
        pass
    with Api(url=gone.url) as api, pytest.raises(FetchError, match="can't be reached"):
        fetch(api, ["Recursion"], Path("unused"))


@pytest.mark.parametrize("language", ["", "EN", "en.evil.org/", "e", "en_us"])
def test_a_wrong_language_is_refused(language: str) -> None:
    with pytest.raises(InvalidParameterError, match="language"):
        Api(language)


def test_the_language_names_the_wikipedia() -> None:
    with Api("de") as german, Api("zh-yue") as cantonese:
        hosts = [httpx.URL(api.url).host for api in (german, cantonese)]

    assert hosts == ["de.wikipedia.org", "zh-yue.wikipedia.org"]
