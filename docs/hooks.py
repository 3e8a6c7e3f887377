"""Pages of the site that are made when it is built: the notebooks, `llms.txt` and `llms-full.txt`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
NOTEBOOKS = ROOT / "examples" / "notebooks"
_FIRST = ("guides/from-", "choose.md", "installation.md", "evaluation.md")
_RESULTS = ("cuts.md", "quality.md", "reader-comparison.md", "seed-tables.md", "replaces.md", "report.md", "scaling.md")
# Pages that name everything, and would come first for any word.
_LISTS = ("reference/", "applications/", "notebooks/", "glossary.md", "architecture.md", "datasets.md", *_RESULTS)


def on_files(files: Any, config: Any) -> Any:
    """Add a page for each notebook (called by MkDocs)."""
    from mkdocs.structure.files import File

    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=notebook_page(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> None:
    """Rank pages for newcomers first in the site's search, and lists of names last (called by MkDocs)."""
    del markdown
    path = page.file.src_uri
    page.meta["search"] = {"boost": 0.1 if path.startswith(_LISTS) else 3 if path.startswith(_FIRST) else 1}


def on_post_build(config: Any) -> None:
    """Write `llms.txt` and `llms-full.txt` into the site (called by MkDocs)."""
    site = Path(config["site_dir"])
    (site / "llms.txt").write_text(llms_txt(config), encoding="utf-8")
    (site / "llms-full.txt").write_text(llms_full_txt(config), encoding="utf-8")


def notebook_page(path: Path) -> str:
    """Return a notebook as Markdown, with its outputs and a link to the file."""
    import nbformat
    from nbconvert import MarkdownExporter

    notebook = nbformat.read(path, as_version=4)
    # For the colours of its code; the file doesn't name the version that last ran it.
    notebook.metadata["language_info"] = {"name": "python"}
    text, _ = MarkdownExporter().from_notebook_node(notebook)
    title, rest = re.sub(r"\n\s*\n\s*\n\s*\n", "\n\n", text.lstrip()).split("\n", 1)
    link = f"https://github.com/kinsplit/kinsplit/blob/main/{path.relative_to(ROOT).as_posix()}"
    return f"{title}\n\n[Download this notebook]({link}).\n{rest}"


def llms_txt(config: Mapping[str, Any]) -> str:
    """Return an index of all pages for language models (https://llmstxt.org), in the order of the navigation.

    Args:
        config: The settings of `mkdocs.yml`.
    """
    parts = [f"# {config['site_name']}\n\n> {config['site_description']}\n"]
    for section in config["nav"]:
        ((name, entries),) = section.items()
        parts.append(f"\n## {name}\n\n")
        for title, path in pages(entries):
            text = source(path)
            url = config["site_url"] + re.sub(r"(index)?\.md$", "", path)
            parts.append(f"- [{title or heading(text)}]({url}{'' if url.endswith('/') else '/'}): {summary(text)}\n")
    return "".join(parts)


def llms_full_txt(config: Mapping[str, Any]) -> str:
    """Return the text of all pages, in the order of the navigation, without what readers don't see."""
    texts = (source(path) for section in config["nav"] for entries in section.values() for _, path in pages(entries))
    return "\n\n".join(re.sub(r"<!--.*?-->\n*", "", text, flags=re.DOTALL).strip() for text in texts) + "\n"


def pages(entries: Sequence[str | Mapping[str, Any]]) -> Iterator[tuple[str | None, str]]:
    """Yield the title, if the navigation has one, and the path of each page."""
    for entry in entries:
        if isinstance(entry, str):
            yield None, entry
        else:
            yield from entry.items()


def source(path: str) -> str:
    """Return the Markdown of a page."""
    folder, _, name = path.rpartition("/")
    if folder == "notebooks":
        return notebook_page(NOTEBOOKS / f"{Path(name).stem}.ipynb")
    return (ROOT / "docs" / path).read_text(encoding="utf-8")


def heading(text: str) -> str:
    """Return the first heading of a page."""
    return re.findall(r"^# (.+)$", text, re.MULTILINE)[0].replace("`", "")


def summary(text: str) -> str:
    """Return the first sentence of a page's prose, without links."""
    prose = re.sub(r"<!--.*?-->|```.*?```|^\[Download.*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    paragraphs = (" ".join(part.split()) for part in prose.split("\n\n"))
    first = next((part for part in paragraphs if part and part[0] not in "#|:<-"), "Reference of the public names.")
    return re.split(r"(?<=[.:?])\s", re.sub(r"\[(.+?)\]\(.+?\)", r"\1", first))[0].rstrip(":")
