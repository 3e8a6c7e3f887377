from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from kinsplit import Document, Index
from kinsplit.parsers import create
from kinsplit.server.app import create_app
from kinsplit.server.collections import Collections
from kinsplit.server.processes.previews import Previewer
from tests.chromium import find_chromium
from tests.loaders.helpers import pdf
from tests.server.conftest import clean_environment, serving, settings_of

STORE = "memory:page-tests"
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
LOOPS = (
    "# Loops 😀🎉\n\nA loop repeats its block. 😀😀 Somebody has to end it.\n\n"
    "## While\n\nA while loop 🐍 asks first whether its condition holds. It may never run at all.\n\n"
    "## For\n\nA for loop counts through a range. It ends by itself, and nobody has to ask.\n"
)
HOSTILE = (
    "# <img src=x onerror=hacked=1>\n\n"
    "<script>window.hacked = 1</script> Rabbits hide in burrows. "
    '<img src=x onerror="window.hacked = 1"><a href="javascript:window.hacked=1">Rabbits</a> eat clover.\n\n'
    "![Burrow](https://evil.example/burrow.png) [Run](javascript:window.hacked=1) [page](data:text/html,x) "
    "[Warren](https://example.org/warren) <iframe src=https://evil.example></iframe>\n\n"
    "Their number is $n^2$, at most:\n\n$$\n\\frac{n}{2}\n$$\n\n"
    "| month | rabbits |\n|-------|--------:|\n| May | 12 |\n\n"
    "```python\ndef hop(far: int) -> str:\n    return 'up' * 3  # rabbits hop\n```\n"
)
HOSTILE_ID = "cs/<img src=x onerror=hacked=1>.md"
HEBREW = "# שלום\n\nהארנב רץ מהר אל הגינה. rabbits run.\n"
SHEETS = ["The first page is about winter.", "The second page is about glaciers.", "The third page is about summer."]
PAGES = "\n\n".join(SHEETS)


@pytest.fixture(scope="session")
def ice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PDF file whose pages are those of a document."""
    path = tmp_path_factory.mktemp("ice") / "ice.pdf"
    path.write_bytes(pdf(*([sheet] for sheet in SHEETS)))
    return path


@pytest.fixture(scope="session", autouse=True)
def indexed(ice: Path) -> Iterator[None]:
    """The same documents, split by three strategies."""
    filler = "".join(f"Sentence {n} of the long text says nothing of note. " for n in range(60))
    documents = [
        Document("cs/loops.md", LOOPS, {"course": "6.0001", "subject": "cs", "file_type": "md"}),
        Document(HOSTILE_ID, HOSTILE, {"course": '"><script>window.hacked=1</script>'}),
        Document("he/שלום.md", HEBREW, {}),
        Document("long.txt", f"{filler}A walrus 🦭 sleeps here. {filler}", {}),
        Document(
            "ice.pdf",
            PAGES,
            {"file_type": "pdf", "absolute_path": str(ice)},
            (0, PAGES.index("The second"), PAGES.index("The third")),
            digest=hashlib.sha256(ice.read_bytes()).hexdigest(),
        ),
    ]
    kept = []
    for name, strategy in (
        ("sentence", create("sentence", chunk_size=18, chunk_overlap=0)),
        ("structure", create("structure", chunk_size=40, min_chunk_size=5)),
        ("hierarchical", create("hierarchical", parent_size=(120,), child_size=60)),
    ):
        kept.append(Index(STORE, collection=name, strategy=strategy, embedder="hash"))
        for document in documents:  # One at a time, since their metadata differ.
            assert not kept[-1].add([document]).failed
    yield
    for index in kept:
        index.close()


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    # Closed after this package, since asynchronous tests can't run while it is open.
    sync_api = pytest.importorskip("playwright.sync_api", reason="looking at the page needs playwright")
    path = find_chromium()
    sync_api.expect.set_options(timeout=15_000)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=list(ARGUMENTS))
        yield browser
        browser.close()


Serve = Callable[..., str]
Visit = Callable[..., Any]


@pytest.fixture(scope="package")
def service(indexed: None, ice: Path, previewer: Previewer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of one service for all tests that need no settings of their own."""
    with clean_environment(tmp_path_factory.mktemp("service")):
        settings = settings_of(
            store=STORE, collections="sentence,structure,hierarchical", timeout=120, originals=str(ice.parent)
        )
        collections = Collections(settings)
    with serving(create_app(settings, collections, previewer)) as address:
        yield address


@pytest.fixture
def serve(make_app: Callable[..., FastAPI], socket_enabled: None) -> Iterator[Serve]:
    """Return a function that starts a service with its own settings and returns its address."""
    with ExitStack() as stack:

        def start(**given: Any) -> str:
            wanted = {"store": STORE, "collections": "sentence,structure,hierarchical", **given}
            return stack.enter_context(serving(make_app(**wanted)))

        yield start


@pytest.fixture
def visit(socket_enabled: None, browser: Any, service: str, serve: Serve) -> Iterator[Visit]:
    """Return a function that opens the page in a fresh profile; errors in its console fail the test.

    It asks for `serve`, so that pages are closed before the services that they use.
    """
    complaints: list[str] = []
    contexts = []

    def open_(fragment: str = "", *, expect_errors: bool = False, address: str | None = None, **context: Any) -> Any:
        contexts.append(browser.new_context(**{"viewport": {"width": 1280, "height": 860}, **context}))
        page = contexts[-1].new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        if not expect_errors:
            page.on("console", lambda message: message.type == "error" and complaints.append(message.text))
        page.goto(f"{address or service}/{fragment}")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not complaints


def expect(locator: Any) -> Any:
    from playwright import sync_api

    return sync_api.expect(locator)


def ask_for(page: Any, question: str) -> Any:
    """Type a question, and return the passages."""
    page.get_by_role("searchbox", name="Question").fill(question)
    return page.locator(".passage")
