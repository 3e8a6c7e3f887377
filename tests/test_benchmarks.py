"""The code of the benchmarks, run on texts so small that the numbers mean nothing."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from kinsplit.parsers import create

with pytest.MonkeyPatch.context() as path:
    # They are scripts in one folder, not an installed package.
    path.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    import backends
    import cut_corpora
    import cuts
    import embedding
    import gate
    import indexing
    import labelled
    import parsers
    import reader_systems
    import readers
    import retrieval
    import scale
    import scale_corpus
    import scale_model
    import scale_steps
    import scaling
    import seed_rules
    import seed_tables
    import stores
    import targets
    import texts
    import timing
    import vague
    from systems import SYSTEMS, Piece, System

from tests.shared_data import shared_text

TINY = texts.Corpus("tiny", {"a": texts.prose(9_000, 1), "b": texts.prose(3_000, 2)})
ROW = timing.Row


def test_every_system_is_measured_once_per_round() -> None:
    for system, row in zip(SYSTEMS, timing.measure(SYSTEMS, TINY, repeat=1), strict=True):
        assert row.name == system.name
        if system.name.startswith("kinsplit"):
            assert len(row.milliseconds) == 1
            assert row.exact == (None if system.pieces is None else 1)
        if row.milliseconds:  # Its package is installed.
            assert row.best > 0
            assert (row.chunks is None) == (system.pieces is None)


def test_a_missing_library_gives_a_row_without_times() -> None:
    def make() -> None:
        raise ModuleNotFoundError("No module named 'absent'")

    assert timing.measure([System("absent", make, lambda splitter, corpus: [])], TINY, repeat=2) == [ROW("absent")]


@pytest.mark.parametrize(
    ("piece", "exact"),
    [
        (Piece("one two", "two", 4, 7), True),
        (Piece("one two", "two", 3, 7), False),
        (Piece("one two", "two", None, None), False),
    ],
)
def test_a_piece_is_exact_if_it_is_the_slice_at_its_offsets(piece: Piece, exact: bool) -> None:
    assert piece.exact is exact


def test_ratio_and_overhead_are_made_from_the_best_times() -> None:
    assert targets.ratio(ROW("a", (3.0, 2.0)), ROW("b", (4.0, 9.0))) == 0.5
    assert targets.overhead(ROW("a", (3.0, 2.0), chunks=100), ROW("b", (1.0, 5.0))) == 10


def test_outcomes_say_what_is_met_missed_and_not_measured() -> None:
    rows = [
        ROW("kinsplit token 512/128", (70.0,), 10, 1.0),
        ROW("chonkie token 512/384", (100.0,), 10, 0.0),
        ROW("kinsplit sentence 500/100", (110.0,), 10, 0.9),
        ROW("chonkie sentence 500/100", (100.0,), 10, 1.0),
        ROW("kinsplit structure 500", (100.0,), 10, 1.0),
        ROW("chonkie recursive 500"),
    ]
    outcomes = targets.outcomes(rows)
    assert [outcome.met for outcome in outcomes] == [True, False, None, None, None, None, False]
    assert outcomes[-1].shown == "kinsplit sentence 500/100"


def test_every_target_names_measured_systems() -> None:
    names = {system.name for system in SYSTEMS}
    assert {name for target in targets.TARGETS for name in (target.system, target.against)} <= names


@pytest.mark.parametrize("power", [1, 2])
def test_the_exponent_is_the_power_with_which_a_field_grows(power: int) -> None:
    points = [scaling.Point(size, 0.3 * size**power, 5.0) for size in scaling.MEGABYTES]
    assert scaling.exponent(points, "seconds") == pytest.approx(power)
    assert scaling.exponent(points, "memory") == pytest.approx(0)


def test_a_size_is_measured_in_a_process_of_its_own() -> None:
    point = scaling.measure_apart("character", 1, one_line=True)
    assert point.megabytes == 1
    assert point.seconds > 0


def test_prose_is_repeatable_and_as_long_as_asked() -> None:
    text = texts.prose(20_000, 5)
    assert len(text) == 20_000
    assert text == texts.prose(20_000, 5) != texts.prose(20_000, 6)
    assert "\n\n" in text
    assert "\n" not in texts.prose(20_000, 5, one_line=True)


def test_a_stand_in_serves_where_the_corpora_are_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "SHARED_DATA", tmp_path)
    corpus = texts.corpus()
    assert "stand-in" in corpus.origin
    assert {name: len(text) for name, text in corpus.by_name.items()} == texts.SIZES


def test_the_command_prints_the_tables_and_writes_the_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsers, "corpus", lambda: TINY)
    file = tmp_path / "numbers.json"
    result = CliRunner().invoke(parsers.app, ["--only", "kinsplit word", "--repeat", "2", "--json", str(file)])
    assert result.exit_code == 0, result.output
    numbers = json.loads(file.read_text())
    assert [(row["name"], len(row["milliseconds"])) for row in numbers["systems"]] == [("kinsplit word", 2)]
    assert {outcome["met"] for outcome in numbers["wanted"]} == {None, True}


def test_retrieval_is_measured_for_every_ranking(tmp_path: Path) -> None:
    folder = tmp_path / "alice"
    folder.mkdir()
    prose = texts.prose(4_000, 3)
    (folder / "docs.jsonl").write_text(json.dumps({"docid": "d", "text": prose}) + "\n")
    query = {"query": prose[200:260], "docid": "d", "spans": [[200, 400]]}
    (folder / "queries.jsonl").write_text(json.dumps(query) + "\n")
    (tiny,) = labelled.labelled_sets(tmp_path)
    strategies = {"kinsplit": create("sentence", chunk_size=60, chunk_overlap=0)}
    ways = {**retrieval.KIN_RANKERS, **retrieval.FRONT_DOOR}
    first, second = (retrieval.measure(tiny, strategies, ways, tmp_path / name, "hash") for name in ("one", "two"))

    assert set(first) == {("kinsplit", name) for name in ways}
    assert all((first[key] == second[key]).all() for key in first)
    assert first["kinsplit", "default"][0, 3] >= 98  # White space between chunks is in none of them.
    (wanted, _, met), *front = retrieval.judge("alice", first)
    assert (wanted, met) == ("at least without kin - 0.5", True)
    assert [wanted.split(" at least")[0] for wanted, _, _ in front] == list(retrieval.FRONT_DOOR)
    assert "| kinsplit, default | " in retrieval.as_markdown(tiny, first)


def test_every_vague_question_quotes_its_document() -> None:
    course, *others = labelled.vague_sets()
    assert course.name == "vague course"
    assert len(course.questions) == 55
    assert others or not texts.SHARED_DATA.is_dir()
    for each in (course, *others):
        assert all(question.labels[0].places[0].span for question in each.questions)
        assert len({question.id for question in each.questions}) == len(each.questions)


def test_a_quotation_that_is_not_found_once_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"set": "course", "question": "?", "document": "course/lecture_01.md", "quotation": "Python"}
    file = tmp_path / "vague_questions.json"
    file.write_text(json.dumps([row]))
    monkeypatch.setattr(labelled, "__file__", str(file))
    with pytest.raises(ValueError, match=r"lecture_01\.md must contain 'Python' once, not "):
        labelled.vague_sets()


def test_rankings_are_compared_on_vague_questions(tmp_path: Path) -> None:
    few = labelled.sampled(labelled.vague_sets()[0], 3)
    strategies = {"kinsplit": create("sentence", chunk_size=400, chunk_overlap=0)}
    shares = retrieval.measure(few, strategies, vague.RANKERS, tmp_path, "hash")
    both, pooled = vague.together([(few, shares), (few, shares)])
    assert len(both.questions) == 6
    assert pooled["kinsplit", "default"].shape == (6, len(retrieval.BUDGETS))


def figures(milliseconds: float, seconds: float) -> dict[str, Any]:
    """Return the figures of an engine that wrote 100 chunks; every task takes as long, a whole search twice as long."""
    tasks = {"hybrid": 1, "dense": 1, "whole": 2, "expansion": 1}
    return {"written": 100, "seconds": seconds, "times": {name: [milliseconds * n] * 3 for name, n in tasks.items()}}


def test_outcomes_of_stores_compare_rates_and_medians() -> None:
    fast, slow = figures(1, 10), figures(30, 100)
    compared = stores.outcomes({"edge": fast, "qdrant": slow})
    assert [(outcome.shown, outcome.met) for outcome in compared] == [
        ("10.00 x", False),
        *[("30.00 x", True)] * 3,
        ("2.00 x", True),
    ]
    fast["times"]["whole"] = [1.0, 3.0, 500.0]
    assert stores.outcomes({"edge": fast})[-1].met is False
    assert [outcome.met for outcome in stores.outcomes({"edge": {}, "qdrant": slow})] == [None] * 5


def test_stores_are_measured_and_what_is_not_reached_is_said(tmp_path: Path) -> None:
    file = tmp_path / "numbers.json"
    options = ["--sizes", "100", "--questions", "2", "--engines", "edge,numpy", "--patience", "0", "--json", str(file)]
    result = CliRunner().invoke(stores.app, options)
    assert result.exit_code == 0, result.output
    ((made, numbers),) = [(key, value) for key, value in json.loads(file.read_text()).items() if key != "machine"]
    edge, floor = numbers["engines"]["edge"], numbers["engines"]["numpy"]
    # With patience 0 there is one document and one question.
    assert 0 < edge["written"] == floor["written"] < int(made)
    assert {name: len(times) for name, times in edge["times"].items()} == dict.fromkeys(stores.TASKS, 1)
    assert list(floor["times"]) == ["dense"]
    assert "1 of 2 (stopped)" in result.output
    assert edge["disk"] > 0


def test_backends_are_compared_with_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def embed(given: list[str]) -> backends.Vectors:
        return np.array([[len(text), 1.0] for text in given], dtype=np.float32)

    def turned(given: list[str]) -> backends.Vectors:
        return 2 * embed(given)[:, ::-1]

    systems = [backends.System(backends.REFERENCE, lambda: embed), backends.System("turned", lambda: turned)]
    monkeypatch.setattr(embedding, "SYSTEMS", systems)
    rows = embedding.compare("texts", ["a", "ccc"], rounds=2)
    assert (rows[backends.REFERENCE].times, rows[backends.REFERENCE].mean) == (1, pytest.approx(1))
    assert (rows["turned"].mean, rows["turned"].worst) == (pytest.approx(0.8), pytest.approx(0.6))
    assert rows["turned"].per_second > 0


def test_embedding_is_judged_by_speed_nearness_start_and_recall() -> None:
    good, slow = embedding.Row(500, 4.5, 0.99995, 0.99), embedding.Row(500, 2.4, 0.9998, 0.99)
    begun = backends.Starts(20, 0.5)
    started = {backends.DEFAULT: begun, backends.FAST: begun._replace(first=61)}
    recalled = {
        backends.EXACT: {"default": 90.0},
        backends.DEFAULT: {"default": 90.2},
        backends.FAST: {"default": 89.5},
    }
    rows = {"sentences": {backends.DEFAULT: slow, backends.FAST: good}}
    met = [met for _, _, met in embedding.judge(rows, started, recalled)]
    assert met == [False, True, False, True, True, False, False]
    assert [met for _, _, met in embedding.judge(rows, started, {})][-3:] == [None, False, None]


@pytest.mark.parametrize("context", ["headings", "none"])
def test_every_stage_of_indexing_is_measured(context: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "corpus", lambda: TINY)
    measured = indexing.measure("hash", context, 2_000)
    assert set(measured.stages) == set(indexing.STAGES)
    assert min(measured.stages.values()) > 0
    assert 0 < measured.share < 1


def test_a_ratio_may_exceed_the_recorded_one_by_its_tolerance() -> None:
    recorded = {each.name: 2.0 for each in gate.RATIOS}
    assert gate.failures({each.name: 1.99 * each.tolerance for each in gate.RATIOS}, recorded) == []
    assert gate.failures({**recorded, "node": 2.7, "idle": 0.1}, recorded) == ["node"]
    # What is new has no limit yet.
    assert gate.failures(recorded, {}) == []


def test_processor_times_are_compared_in_pairs() -> None:
    made: list[str] = []

    def counting(name: str, steps: int) -> gate.Prepare:
        def prepare() -> Callable[[], object]:
            made.append(name)
            return lambda: sum(range(steps))

        return prepare

    assert 2 < gate.paired(counting("much", 3_000_000), counting("little", 300_000), rounds=3) < 50
    assert made == ["much", "little"] * 4


def test_the_page_on_costs_shows_the_recorded_ratios() -> None:
    record, page = json.loads(gate.RECORD.read_text("utf-8")), gate.PAGE.read_text("utf-8")
    assert record["ratios"].keys() == {each.name for each in gate.RATIOS}
    assert scale_model.replaced(page, {"bench gate": gate.table_of(record)}) == page
    assert gate.table_of(record) in page


def test_late_chunking_counts_as_the_models_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "corpus", lambda: texts.Corpus("tiny", {"a": "A class is a blueprint. " * 5}))
    assert indexing.measure("bundled", "late", None).stages["model"] > 0


def test_indexing_needs_some_memory_and_the_cache_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "corpus", lambda: TINY)
    assert 10 < indexing.peak_of(2, "hash", 1_000) < 5_000
    assert indexing.measure_filling(1_000).ratio > 0
    assert min(indexing.measure_cache(20, batch=8)) > 0


def test_files_hold_the_corpora_as_often_as_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "corpus", lambda: TINY)
    folder = indexing._files(tmp_path / "corpora", 3, 2_000)
    assert sorted(path.read_text() for path in folder.iterdir()) == sorted(
        text[:2_000] for text in TINY.texts for _ in range(3)
    )


def test_sentences_are_packed_by_the_rule_of_the_10k_search() -> None:
    short, long = "One two.", "A b c d e f."
    assert seed_rules.packed([short] * 4, budget=4, overlap=1) == [f"{short} {short}"] * 3 + [short]
    assert seed_rules.packed([short, long, short], budget=4, overlap=0) == [short, long, short]
    assert seed_rules.packed([], budget=4) == []


def test_sentences_are_cut_where_they_are_unlike() -> None:
    vectors = np.eye(2, dtype=np.float32)[[0, 0, 1, 1, 0, 1]]
    cut = functools.partial(seed_rules.cut_where_unlike, list("abcdef"), vectors, 0.5)
    assert cut() == ["a b", "c d", "e", "f"]
    assert cut(least=3) == ["a b c d", "e f"]
    assert cut(most=1) == list("abcdef")
    assert cut(least=9, budget=4) == ["a b c d", "e f"]


def test_words_are_counted_as_the_database_counted() -> None:
    assert seed_rules.counted_words(" a\u00a0b  c\n") == 2


def test_seed_tables_without_data_say_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(seed_tables, "TESLA", tmp_path / "tesla.txt")
    monkeypatch.setattr(seed_tables, "WIKIPEDIA", tmp_path / "wikipedia")
    result = CliRunner().invoke(seed_tables.app, catch_exceptions=False)
    assert "No table of the 10-K search" in result.output
    assert "No table of the notebook" in result.output


def test_the_rule_of_the_10k_search_makes_its_published_figures() -> None:
    sentences = seed_rules.punkt_sentences(shared_text("tesla_10k/seed/tesla_10k_2024.txt"))
    chunks = seed_rules.packed(sentences)
    assert len(chunks) == 403
    assert round(sum(map(seed_rules.counted_words, chunks)) / 403) == 433


def test_a_collection_is_measured_at_every_step(tmp_path: Path) -> None:
    assert scale_corpus.write(tmp_path / "corpus", 40_000) == 3
    first = scale_steps.add("edge", tmp_path, scale_steps.WORDS)
    search = scale_steps.search("edge", tmp_path, scale_steps.WORDS, 3)
    unchanged = scale_steps.add("edge", tmp_path, scale_steps.WORDS)
    assert scale_corpus.change(tmp_path / "corpus", 0.4) == 1
    changed = scale_steps.add("edge", tmp_path, scale_steps.WORDS)

    assert first["embedded"] == first["added"] == first["chunks"]
    assert (unchanged["embedded"], 0 < changed["embedded"] < 20) == (0, True)
    assert search["recall"] == 1
    assert {len(times) for times in search["times"].values()} == {2}
    steps = {"first": first, "search": search, "unchanged": unchanged, "changed": changed}
    small = {"first": {**first, "chunks": 10, "seconds": 0.5}, **{name: steps[name] for name in list(steps)[1:]}}
    result = {"machine": {"system": "one", "cores": 2}, "embedder": "words", "engines": {"edge": {"60000": small}}}
    assert "| exponent of the time of the first run |  | <= 1.05 | not measured |" in scale.report(result)
    result["engines"]["edge"] |= {"70000": steps, "10": steps}
    assert "| texts embedded in an unchanged run | 0 | 0 | yes |" in scale.report(result)
    assert "| documents | 3 | 3 | 3 |" in scale.report(result)


def test_growth_is_the_slope_of_the_logarithms() -> None:
    assert scale.exponent({10: 5.0, 100: 50.0, 1000: 500.0}) == pytest.approx(1)
    assert scale.exponent({10: 5.0, 1000: 50_000.0}) == pytest.approx(2)
    assert scale.exponent({10: 5.0}) is None


def test_a_plan_has_the_machines_that_are_needed_in_time() -> None:
    engine = scale_model.Engine("one", 10**5, 50.0, 0.0036, 0.00036, 10_000.0, 2_000.0, 0.1)
    assumed = scale_model.Assumed(100.0, 1.0, 10.0, 0.1, 1.0, 16.0, 1.0)
    plan = scale_model.Plan.of(engine, assumed, 10**8)
    # 360,000 s and 36,000 s of a core, and a million seconds of a model, in the 86,400 s of a day.
    assert (plan.cores, plan.writers, plan.models) == (5, 1, 12)
    assert (plan.disk, plan.memory, plan.shards) == pytest.approx((1_000, 200, 13))
    assert plan.once == pytest.approx(100 + 10 + 2_777.78, abs=0.01)
    assert plan.monthly == pytest.approx(300)


def test_the_tables_of_the_page_on_scaling_are_computed() -> None:
    run = json.loads(scale_model.FIGURES.read_text())
    page = (Path(__file__).parents[1] / "docs" / "scaling.md").read_text()
    default = scale_model.Assumed(1000.0, 0.04, 2.0, 0.10, 3.0, 64.0, 1.0)
    tables = scale_model.tables_of(run, default)
    assert scale_model.replaced(page, tables) == page
    assert all(f"<!-- {name} -->" in page for name in tables)


def test_what_is_cut_is_shown_by_splitter_and_corpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cut_corpora, "_RECORDS", 40)
    monkeypatch.setattr(cut_corpora, "_FILES", {})
    monkeypatch.setattr(
        cuts, "SPECS", ("default=default", "torn=character:chunk_overlap=0", "semchunk=python:absent:x")
    )
    shown = CliRunner().invoke(cuts.app, ["--only", "s", "--output", str(tmp_path / "cuts.md")])

    assert shown.exit_code == 0, shown.output
    page = (tmp_path / "cuts.md").read_text()
    assert page in shown.stdout
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("|")]
    found = {row[0]: row for row in rows}
    assert found["item"] == ["item", "0", found["item"][2]]
    assert int(found["item"][2]) > 5
    assert [row[1] for row in rows if row[0] in {"lists", "tables", "fences", "logs"}][:4] == ["**0**"] * 4


def test_what_readers_keep_is_shown_by_row_and_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "BUILDERS", (readers.text_files.MARKDOWN, readers.text_files.CSV))
    own = reader_systems.SYSTEMS[0]
    lossy = reader_systems.ReaderSystem("lossy", (), lambda suffix, data: readers.Read(""), frozenset({".md"}))

    page = readers.page({system.name: list(readers.try_all(system)) for system in (own, lossy)})

    rows = {
        row[0]: row[1:] for row in ([c.strip() for c in line.split("|")[1:-1]] for line in page.splitlines()) if row
    }
    assert rows["`.csv`"][1] == "–"
    assert rows["`.md`"][1].startswith("0 of ")
    assert len(set(rows["`.md`"][0].split(" of "))) == 1
    assert "**kinsplit**: nothing." in page


@pytest.mark.enable_socket
def test_the_cost_of_a_search_at_a_server_is_measured_over_both_protocols(tmp_path: Path) -> None:
    root = Path(__file__).parents[1]
    options = ["--characters", "20000", "--questions", "1", "--rounds", "1", "--json", str(tmp_path / "costs.json")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    command = [sys.executable, str(root / "benchmarks" / "server_cost.py"), *options]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    costs = json.loads((tmp_path / "costs.json").read_text("utf-8"))
    assert costs.keys() == {"http", "grpc"}
    for of_protocol in costs.values():
        assert list(of_protocol) == ["LangChain, k = 5", "dense, no siblings", "kin"]
        assert all(min(numbers) > 0 for numbers in of_protocol.values())
