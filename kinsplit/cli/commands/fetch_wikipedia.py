"""`kinsplit fetch-wikipedia`: download articles of Wikipedia."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kinsplit.cli.command import exit_code
from kinsplit.cli.output.terminal import Terminal
from kinsplit.support.extras import needs

if TYPE_CHECKING:
    from kinsplit.wikipedia import Fetched


def fetch_wikipedia(
    titles: list[str],
    output: Path = Path("wikipedia"),
    language: str = "en",
    contact: str | None = None,
    api: str | None = None,
    *,
    terminal: Terminal,
) -> None:
    """Download articles of Wikipedia as Markdown files for indexing; unchanged articles are not downloaded again.

    Args:
        titles (TITLE...): Titles of the articles.
        output (DIR): Folder for the files.
        language (CODE): Language of the Wikipedia, such as en or de.
        contact (ADDRESS): Contact address, which Wikipedia's operators ask clients to send. Default: KINSPLIT_CONTACT.
        api (URL): URL of another wiki's api.php.
    """
    with needs("web"):
        from kinsplit.wikipedia import Api, fetch
    from kinsplit.support.environment import read

    def show(one: Fetched) -> None:
        if one.problem is not None:
            terminal.warning(f"{one.article.requested}: {one.problem}")
        elif not terminal.as_json and one.path is not None:
            way = f"  (for {one.article.requested})" if one.article.requested != one.article.title else ""
            terminal.line(f"{one.path}  {one.state.capitalize()}, revision {one.article.revision}{way}")

    with Api(language, contact or read("KINSPLIT_CONTACT"), api) as wiki:
        done = fetch(wiki, titles, output, show)
    terminal.outcome({"articles": [_to_dict(one) for one in done]})
    failed = sum(one.state == "failed" for one in done)
    raise typer.Exit(exit_code(failed=failed, done=len(done) - failed))


def _to_dict(one: Fetched) -> dict[str, Any]:
    path = None if one.path is None else str(one.path)
    return {**asdict(one.article), "path": path, "state": one.state, "problem": one.problem}
