from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from kinsplit import Index
from kinsplit.cli.output.passages import QueryWords, excerpt
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.retrieval import RerankWarning
from kinsplit.retrieval.rankings import names
from tests.cli.conftest import Cli

HASH = ("--embedder", "hash")


@pytest.fixture
def indexed(cli: Cli, course_index_with_pdf: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(course_index_with_pdf)
    return cli


def test_a_result_looks_as_the_course_search_showed_it(indexed: Cli) -> None:
    result = indexed("search", "merge sort", *HASH, "--top-k", "1")

    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0].startswith("[Result 1] (score ")
    assert lines[1] == "File: course/cs/sorting.md"
    assert lines[2].startswith("Chunk: ")
    assert "In: cs > Sorting > Merge sort" in lines
    assert lines[-1].startswith("    Merge")


def test_every_ranking_can_be_named(indexed: Cli) -> None:
    stages = {"kin": "kin", "hybrid": "hybrid", "dense": "dense", "terms": "bm25"}
    shown = " ".join(indexed("search", "--help").stdout.split())
    for ranking in names():
        result = indexed("search", "merge sort", *HASH, "--top-k", "1", "--ranking", ranking, "--json")
        (passage,) = json.loads(result.stdout)["passages"]
        assert passage["score"] == passage["scores"][stages[ranking]]
        assert ranking in shown
    refused = indexed("search", "merge sort", *HASH, "--ranking", "rrf")
    assert (refused.exit_code, "'rrf' is not one of" in refused.stderr) == (2, True)


