"""A server on this machine that answers as a MediaWiki's api.php does, of pages that a test writes."""

from __future__ import annotations

import json
import threading
import unicodedata
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from tests.local_server import QuietHandler, running


@dataclass
class Page:
    """A page of the wiki."""

    text: str
    revision: int = 1
    disambiguation: bool = False


@dataclass(frozen=True)
class Reply:
    """A response that is given once in the place of the right one."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class FakeWiki:
    """The wiki.

    Attributes:
        pages: By title.
        redirects: Where titles lead that are no pages.
        replies: Given once each, before anything else is answered.
        calls: Parameters and headers of every request.
        parts: Pages that come with one answer; more need to be continued.
        most: Most requests that were open at once.
    """

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.redirects: dict[str, str] = {}
        self.replies: deque[Reply] = deque()
        self.calls: list[tuple[dict[str, str], dict[str, str]]] = []
        self.parts = 50
        self.most = self._open = 0
        self.port = 0
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/w/api.php"

    @property
    def props(self) -> list[str]:
        """What was asked for, request by request."""
        return [parameters["prop"] for parameters, _ in self.calls]

    def reply(self, parameters: dict[str, str], headers: dict[str, str]) -> Reply:
        with self._lock:
            self.calls.append((parameters, headers))
            self._open += 1
            self.most = max(self.most, self._open)
        try:
            return self.replies.popleft() if self.replies else Reply(self._answer(parameters))
        finally:
            with self._lock:
                self._open -= 1

    def _answer(self, parameters: dict[str, str]) -> dict[str, Any]:
        query: dict[str, Any] = {}
        titles = []
        for asked in parameters["titles"].split("|"):
            composed = unicodedata.normalize("NFC", asked)
            title = composed[:1].upper() + composed[1:].replace("_", " ")
            if title != asked:
                # As MediaWiki does where JSON could not hold the title as it came.
                is_encoded = composed != asked
                step = {"fromencoded": is_encoded, "from": quote(asked) if is_encoded else asked, "to": title}
                query.setdefault("normalized", []).append(step)
            if "redirects" in parameters and title in self.redirects:
                query.setdefault("redirects", []).append({"from": title, "to": self.redirects[title]})
                title = self.redirects[title]
            titles.append(title)
        pages = [self._page(title, parameters["prop"]) for title in dict.fromkeys(titles)]
        first = int(parameters.get("excontinue", 0))
        query["pages"] = [
            page if first <= number < first + self.parts else {k: v for k, v in page.items() if k != "revisions"}
            for number, page in enumerate(pages)
        ]
        more = {"excontinue": str(first + self.parts), "continue": "||"} if first + self.parts < len(pages) else None
        return {"query": query, **({"continue": more} if more else {"batchcomplete": True})}

    def _page(self, title: str, prop: str) -> dict[str, Any]:
        if "[" in title:
            return {"title": title, "invalid": True, "invalidreason": 'It holds "[".'}
        page = self.pages.get(title)
        if page is None:
            return {"ns": 0, "title": title, "missing": True}
        if prop == "extracts":
            return {"pageid": 7, "ns": 0, "title": title, "extract": page.text}
        return {
            "pageid": 7,
            "ns": 0,
            "title": title,
            "fullurl": f"https://en.wikipedia.org/wiki/{title.replace(' ', '_')}",
            "revisions": [{"revid": page.revision, "parentid": 0, "timestamp": "2026-01-02T03:04:05Z"}],
            **({"pageprops": {"disambiguation": ""}} if page.disambiguation else {}),
        }


@contextmanager
def serving() -> Iterator[FakeWiki]:
    """Run a wiki until the block ends."""
    wiki = FakeWiki()

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            reply = wiki.reply(dict(parse_qsl(urlsplit(self.path).query)), dict(self.headers))
            data = (reply.body if isinstance(reply.body, str) else json.dumps(reply.body)).encode()
            self.respond(data, reply.status, reply.headers)

    with running(Handler) as wiki.port:
        yield wiki
