"""The documentation site's navigation and its index for language models; `make docs` builds all of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.snippets import ROOT, docs_module

yaml = pytest.importorskip("yaml")
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def hooks() -> Any:
    return docs_module("hooks")


def test_the_navigation_has_every_page_once(config: dict[str, Any], hooks: Any) -> None:
    listed = [path for section in config["nav"] for entries in section.values() for _, path in hooks.pages(entries)]
    written = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    notebooks = [f"notebooks/{path.stem}.md" for path in hooks.NOTEBOOKS.glob("*.ipynb")]
    assert sorted(listed) == sorted(written + notebooks)


def test_llms_txt_describes_every_page_under_its_address(config: dict[str, Any], hooks: Any) -> None:
    pytest.importorskip("nbconvert")
    lines = hooks.llms_txt(config).splitlines()
    rows = [re.fullmatch(r"- \[(.+?)\]\((.+?)\): (.+)", line) for line in lines if line.startswith("-")]
    found = {row[2]: (row[1], row[3]) for row in rows if row is not None}
    assert len(found) == len(rows) > 30
    assert lines[0] == "# kinsplit"
    base = config["site_url"]
    assert found[base][0] == "kinsplit"
    assert found[f"{base}searching/"] == (
        "Searching",
        "Find passages with `index.search(question)` or `kinsplit search`, and read here what each option changes",
    )
    assert found[f"{base}notebooks/tour/"][0] == "Ten minutes with kinsplit"
    assert not any("](" in text or text.startswith("<") for _, text in found.values())

    full = hooks.llms_full_txt(config)
    for path in DOCS.glob("*.md"):
        assert path.read_text(encoding="utf-8").splitlines()[0] in full
    assert "<!-- setup" not in full


def test_the_links_to_the_site_and_the_repository_lead_to_something(config: dict[str, Any]) -> None:
    """In README and docs, addresses of the project itself name pages, anchors and files that exist."""
    found = [
        (page.name, url)
        for page in [ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / "packages").rglob("*.md")]
        for url in re.findall(r"\((https://[^)\s]*kinsplit[^)\s]*)\)", page.read_text(encoding="utf-8"))
    ]
    assert [link for link in found if not leads_somewhere(link[1], config["site_url"])] == []
    assert len(found) > 5


def leads_somewhere(url: str, site: str) -> bool:
    address, _, anchor = url.partition("#")
    if address.startswith(site):
        name = address.removeprefix(site).rstrip("/") or "index"
        return any(has_anchor(path, anchor) for path in (DOCS / f"{name}.md", DOCS / name / "index.md")) or (
            name.startswith("notebooks/") and (ROOT / "examples" / f"{name}.ipynb").exists()
        )
    inside = re.fullmatch(r"https://github\.com/kinsplit/kinsplit/(?:blob|tree)/main/(.+)", address)
    return inside is None or (ROOT / inside[1]).exists()


def has_anchor(path: Path, anchor: str) -> bool:
    if not path.is_file():
        return False
    text = path.read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^\w\- ]", "", line).strip().lower().replace(" ", "-") for line in re.findall(r"^#+ (.+)$", text, re.M)
    }
    return not anchor or f'id="{anchor}"' in text or anchor in headings
