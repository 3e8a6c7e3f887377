"""The page: its content, its safety, and equal output for equal results."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from kinsplit.errors import InvalidParameterError, MissingExtraError
from kinsplit.evaluation.labels import RetrievedChunk, SourceText
from kinsplit.evaluation.report import write_report
from kinsplit.evaluation.results import Results
from tests.cli.conftest import environment
from tests.evaluation.hostile import ATTACKS
from tests.evaluation.made_results import HEADLINE, results
from tests.evaluation.report.conftest import MADE

_VOID = {"wbr", "meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """Parser of a page's elements and texts, which requires elements to be closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.html = html
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.texts.setdefault(tag, []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self, tag: str = "body") -> str:
        return "".join(self.texts.get(tag, []))


@cache
def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def write(found: Results, folder: Path) -> Page:
    """Return the page of results without the plots of chunks, which take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("draw_lengths", "draw_documents"):
            patch.setattr(f"kinsplit.evaluation.report.charts.{name}", lambda *_: None)
        return read(write_report(found, folder / "report.html")[0])


@pytest.fixture
def page(page_of: Callable[[str], Path]) -> Page:
    """Return the page of four strategies."""
    return read(page_of("four strategies"))


def test_the_page_and_the_notebooks_plots_are_written(page_of: Callable[[str], Path]) -> None:
    page = page_of("four strategies")
    plots = [page.parent / name for name in ("chunk_distributions.png", "chunks_per_doc.png")]

    assert sorted(page.parent.iterdir()) == sorted([page, *plots])
    assert all(path.read_bytes().startswith(b"\x89PNG\r\n") for path in plots)


def test_the_page_says_what_was_found(page: Page) -> None:
    made = results()
    text = " ".join(page.text().split())

    assert "structure finds more than sentence: recall@1000t +6.0 points [2.9, 9.1], p = 0.004" in text
    assert made.warnings[0] in text
    for told in ("66.8", "[62.8, 70.8]", "-5.0 points", "may be chance", "679.37", "kinsplit 0.1.0", "hash"):
        assert told in text, told
    for strategy in made.strategies:
        assert strategy.spec in text
        assert set(strategy.measures) <= set(re.findall(r"[\w@]+", text))


def test_the_headline_comes_first_and_the_other_measures_are_behind_it(page_of: Callable[[str], Path]) -> None:
    html = page_of("four strategies").read_text(encoding="utf-8")
    first, *others = re.findall(r"<table.*?</table>", html, re.DOTALL)
    heads = [re.sub("<[^>]*>", "", head).split() for head in re.findall('<th scope="col">.*?</th>', first, re.DOTALL)]

    assert heads == [["Strategy"], ["recall@1000t", "%,", "higher", "is", "better"], ["chunks"]]
    assert "nDCG" not in first
    assert "nDCG" in others[0]
    assert html.index('<details id="all-measures">') < html.index(others[0]) < html.index("</details>")


def test_the_page_says_what_the_statistics_say(page: Page) -> None:
    assert "Meaning of the statistics" in page.text()
    assert "Share of chunks that cut a word" in page.text()
    assert "1.2" in page.text()


def test_it_can_be_read_without_eyes_mouse_or_script(page: Page) -> None:
    assert page.all("html") == [{"lang": "en"}]
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert len(page.all("caption")) == len(page.all("table")) > 2
    assert all(head.get("scope") in ("col", "row") for head in page.all("th"))
    pictures = [each for each in page.all("div") if each.get("role") == "img"]
    assert len(pictures) == len(page.all("svg")) == 4
    assert all(len(each["aria-label"] or "") > 30 for each in pictures)
    assert all(each.get("aria-hidden") == "true" for each in page.all("svg"))
    scrolling = [each for each in page.all("div") if each.get("class") == "scroll"]
    assert all(each["tabindex"] == "0" and each["aria-label"] for each in scrolling)
    assert all(int(each.get("tabindex") or 0) <= 0 for _, each in page.elements)
    assert page.all("button") == [], "sorting is added by the script, so that no button is dead without it"


def test_ids_are_unique_and_all_that_is_referred_to_is_there(page: Page) -> None:
    ids = Counter(each["id"] for _, each in page.elements if "id" in each)
    used = {value[1:] for _, each in page.elements for name, value in each.items() if "href" in name and value}
    used |= {each["aria-labelledby"] or "" for _, each in page.elements if "aria-labelledby" in each}

    assert [name for name, count in ids.items() if count > 1] == []
    assert used <= set(ids)


@pytest.mark.parametrize("name", ["four strategies", "hostile"])
def test_it_asks_nothing_of_the_network_and_runs_only_its_own_script(page_of: Callable[[str], Path], name: str) -> None:
    page = read(page_of(name))
    html = page.html

    assert len(page.all("script")) == len(page.all("style")) - html.count("<defs>\n  <style") == 1
    assert page.all("img") == page.all("link") == page.all("iframe") == []
    names = {name for _, each in page.elements for name in each}
    assert not {name for name in names if name.startswith("on") or name in ("src", "srcset")}
    assert all(
        value.startswith("#") for _, each in page.elements for name, value in each.items() if "href" in name and value
    )
    (policy,) = (each for each in page.all("meta") if "http-equiv" in each)
    assert "default-src 'none'" in (policy["content"] or "")
    assert "@import" not in html
    assert re.findall(r"url\((?!#)", html) == []


def test_hostile_text_is_shown_as_text(page_of: Callable[[str], Path]) -> None:
    page = read(page_of("hostile"))
    text, html = page.text(), page.html.encode()

    for attack in ATTACKS[:4]:
        assert attack in text
    assert b"\x00" not in html
    assert b"\x1b" not in html
    assert "evil\u2066\ufffd\ufffd[31m" in text


def test_marks_are_the_labelled_characters(tmp_path: Path) -> None:
    made = results(2, questions=1)
    source = "Before. The answer. After. The answer."
    passage = SourceText(source_id="d", spans=[(8, 19)], text=source[8:19])
    question = made.questions[0].model_copy(update={"labels": [[passage]]})
    hits = [[RetrievedChunk(source_id="d", spans=[(0, 38)], text=source, score=1)], []]
    rows = [
        row.model_copy(update={"hits": found, "measures": {HEADLINE: value}})
        for row, found, value in zip(made.results, hits, (1.0, 0.0), strict=True)
    ]
    page = write(made.model_copy(update={"questions": [question], "results": rows}), tmp_path)

    assert page.texts["mark"] == ["marked", "The answer."]
    assert "Nothing was retrieved." in page.text()
    assert "Lost: 1" in page.text()


def test_the_questions_of_the_best_strategy_come_first(tmp_path: Path) -> None:
    page = write(results(strategies=5), tmp_path)
    headings = page.texts["h3"]

    assert headings.index("structure") < headings.index("semantic") < headings.index("token 512")


def test_long_texts_are_shortened_but_never_their_marks(tmp_path: Path) -> None:
    made = results(2, questions=1)
    text = "x" * 5000 + "y" * 2000 + "z" * 5000
    question = made.questions[0].model_copy(
        update={"labels": [[SourceText(source_id="d", spans=[(5000, 7000)], text="y" * 2000)]]}
    )
    hit = RetrievedChunk(source_id="d", spans=[(0, 12000)], text=text, score=1)
    rows = [
        row.model_copy(update={"hits": [hit], "measures": {HEADLINE: value}})
        for row, value in zip(made.results, (1.0, 0.0), strict=True)
    ]
    page = write(made.model_copy(update={"questions": [question], "results": rows}), tmp_path)

    assert "y" * 2000 in page.text("mark")
    assert "[…4,520 characters…]" in page.text()
    assert "x" * 500 not in page.text()


@pytest.mark.parametrize(
    "made",
    [
        results(strategies=1, comparisons=[]),
        results(strategies=2, budgets=(1000,)),
        results(questions=0, documents=1),
        results(strategies=2, warnings=[], notes=[]),
    ],
    ids=["one strategy", "one budget", "no question", "no warning"],
)
def test_sections_without_anything_are_left_out(tmp_path: Path, made: Results) -> None:
    page = write(made, tmp_path)
    text = page.text()

    assert ("Recall and budget" in text) == (len([n for n in made.strategies[0].measures if n.endswith("t")]) > 1)
    assert ("Questions won and lost" in text) == (len(made.strategies) > 1 and len(made.questions) > 0)
    assert ("Before you rely" in text) == bool(made.warnings)
    assert ("Meaning of the measures" in text) == bool(made.notes)
    assert ("Comparison with" in text) == bool(made.comparisons)


def test_nothing_measured_is_a_page_too(tmp_path: Path) -> None:
    made = results(2, comparisons=[], results=[])
    bare = [s.model_copy(update={"measures": {}, "lengths": [], "chunks_per_document": {}}) for s in made.strategies]
    page = write(made.model_copy(update={"strategies": bare}), tmp_path)

    assert "recall@1000t doesn't apply to any of these questions" in page.text()
    assert "No measure applies to the questions." in page.text()


def test_equal_results_give_equal_files_in_another_process_too(page_of: Callable[[str], Path], tmp_path: Path) -> None:
    here = page_of("four strategies").parent
    MADE["four strategies"]().write(tmp_path / "r.json")
    code = (
        "import sys; from pathlib import Path; from kinsplit.evaluation.results import Results\n"
        "from kinsplit.evaluation.report import write_report\n"
        "write_report(Results.read(Path(sys.argv[1])), Path(sys.argv[2]))"
    )
    there = tmp_path / "b" / "report.html"
    command = [sys.executable, "-c", code, str(tmp_path / "r.json"), str(there)]
    subprocess.run(command, check=True, env=environment(PYTHONHASHSEED="7"), cwd=Path(__file__).parents[3])

    for name in ("report.html", "chunk_distributions.png", "chunks_per_doc.png"):
        assert (there.parent / name).read_bytes() == (here / name).read_bytes()


def test_without_a_strategy_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="must hold a strategy"):
        write_report(results(strategies=0, comparisons=[]), tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_a_missing_package_names_the_extra(tmp_path: Path, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("kinsplit.evaluation.report.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(MissingExtraError, match=rf'{package} is not installed. Run: pip install "kinsplit\[evaluation'):
        write_report(results(), tmp_path / "report.html")
