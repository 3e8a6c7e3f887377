"""Articles of a wiki as Markdown files, fetched only where a file lacks the last revision.

The client of MediaWiki's API follows its etiquette: one request at a time, with a name, and with pauses.
Source: https://www.mediawiki.org/wiki/API:Etiquette
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import unquote

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt

import kinsplit
from kinsplit.errors import FetchError, require
from kinsplit.support.environment import redact_url
from kinsplit.support.http import PACKING, RequestLimits, ResponseTooLongError, certificates

ATTEMPTS = 5
#: Seconds before the second try; doubled before each further one, unless the server says how long to wait.
PAUSE = 1.0
#: Longest pause in seconds that a server may request.
LONGEST_PAUSE = 120.0
#: Maximum size of an answer in bytes, several times the longest article, and its maximum time in seconds.
LONGEST, SECONDS = 8 << 20, 120.0
#: Maximum number of parts of an answer: twice the maximum number of titles in a request.
MOST_PARTS = 100
_TIMEOUT = 30.0
# Seconds by which Wikipedia's databases may lag behind before requests pause; the etiquette's own value.
_MAX_LAG = 5
_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
_BUSY = frozenset({"maxlag", "ratelimited", "readonly"})
_LANGUAGE = re.compile(r"[a-z]{2,}(-[a-z]+)*")


class _BusyError(FetchError):
    """A failure that may pass, and the pause in seconds that the server requests."""

    def __init__(self, message: str, pause: float | None = None) -> None:
        super().__init__(message)
        self.pause = pause


class Api:
    """The API of one wiki.

    Args:
        language: Language code of the Wikipedia, such as "en" or "de".
        contact: E-mail address or page by which the wiki's operators can reach you.
        url: URL of another wiki's `api.php`.

    Raises:
        InvalidParameterError: The language is not a language code, or the contact can't be sent.
    """

    def __init__(self, language: str = "en", contact: str | None = None, url: str | None = None) -> None:
        is_code = _LANGUAGE.fullmatch(language)
        require(is_code, "language", "must be a code such as en or de", language, "Give the code.")
        self.url = url or f"https://{language}.wikipedia.org/w/api.php"
        self._shown = redact_url(self.url)
        sendable = not contact or (contact.isascii() and contact.isprintable())
        require(sendable, "contact", "must be printable ASCII", contact, "Give an address or a page.")
        who = f"kinsplit/{kinsplit.__version__} ({contact or 'no contact given'})"
        self._limits = RequestLimits(SECONDS, None, LONGEST)
        hooks: Any = {"request": [self._limits.begin], "response": [self._limits.limit]}
        options: Any = {"event_hooks": hooks, "timeout": _TIMEOUT, "verify": certificates(), "follow_redirects": True}
        self._client = httpx.Client(headers={**PACKING, "user-agent": who}, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def query(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Send a query and return the whole `query` of the answer, with the parts of its pages joined.

        Raises:
            FetchError: The wiki can't be reached, is busy for too long, or rejects the query.
        """
        busy = retry_if_exception_type(_BusyError)
        again = Retrying(retry=busy, stop=stop_after_attempt(ATTEMPTS), wait=_wait, reraise=True)
        request = {"action": "query", "format": "json", "formatversion": "2", "maxlag": str(_MAX_LAG), **parameters}
        found: dict[str, Any] = {}
        pages: dict[str, dict[str, Any]] = {}
        more: dict[str, str] = {}
        for _ in range(MOST_PARTS):
            answer = again(self._query, {**request, **more})
            try:
                part = answer.get("query") or {}
                found |= part
                for page in part.get("pages", []):
                    pages.setdefault(page["title"], {}).update(page)
            except (AttributeError, KeyError, TypeError, ValueError):
                raise FetchError(f"{self._shown}: its pages are not those of a wiki. Is it an api.php?") from None
            goes_on = answer.get("continue")
            if goes_on is None:
                return {**found, "pages": list(pages.values())}
            if goes_on == more:
                raise FetchError(f"{self._shown} goes round in circles: it continues with what it said before.")
            more = goes_on
        raise FetchError(f"{self._shown} has no end: {MOST_PARTS} parts of an answer came. Ask for fewer titles.")

    def _query(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        try:
            with self._limits.watched():
                response = self._client.get(self.url, params=dict(parameters))
        except ResponseTooLongError as error:
            raise FetchError(f"{self._shown} sent {error}. Is it a wiki's api.php?") from error
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise FetchError(f"{self._shown} is not a valid address: {str(error).rstrip('.')}.") from error
        except httpx.TooManyRedirects as error:
            raise FetchError(f"{self._shown} redirects without end.") from error
        except httpx.RequestError as error:
            reason = str(error) or type(error).__name__
            raise _BusyError(f"{self._shown} can't be reached: {reason}. Check the network.") from error
        value = response.headers.get("retry-after", "").strip()
        pause = float(value) if value.isdecimal() else None
        if response.status_code in _TRANSIENT:
            raise self._busy(f"status {response.status_code}", pause)
        if not response.is_success:
            raise FetchError(f"{self._shown} answered with status {response.status_code}.")
        try:
            answer = response.json()
        except (ValueError, RecursionError):
            rule = f"{self._shown} answered with something other than JSON"
            raise FetchError(f"{rule}. Is it a wiki's api.php?") from None
        problem = answer.get("error") if isinstance(answer, dict) else {"info": "its answer is not an object"}
        if problem:
            problem = problem if isinstance(problem, dict) else {"info": str(problem)}
            info = str(problem.get("info") or problem.get("code"))[:200]
            raise self._busy(info, pause) if problem.get("code") in _BUSY else FetchError(f"{self._shown}: {info}")
        return dict(answer)

    def _busy(self, reason: str, pause: float | None) -> FetchError:
        message = f"{self._shown} is busy: {reason.rstrip('.')}. Try again later."
        if pause is not None and pause > LONGEST_PAUSE:
            return FetchError(f"{message} It asks to wait for {pause:.0f} s.")
        return _BusyError(message, pause)


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    pause = error.pause if isinstance(error, _BusyError) else None
    return PAUSE * 2 ** (state.attempt_number - 1) if pause is None else pause


LICENCE = "CC BY-SA 4.0"
#: Maximum number of titles in a request.
_TOGETHER = 50
_HEADING = re.compile(r"(={2,6})(.*)\1")
_REVISION = re.compile(r"^revision: (\d+)$", re.MULTILINE)
_FORBIDDEN = re.compile(r'^\.+|[\\/:*?"<>|\x00-\x1f\x7f]')
_LONGEST_NAME = 200  # bytes
_DEEPER_THAN_ANY = 7


@dataclass(frozen=True, slots=True)
class Article:
    """The current state of a page.

    Attributes:
        requested: Requested title.
        title: Title of the page, to which the requested one may redirect.
        url: Address of the page for readers.
        revision: Number of the last revision.
        revised: Time of the last revision, in ISO 8601.
        problem: Reason why it can't be fetched; None if it can.
    """

    requested: str
    title: str
    url: str = ""
    revision: int = 0
    revised: str = ""
    problem: str | None = None

    @property
    def file_name(self) -> str:
        """Name of the file: the title as in the address, without characters that file systems refuse."""
        name = _FORBIDDEN.sub("_", self.title.replace(" ", "_"))
        return name.encode()[:_LONGEST_NAME].decode(errors="ignore") + ".md"

    def is_in(self, text: str) -> bool:
        """Return whether a file holds this revision of the article."""
        found = _REVISION.search(text[:2000])
        return found is not None and int(found[1]) == self.revision and f"url: {json.dumps(self.url)}" in text[:2000]


def look_up(api: Api, titles: Sequence[str]) -> list[Article]:
    """Look up titles in a wiki, following redirects; 50 titles cost one request.

    Raises:
        FetchError: The wiki can't be queried.
    """
    unique = list(dict.fromkeys(titles))
    parts = (unique[first : first + _TOGETHER] for first in range(0, len(unique), _TOGETHER))
    return [article for part in parts for article in _look_up(api, part)]


def _look_up(api: Api, titles: Sequence[str]) -> Iterator[Article]:
    answer = api.query(
        {
            "titles": "|".join(titles),
            "redirects": "1",
            "prop": "info|pageprops|revisions",
            "inprop": "url",
            "ppprop": "disambiguation",
            "rvprop": "ids|timestamp",
        }
    )
    leads = {_from(step): step["to"] for kind in ("normalized", "redirects") for step in answer.get(kind, [])}
    pages = {page["title"]: page for page in answer["pages"]}
    for requested in titles:
        title, steps = requested, 0
        while title in leads and steps < len(leads):
            title, steps = leads[title], steps + 1
        yield _article(requested, title, pages.get(title))


def _from(step: dict[str, Any]) -> str:
    """Return a title as it was requested; one with combining accents comes back percent-encoded."""
    return unquote(step["from"]) if step.get("fromencoded") else str(step["from"])


def _article(requested: str, title: str, page: dict[str, Any] | None) -> Article:
    if page is None or page.get("missing"):
        return Article(requested, title, problem="There is no such page. Check the spelling and the language.")
    if page.get("invalid"):
        return Article(requested, title, problem=f"That is no title: {page.get('invalidreason', 'it is not valid')}")
    url = str(page.get("fullurl", ""))
    if "disambiguation" in page.get("pageprops", {}):
        return Article(requested, title, url, problem=f"It may mean several pages. Choose one of those listed at {url}")
    last = (page.get("revisions") or [{}])[0]
    return Article(requested, title, url, int(last.get("revid", 0)), str(last.get("timestamp", "")))


def markdown(api: Api, article: Article) -> str:
    """Return an article's text as Markdown, with its source in the front matter.

    Sections become headings; those without text, such as lists of links, are left out. A wiki's plain text contains no
    tables, pictures or references.

    Raises:
        FetchError: The wiki can't be queried, or gives no text.
    """
    answer = api.query(
        {"titles": article.title, "prop": "extracts", "explaintext": "1", "exsectionformat": "wiki", "exlimit": "1"}
    )
    extract = next((page.get("extract") for page in answer["pages"]), None)
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
    return "\n\n".join([head, f"# {article.title}", *_without_empty_sections(list(_blocks(extract)))]) + "\n"


def _blocks(extract: str) -> Iterator[tuple[int, str]]:
    """Yield headings with their depth, and paragraphs with 0; every line of the extract is one or the other."""
    for line in extract.splitlines():
        text = line.strip()
        if heading := _HEADING.fullmatch(text):
            yield len(heading[1]), f"{'#' * len(heading[1])} {heading[2].strip()}"
        elif text:
            yield 0, text


def _without_empty_sections(blocks: Sequence[tuple[int, str]]) -> list[str]:
    """Return the blocks without headings that have no text below them."""
    kept: list[str] = []
    below = 0  # depth of the last kept block, which only a higher heading can contain; any heading can contain text
    for depth, text in reversed(blocks):
        if depth == 0 or depth < below:
            kept.append(text)
            below = depth or _DEEPER_THAN_ANY
    return kept[::-1]


@dataclass(frozen=True, slots=True)
class Fetched:
    """The outcome for a title.

    Attributes:
        article: The page of that title.
        path: Path of its file; None if there is none.
        state: "new", "updated" or "unchanged"; "failed" if the page can't be fetched.
        problem: Reason of the failure.
    """

    article: Article
    path: Path | None
    state: Literal["new", "updated", "unchanged", "failed"]
    problem: str | None = None


def fetch(
    api: Api, titles: Sequence[str], output: Path, on_article: Callable[[Fetched], None] | None = None
) -> list[Fetched]:
    """Write articles as Markdown files.

    A file that already holds the last revision costs no request of its own: 50 titles are looked up at once.

    Args:
        api: The wiki.
        titles: Titles of articles; several that lead to one page give one file.
        output: The folder, which is created.
        on_article: Called with each outcome.

    Returns:
        The outcome for each title, in order.

    Raises:
        InvalidParameterError: A title is blank.
        FetchError: The wiki can't be queried. Files that were already written remain.
        OSError: The folder can't be written.
    """
    given = [title.strip() for title in titles]
    require(all(given), "titles", "must each name an article", list(titles), "Leave blank ones out.")
    articles = look_up(api, given)
    output.mkdir(parents=True, exist_ok=True)
    done: list[Fetched] = []
    owners: dict[str, str] = {}
    for article in articles:
        done.append(_fetch(api, article, output, owners))
        if on_article is not None:
            on_article(done[-1])
    return done


def _fetch(api: Api, article: Article, output: Path, owners: dict[str, str]) -> Fetched:
    if article.problem is not None:
        return Fetched(article, None, "failed", article.problem)
    path = output / article.file_name
    # Some file systems ignore case.
    owner = owners.setdefault(article.file_name.casefold(), article.title)
    if owner != article.title:
        return Fetched(article, None, "failed", f"Its file would be that of {owner!r}. Fetch it into another folder.")
    before = path.read_text(encoding="utf-8", errors="replace") if path.exists() else None
    if before is not None and article.is_in(before):
        return Fetched(article, path, "unchanged")
    try:
        text = markdown(api, article)
    except FetchError as error:
        return Fetched(article, None, "failed", str(error))
    # Under a hidden name first, so that nobody reads an incomplete file.
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8", newline="\n")
    part.replace(path)
    return Fetched(article, path, "new" if before is None else "updated")
