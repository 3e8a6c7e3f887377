"""Titles -> files: only what is not there in its last revision is fetched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kinsplit.errors import FetchError, InvalidParameterError
from kinsplit.wikipedia.api import Api
from kinsplit.wikipedia.articles import Article, look_up, markdown


@dataclass(frozen=True, slots=True)
class Fetched:
    """What became of a title.

    Attributes:
        article: The page that it leads to.
        path: Its file; None where there is none.
        state: "new", "updated" or "unchanged"; "failed" where the page can't be fetched.
        problem: Why it can't.
    """

    article: Article
    path: Path | None
    state: Literal["new", "updated", "unchanged", "failed"]
    problem: str | None = None


def fetch(
    api: Api, titles: Sequence[str], output: Path, on_article: Callable[[Fetched], None] | None = None
) -> list[Fetched]:
    """Write articles as Markdown files.

    A file that holds the last revision already costs no request of its own: 50 titles are looked up at once.

    Args:
        api: The wiki.
        titles: Of articles; several that lead to one page give one file.
        output: The folder, which is made.
        on_article: Told of each title as soon as it is done.

    Returns:
        What became of each title, in order.

    Raises:
        InvalidParameterError: A title is blank.
        FetchError: The wiki can't be asked. What was written before stays.
        OSError: The folder can't be written.
    """
    if not all(title.strip() for title in titles):
        raise InvalidParameterError("titles", "must each name an article", list(titles), "Leave blank ones out.")
    articles = look_up(api, [title.strip() for title in titles])
    output.mkdir(parents=True, exist_ok=True)
    done: list[Fetched] = []
    owners: dict[str, str] = {}
    for article in articles:
        done.append(_fetched(api, article, output, owners))
        if on_article is not None:
            on_article(done[-1])
    return done


def _fetched(api: Api, article: Article, output: Path, owners: dict[str, str]) -> Fetched:
    if article.problem is not None:
        return Fetched(article, None, "failed", article.problem)
    path = output / article.file_name
    # Some file systems don't tell upper case from lower.
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
    # Under a hidden name first, so that nobody reads half of it.
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8", newline="\n")
    part.replace(path)
    return Fetched(article, path, "new" if before is None else "updated")
