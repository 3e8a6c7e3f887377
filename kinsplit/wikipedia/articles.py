"""What a wiki says of its pages, and an article as a Markdown file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from kinsplit.errors import FetchError
from kinsplit.wikipedia.api import Api

LICENCE = "CC BY-SA 4.0"
#: Titles that may be asked for at once.
_TOGETHER = 50
_HEADING = re.compile(r"(={2,6})(.*)\1")
_REVISION = re.compile(r"^revision: (\d+)$", re.MULTILINE)
_FORBIDDEN = re.compile(r'^\.+|[\\/:*?"<>|\x00-\x1f\x7f]')
_LONGEST_NAME = 200  # bytes
_DEEPER_THAN_ANY = 7


@dataclass(frozen=True, slots=True)
class Article:
    """A page of a wiki as it is now.

    Attributes:
        asked: The title that was asked for.
        title: Its own title, to which the other may redirect.
        url: Where people read it.
        revision: Number of its last revision.
        revised: When that was made, in ISO 8601.
        problem: Why it can't be fetched; None where it can.
    """

    asked: str
    title: str
    url: str = ""
    revision: int = 0
    revised: str = ""
    problem: str | None = None

    @property
    def file_name(self) -> str:
        """The name of its file: its title as in its address, without what file systems refuse."""
        name = _FORBIDDEN.sub("_", self.title.replace(" ", "_"))
        return name.encode()[:_LONGEST_NAME].decode(errors="ignore") + ".md"

    def is_in(self, text: str) -> bool:
        """Return whether a file holds this revision of the article."""
        found = _REVISION.search(text[:2000])
        return found is not None and int(found[1]) == self.revision and f"url: {json.dumps(self.url)}" in text[:2000]


def look_up(api: Api, titles: Sequence[str]) -> list[Article]:
    """Return what a wiki has under some titles, following redirects; 50 titles cost one request.

    Raises:
        FetchError: The wiki can't be asked.
    """
    unique = list(dict.fromkeys(titles))
    return [
        article
        for first in range(0, len(unique), _TOGETHER)
        for article in _look_up(api, unique[first : first + _TOGETHER])
    ]


def _look_up(api: Api, titles: Sequence[str]) -> Iterator[Article]:
    told = api.query(
        {
            "titles": "|".join(titles),
            "redirects": "1",
            "prop": "info|pageprops|revisions",
            "inprop": "url",
            "ppprop": "disambiguation",
            "rvprop": "ids|timestamp",
        }
    )
    leads = {_from(step): step["to"] for kind in ("normalized", "redirects") for step in told.get(kind, [])}
    pages = {page["title"]: page for page in told["pages"]}
    for asked in titles:
        title, steps = asked, 0
        while title in leads and steps < len(leads):
            title, steps = leads[title], steps + 1
        yield _article(asked, title, pages.get(title))


def _from(step: dict[str, Any]) -> str:
    """Return a title as it was asked for; one whose accents stand apart comes back as in an address."""
    return unquote(step["from"]) if step.get("fromencoded") else str(step["from"])


def _article(asked: str, title: str, page: dict[str, Any] | None) -> Article:
    if page is None or page.get("missing"):
        return Article(asked, title, problem="There is no such page. Check the spelling and the language.")
    if page.get("invalid"):
        return Article(asked, title, problem=f"That is no title: {page.get('invalidreason', 'it is not valid')}")
    url = str(page.get("fullurl", ""))
    if "disambiguation" in page.get("pageprops", {}):
        return Article(asked, title, url, problem=f"It may mean several pages. Choose one of those listed at {url}")
    last = (page.get("revisions") or [{}])[0]
    return Article(asked, title, url, int(last.get("revid", 0)), str(last.get("timestamp", "")))


def markdown(api: Api, article: Article) -> str:
    """Return an article's text as Markdown, with front matter that says where it is from.

    Sections stay headings; those without text, such as lists of links, are left out. Tables, pictures and references
    are not part of what the wiki gives out as text.

    Raises:
        FetchError: The wiki can't be asked, or gives no text.
    """
    told = api.query(
        {"titles": article.title, "prop": "extracts", "explaintext": "1", "exsectionformat": "wiki", "exlimit": "1"}
    )
    extract = next((page.get("extract") for page in told["pages"]), None)
    if not isinstance(extract, str) or not extract.strip():
        raise FetchError(f"{article.url} holds no text.")
    matter = {
        "title": json.dumps(article.title, ensure_ascii=False),
        "url": json.dumps(article.url),
        "revision": article.revision,
        "revised": article.revised,
        "licence": LICENCE,
    }
    head = "\n".join(["---", *(f"{key}: {value}" for key, value in matter.items()), "---"])
    return "\n\n".join([head, f"# {article.title}", *_with_text(list(_blocks(extract)))]) + "\n"


def _blocks(extract: str) -> Iterator[tuple[int, str]]:
    """Yield headings with their depth, and paragraphs with 0; in the extract every line is one."""
    for line in extract.splitlines():
        text = line.strip()
        if heading := _HEADING.fullmatch(text):
            yield len(heading[1]), f"{'#' * len(heading[1])} {heading[2].strip()}"
        elif text:
            yield 0, text


def _with_text(blocks: Sequence[tuple[int, str]]) -> list[str]:
    """Return the blocks without headings below which nothing stands."""
    kept: list[str] = []
    below = 0  # depth of what was kept last, to which only a higher heading can belong; text belongs to any
    for depth, text in reversed(blocks):
        if depth == 0 or depth < below:
            kept.append(text)
            below = depth or _DEEPER_THAN_ANY
    return kept[::-1]