def test_a_preview_ends_with_its_text(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A loop repeats." + "\n" * 12 + "And again it loops.")
    cli("index", "a.txt", *HASH)

    assert not cli("search", "loop", *HASH).stdout.endswith("\n\n")


def test_pages_and_documents_are_shown_where_they_are_known(indexed: Cli) -> None:
    alone = *HASH, "--top-k", "1", "--window", "0", "--candidates", "1"
    tree = indexed("search", "leaf children", *alone).stdout.splitlines()
    alice = indexed("search", "2 rabbits", *alone).stdout.splitlines()

    assert "File: course/cs/trees.pdf" in tree
    assert "In: cs > trees.pdf, p. 2" in tree
    assert "Chunk: 2/2" in tree
    assert alice[1:3] == ["File: course/math/alice.jsonl", "Document: alice:ch02"]


def test_the_passage_around_a_hit_is_told(indexed: Cli) -> None:
    lines = indexed("search", "leaf children", *HASH, "--top-k", "1").stdout.splitlines()

    assert "Chunk: 2/2 (passage 1-2)" in lines
    assert "In: cs > trees.pdf, p. 1-2" in lines


def test_json_holds_whole_passages(indexed: Cli) -> None:
    found = json.loads(indexed("search", "while loop", *HASH, "--top-k", "2", "--json").stdout)

    first = found["passages"][0]
    text = Path("course/cs/loops.txt").read_text()
    assert found["query"] == "while loop"
    assert [passage["rank"] for passage in found["passages"]] == [1, 2]
    assert first["source_id"] == "course/cs/loops.txt"
    assert first["text"] == text[first["start"] : first["end"]]
    assert first["score"] == first["hits"][0]["score"]
    assert {"dense", "bm25", "siblings", "parent", "document", "best_chunk", "kin"} == set(first["hits"][0]["scores"])
    assert first["metadata"]["group_id"] == "loops"
    assert set(first) == {
        *(
            "rank",
            "score",
            "source_id",
            "start",
            "end",
            "spans",
            "pages",
            "times",
            "context",
            "beside",
            "text",
            "chunks",
            "hits",
            "metadata",
        ),
        *("scores", "related", "location"),
    }


def test_where_filters_by_strings_and_by_integers(indexed: Cli) -> None:
    def sources(*conditions: str) -> set[str]:
        options = [f"--where={condition}" for condition in conditions]
        found = json.loads(indexed("search", "a", *HASH, "--top-k", "9", "--json", *options).stdout)
        return {passage["source_id"] for passage in found["passages"]}

    assert sources("file_type=pdf") == {"course/cs/trees.pdf"}
    assert sources("group_id=trees", "group_id=loops") == {"course/cs/trees.pdf", "course/cs/loops.txt"}
    assert sources(f"group_id={2**63}", f"group_id={'9' * 5000}", "group_id=loops") == {"course/cs/loops.txt"}
    assert sources("page_start=2") == {"course/cs/trees.pdf"}
    assert sources("file_type=pdf", "group_id=loops") == set()
    assert sources("page_start>=2") == sources("page_start>1", "page_start<=2.5") == {"course/cs/trees.pdf"}
    assert sources("page_start<1") == set()
    everything = sources()
    assert sources("group_id!=loops", "group_id!=trees") == everything - {"course/cs/trees.pdf", "course/cs/loops.txt"}
    assert sources("file_type!=pdf", "group_id=loops", "group_id=trees") == {"course/cs/loops.txt"}


def test_a_budget_limits_the_tokens_of_all_passages(indexed: Cli) -> None:
    assert indexed("search", "x", *HASH, "--budget", "1", "--where", "a=b").stdout == "Nothing found.\n"
    (passage,) = json.loads(indexed("search", "loop", *HASH, "--budget", "1", "--json").stdout)["passages"]
    assert len(passage["text"].split()) == 1
    more = json.loads(indexed("search", "loop", *HASH, "--budget", "900", "--context-share", "0.5", "--json").stdout)
    assert len(more["passages"]) > 3


@pytest.mark.parametrize("more", [["--parents"], ["--full", "--window", "9"]])
def test_whole_parents_and_passages_are_shown_on_request(cli: Cli, folder: Path, more: list[str]) -> None:
    sentences = [f"Item {number} of the heap is compared." for number in range(20)]
    (folder / "heap.txt").write_text(" ".join(sentences))
    cli("index", folder / "heap.txt", *HASH, "--strategy", "sentence", "--set", "chunk_size=20", "--set", "unit=word")

    part = cli("search", "heap item", *HASH, "--top-k", "1").stdout
    whole = cli("search", "heap item", *HASH, "--top-k", "1", *more).stdout

    assert sum(sentence in " ".join(part.split()) for sentence in sentences) < 5
    assert all(sentence in " ".join(whole.split()) for sentence in sentences)


def test_only_a_rerankers_warnings_are_the_commands_own(indexed: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    search = Index.search

    def warning(self: Index, query: str, **options: Any) -> Any:
        warnings.warn("down", RerankWarning, stacklevel=1)
        warnings.warn("odd", UserWarning, stacklevel=1)
        return search(self, query, **options)

    monkeypatch.setattr(Index, "search", warning)
    with pytest.warns(UserWarning, match="odd") as others:
        result = indexed("search", "loop", *HASH)

    assert result.stderr == "Warning: down\n"
    assert [str(other.message) for other in others] == ["odd"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([" "], "query: must not be blank"),
        (["x", "--top-k", "0"], "top_k: must be at least 1 (got 0)"),
        (["x", "--candidates", "0"], "candidates: must be at least 1"),
        (["x", "--window", "-1"], "window: must be at least 0"),
        (["x", "--budget", "0"], "budget: must be at least 1"),
        (["x", "--where", "year>=new"], "--where: needs a number or a date after year>= (got 'new')"),
        (["x", "--where", "year>nan"], "where['year']: must be a finite number (got nan)"),
        (["x", "--where", "year>1", "--where", "year>2"], "--where: can't give year> twice (got '2')"),
        (["x", "--where", "=2"], "--where: must be key=value"),
        (["x", "--where", "pdf"], "--where: must be key=value, or have !=, <, <=, > or >= (got 'pdf')"),
        (["x", "--collection", "none"], "There is no collection 'none'"),
        (["x", "--store", "edge:elsewhere"], "There is no collection 'default' in elsewhere"),
        (["x", "--embedder", "hash:32"], "was made with another model or strategy"),
    ],
)
def test_a_wrong_argument_is_one_line_and_makes_nothing(indexed: Cli, arguments: list[str], message: str) -> None:
    result = indexed("search", *HASH, *arguments)

    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert [path.name for path in Path("kinsplit-data").glob("[!.]*")] == ["default"]
    assert not Path("elsewhere").exists()


def test_query_words_are_found_by_stem_and_stop_words_are_not() -> None:
    text = "Sorting the lists: a sorted list is what one sorts for."

    found = [
        text[place.start : place.end] for place in QueryWords("what does sort the list?", Bm25Embedder()).find(text)
    ]

    assert found == ["Sorting", "lists", "sorted", "list", "sorts"]


def test_words_are_those_of_the_language_that_the_collection_was_made_with(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "haus.txt").write_text("Die alten Häuser stehen am Markt. Of the two, one is new.", encoding="utf-8")
    assert cli("index", "haus.txt", *HASH, "--language", "german").exit_code == 0
    assert cli("index", "haus.txt", *HASH).exit_code == 0
    sparse = "bm25:german:256:forms+parts+acronyms+grams+names+short"
    assert json.loads(cli("info", "--json").stdout)["schema"]["sparse"] == sparse

    (passage,) = json.loads(cli("search", "eines Hauses", *HASH, "--json").stdout)["passages"]
    assert passage["scores"]["bm25"] > 0
    other = cli("index", "haus.txt", *HASH, "--language", "english")
    assert (other.exit_code, f"sparse is {sparse!r} there" in other.stderr) == (2, True)
    unknown = cli("index", "haus.txt", *HASH, "--language", "elvish")
    assert (unknown.exit_code, "must name a known language" in unknown.stderr) == (2, True)
    german = Bm25Embedder("german")
    text = "Die alten Häuser"
    assert [text[p.start : p.end] for p in QueryWords("die Lage eines Hauses", german).find(text)] == ["Häuser"]


def test_an_excerpt_is_the_part_with_most_of_the_query_and_highlights_it() -> None:
    filler = "Nothing of interest is said here, and at length. " * 20
    text = f"{filler}\n\nA heap keeps the smallest item on top. {filler}"

    found = excerpt(text, QueryWords("smallest item of a heap", Bm25Embedder()), 80)

    assert found.plain.startswith("… A heap keeps the smallest item on top.")
    assert found.plain.endswith(" …")
    assert len(found.plain) <= 84
    assert [found.plain[span.start : span.end] for span in found.spans] == ["heap", "smallest", "item"]


def test_an_excerpt_joins_the_lines_of_a_paragraph_and_keeps_those_of_code() -> None:
    prose = "A paragraph that a page has broken into lines of equal width\ngoes on here.\n"
    code = "for x in y:\n    print(x)"

    assert excerpt(prose + code, QueryWords("x", Bm25Embedder()), 400).plain == prose.replace("\n", " ", 1) + code


def test_a_word_longer_than_an_excerpt_is_cut() -> None:
    assert excerpt("x" * 100, QueryWords("y", Bm25Embedder()), 10).plain == "x" * 10 + " …"


def test_a_passage_of_a_transcript_says_when_it_was_said(cli: Cli, tmp_path: Path) -> None:
    lecture = tmp_path / "lecture.vtt"
    lecture.write_text(
        "WEBVTT\n\n00:59.000 --> 01:02.500\nA loop repeats.\n\n01:00:05.000 --> 01:00:09.900\nThe end.\n"
    )
    cli("index", lecture, *HASH, "--strategy", "word", "--set", "chunk_size=3")

    shown = cli("search", "loop", *HASH, "--top-k", "1").stdout
    whole = json.loads(cli("search", "loop", *HASH, "--top-k", "1", "--json").stdout)["passages"][0]

    assert f"In: {tmp_path.name} > lecture.vtt, 0:59-1:00:09\n" in shown
    assert whole["times"] == [59.0, 3609.9]
