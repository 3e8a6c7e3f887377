from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kinsplit.chunk import Document
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.errors import InvalidParameterError
from kinsplit.evaluation.experiment import rankers
from kinsplit.evaluation.experiment.experiment import Experiment
from kinsplit.evaluation.experiment.rankers import RankedChunk, Ranker
from kinsplit.evaluation.experiment.strategy_run import Step
from kinsplit.evaluation.labels import Dataset, Label, Place, Question
from kinsplit.evaluation.measures.answers import UnjudgedWarning
from kinsplit.evaluation.measures.registry import RAG_EVAL
from kinsplit.evaluation.measures.spans import found_share, read_spans
from kinsplit.evaluation.results import Results
from kinsplit.evaluation.splitters.foreign import UnlocatedWarning
from kinsplit.evaluation.splitters.specs import as_strategy, from_spec
from kinsplit.index import Index
from kinsplit.parsers import Strategy, create
from kinsplit.parsers.base import Levels
from kinsplit.parsers.llm_boundaries import FallbackWarning
from kinsplit.parsers.strategies.sentence import SentenceStrategy
from kinsplit.spans import Part, Span
from kinsplit.stores import ChunkStore
from tests.tokenizer_files import bundled_tokenizer

SUBJECTS = ("falcon", "glacier", "harbour", "lantern", "meadow", "orchid", "pebble", "quarry", "saffron", "tundra")
FACTS = (
    "The {0} number {1} was first described by a traveller who kept a diary of {1} pages.",
    "Nobody knows why the {0} number {1} is blue, though three theories explain it.",
    "In winter the {0} number {1} is covered by snow for {1} weeks.",
)


def dataset(questions: int) -> Dataset:
    """Make documents of sentences with different subjects, and questions that one sentence answers."""
    documents, asked = [], []
    for position, subject in enumerate(SUBJECTS):
        text, spans = "", []
        for number in range(3):
            for fact in FACTS:
                sentence = fact.format(subject, number + 10 * position)
                spans.append(Span(len(text), len(text) + len(sentence)))
                text += sentence + (" " if fact is not FACTS[-1] else "\n\n")
        documents.append(Document(f"{subject}.txt", text.rstrip()))
        asked += [(f"{subject}.txt", span, text[span.start : span.end - 8].lower()) for span in spans]
    found = [
        Question(f"q{n}", text, (Label((Place(source, span),)),)) for n, (source, span, text) in enumerate(asked[::3])
    ]
    return Dataset("facts", tuple(documents), tuple(found[:questions]))


#: Each question costs every run a search; fewer than 30 are warned of.
DATASET, ENOUGH = dataset(10), dataset(30)
STRATEGIES: dict[str, Strategy] = {
    "sentence": create("sentence", chunk_size=30, chunk_overlap=0),
    "word": create("word", chunk_size=40, chunk_overlap=5),
}
MEASURES = ("recall@20t", "recall@100t", "seconds", "jaccard", "query_terms", "cosine")


def experiment(**changes: Any) -> Experiment:
    settings: dict[str, Any] = {
        "dataset": DATASET,
        "strategies": STRATEGIES,
        "embedder": "hash",
        "ranker": "dense",
        "measures": MEASURES,
        "headline": "recall@20t",
        "cache": False,
    }
    return Experiment(**{**settings, **changes})


@cache
def finished() -> Results:
    """Return the results of the experiment without changes."""
    return experiment().run()


def timeless(results: Results) -> dict[str, Any]:
    """Return results without the times, which differ between runs."""
    found = results.model_dump(mode="json")
    for strategy in found["strategies"]:
        strategy["measures"].pop("seconds", None)
        for name in ("split_seconds", "embed_seconds"):
            strategy["statistics"].pop(name, None)
    for result in found["results"]:
        result["measures"].pop("seconds", None)
    return found


def test_results_hold_everything_that_reports_need(tmp_path: Path) -> None:
    results = experiment(ranker="kin").run()
    results.write(tmp_path / "results.json")

    assert Results.read(tmp_path / "results.json").to_json() == results.to_json()
    assert [strategy.label for strategy in results.strategies] == ["sentence", "word"]
    assert results.setting.headline == "recall@20t"
    assert results.setting.ranker == "kin"
    assert results.setting.versions["kinsplit"]
    assert [note.name for note in results.notes] == list(MEASURES)
    assert len(results.results) == 2 * len(DATASET.questions)
    assert len(results.results[0].hits) == 5
    assert results.questions[0].labels[0][0].text == FACTS[0].format("falcon", 0)
    (beside,) = results.comparisons
    assert (beside.strategy, beside.baseline, beside.measure) == ("word", "sentence", "recall@20t")
    assert beside.wins + beside.ties + beside.losses == len(DATASET.questions)
    whole, cut = (strategy.measures["recall@20t"].mean for strategy in results.strategies)
    assert 0 < cut < whole == 1
    summary = results.to_json()["summary"]["word"]
    assert {f"avg_{name}" for name in RAG_EVAL} <= set(summary)
    assert all(summary[f"avg_{name}"] is not None for name in RAG_EVAL)


def test_rag_evals_figures_are_left_out_unless_they_were_asked_for() -> None:
    results = experiment(measures=["recall@20t", "jaccard"]).run()
    summary, row = results.to_json()["summary"]["word"], results.to_json()["results"][0]
    assert {key for key in summary if key.startswith("avg_")} == {"avg_relevancy"}
    assert {name for name in RAG_EVAL if name in row} == {"relevancy"}


def test_half_a_surrogate_pair_is_written_and_read(tmp_path: Path) -> None:
    first, *others = DATASET.questions
    asked = (replace(first, text="Is \ud800 text? Ja, \u00fcberall."), *others)
    results = experiment(dataset=replace(DATASET, questions=asked)).run()
    results.write(tmp_path / "results.json")

    assert "\u00fcberall" in (tmp_path / "results.json").read_text(encoding="utf-8")
    assert Results.read(tmp_path / "results.json").questions[0].text == asked[0].text


def test_the_headline_may_have_rag_evals_name() -> None:
    results = experiment(measures=["relevancy@3", "faithfulness"], headline="relevancy@3").run()

    assert results.setting.headline == "jaccard@3"
    assert list(results.strategies[0].measures) == ["jaccard@3", "query_terms"]


def test_answers_that_nobody_judged_are_told_with_their_strategy() -> None:
    with pytest.warns(UnjudgedWarning):
        results = experiment(measures=["answer_relevance"], model=lambda prompt: "What?").run()

    told = [text for text in results.warnings if "answer_relevance: 10 questions could not be judged" in text]
    assert [text.partition(":")[0] for text in told] == list(STRATEGIES)
    assert "answer_relevance" not in results.strategies[0].measures


def test_a_measure_that_returns_no_number_is_named() -> None:
    class Broken:
        name, description, higher_is_better = "broken", "Nothing", True

        def score(self, outcome: object, chunking: object) -> float:
            del outcome, chunking
            return float("nan")

    with pytest.raises(
        InvalidParameterError, match=r"must return finite numbers .* Return None where broken doesn't apply"
    ):
        experiment(measures=[Broken()]).run()


def test_hits_are_slices_of_their_documents_and_scores_never_rise() -> None:
    for result in finished().results:
        scores = [hit.score for hit in result.hits]
        assert scores == sorted(scores, reverse=True)
        for hit in result.hits:
            ((start, end),) = hit.spans
            assert DATASET.sources[hit.source_id].text[start:end] == hit.text


def test_two_runs_give_the_same_results_but_for_the_seconds() -> None:
    first, second = (timeless(experiment(ranker="kin").run()) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("ranker", rankers.names())
def test_every_ranker_ranks(ranker: str) -> None:
    results = experiment(ranker=ranker).run()

    assert results.setting.ranker == ranker
    assert results.strategies[0].measures["recall@100t"].mean > 0.3


def test_passages_are_judged_by_what_they_cover_and_cached(tmp_path: Path) -> None:
    strategies = {"sentence": STRATEGIES["sentence"]}
    ways = ("search", rankers.search(window=0, context_share=0.0), "ask", "search")
    runs = [experiment(ranker=way, strategies=strategies, cache=tmp_path).run() for way in ways]

    with Index("memory:", strategy=STRATEGIES["sentence"], embedder="hash") as index:
        index.add(list(DATASET.documents))
        for question, result in zip(DATASET.questions, runs[0].results, strict=True):
            for budget in (20, 100):
                passages = index.search(question.text, budget=budget)
                read = read_spans((passage.source_id, span) for passage in passages for span in passage.spans)
                assert result.measures[f"recall@{budget}t"] == found_share(question, read)
    assert [run.strategies[0].measures["recall@100t"] for run in runs[1:]] == [
        runs[0].strategies[0].measures["recall@100t"]
    ] * 3
    assert runs[3].results == runs[0].results
    with pytest.raises(InvalidParameterError, match="window"):
        rankers.search(window=-1)


def test_a_question_that_finds_nothing_scores_nothing() -> None:
    label = DATASET.questions[0].labels
    asked = (Question("none", "xylophone zeppelin", label), *DATASET.questions)
    found = experiment(dataset=replace(DATASET, questions=asked), ranker="terms").run().results[0]

    assert found.hits == []
    assert found.measures["recall@20t"] == found.measures["query_terms"] == 0
    assert "cosine" not in found.measures


def test_terms_are_those_of_the_language_that_is_named() -> None:
    text = "Die H\u00e4user am Fluss sind alt.\n\nEin Boot liegt am Ufer."
    start = text.index("Die H")
    asked = Question("q", "Welches Haus?", (Label((Place("d", Span(start, start + 31)),)),))
    german = Dataset("german", (Document("d", text),), (asked,))
    strategies = {"sentence": create("sentence", chunk_size=12, chunk_overlap=0)}

    def hits(language: str) -> int:
        found = experiment(dataset=german, strategies=strategies, ranker="terms", language=language).run()
        return len(found.results[0].hits)

    assert (hits("german"), hits("any")) == (1, 0)


def test_the_same_labels_score_five_chunkings_of_five_makers() -> None:
    pytest.importorskip("llama_index.core")
    pytest.importorskip("langchain_text_splitters")
    pytest.importorskip("chonkie")
    before = repr(DATASET)
    specs = (
        "sentence:chunk_size=30,chunk_overlap=0",
        "cluster:passage_size=20,passage_overlap=0,chunk_size=60",
        "llama-index:SentenceSplitter:chunk_size=30,chunk_overlap=0",
        "langchain:RecursiveCharacterTextSplitter:chunk_size=120,chunk_overlap=20",
        "chonkie:RecursiveChunker:chunk_size=30",
    )

    results = experiment(strategies=dict(from_spec(spec, embedder="hash") for spec in specs)).run()

    assert repr(DATASET) == before
    for strategy in results.strategies:
        assert strategy.measures["recall@100t"].count == len(DATASET.questions)
        assert strategy.measures["recall@100t"].mean > 0.2
        assert strategy.statistics["coverage"] == 1


@pytest.mark.parametrize("twin", ["llama_index.node_parser", "langchain.text_splitter"])
def test_our_own_strategy_through_a_framework_scores_the_same(twin: str) -> None:
    package, _, factory = twin.partition(".")
    make = getattr(pytest.importorskip(f"kinsplit.integrations.{package}"), factory)
    foreign = as_strategy(make("sentence", chunk_size=30, chunk_overlap=0), chunk_size=30)

    results = experiment(strategies={"own": STRATEGIES["sentence"], "foreign": foreign}).run()

    own, other = (timeless(results)["strategies"][place] for place in (0, 1))
    assert own["measures"] == other["measures"]
    assert own["statistics"] == other["statistics"]
    assert results.comparisons[0].ties == len(DATASET.questions)
    hits = {label: [r.hits for r in results.results if r.strategy == label] for label in ("own", "foreign")}
    assert hits["own"] == hits["foreign"]


def test_chunks_that_are_no_text_of_the_document_are_told_and_their_labels_not_found() -> None:
    def loses_half(text: str) -> list[str]:
        return [text[: len(text) // 2], "In short: the rest."]

    with pytest.warns(UnlocatedWarning, match="10 of 20 chunks"):
        results = experiment(strategies={"half": as_strategy(loses_half)}).run()

    assert any("half: " in text and "10 of 20 chunks" in text for text in results.warnings)
    assert 0.4 < results.strategies[0].statistics["coverage"] < 0.6


def test_a_strategy_without_chunks_finds_nothing() -> None:
    with pytest.warns(UnlocatedWarning):
        results = experiment(strategies={"none": as_strategy(lambda _: ["?!?"])}).run()

    assert results.strategies[0].measures["recall@100t"].mean == 0
    assert results.strategies[0].statistics["chunks"] == 0


# Rankings


def test_rankings_fill_the_largest_budget_and_larger_ones_change_no_smaller_one() -> None:
    many = Dataset(
        "many", tuple(Document(f"d{n}", f"word{n}{' and some more' * 6}") for n in range(260)), DATASET.questions[:2]
    )
    shared: dict[str, Any] = {"dataset": many, "strategies": {"s": create("sentence")}}

    ((_, small),) = experiment(**shared).evidence()
    ((_, large),) = experiment(**shared, measures=["recall@8000t"], headline="recall@8000t").evidence()

    count = small.profile.chunking.tokenizer.count
    for outcome, longer in zip(small.outcomes, large.outcomes, strict=True):
        assert count([chunk.text for chunk in outcome.ranking]).sum() >= 4000 > 100 * 24
        assert [c.id for c in outcome.ranking] == [c.id for c in longer.ranking[: len(outcome.ranking)]]
        assert len(longer.ranking) == 260  # All chunks.
        assert len({chunk.id for chunk in longer.ranking}) == 260
        assert list(longer.scores) == sorted(longer.scores, reverse=True)
        assert len(longer.cosines) == 260


def test_cosines_are_those_of_the_shared_embedder() -> None:
    ((_, evidence),) = experiment(strategies={"s": STRATEGIES["sentence"]}).evidence()
    embedder, outcome = HashEmbedder(), evidence.outcomes[0]

    expected = embedder.embed([chunk.text for chunk in outcome.ranking]) @ embedder.embed_query(outcome.question.text)

    assert list(outcome.cosines) == pytest.approx(expected.tolist(), abs=1e-5)


class TokenHashEmbedder(HashEmbedder):
    """An embedder of tokens by their hashes."""

    tokenizer = bundled_tokenizer()

    def embed_tokens(self, texts: Sequence[str]) -> list[Any]:
        return [self.embed(self.tokenizer.encode(text, add_special_tokens=False).tokens) for text in texts]


def test_late_chunking_gives_other_vectors_for_the_same_chunks() -> None:
    few: dict[str, Any] = {
        "dataset": dataset(2),
        "embedder": TokenHashEmbedder(),
        "strategies": {"s": STRATEGIES["sentence"]},
    }

    ((_, alone),) = experiment(**few).evidence()
    ((_, late),) = experiment(**few, embedding_context="late").evidence()

    assert alone.profile.chunking.chunks == late.profile.chunking.chunks
    assert list(alone.outcomes[0].cosines) != list(late.outcomes[0].cosines)


# Caching


class CrashError(Exception):
    pass


def crash(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Make the dense ranker fail after a number of questions."""
    left, dense = [after], rankers.create("dense")

    def rank(store: ChunkStore, question: Any, limit: int) -> Sequence[RankedChunk]:
        if left[0] == 0:
            raise CrashError
        left[0] -= 1
        return dense.rank(store, question, limit)

    monkeypatch.setitem(rankers._RANKERS, "dense", Ranker("dense", "crashes", rank))


def steps(run: Experiment) -> tuple[Results, list[Step]]:
    seen: list[Step] = []
    return run.run(seen.append), seen


def stages(seen: Sequence[Step], label: str) -> dict[str, int]:
    return {step.stage: step.total for step in seen if step.label == label}


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Results]:
    """The cache of a run, which tests copy, and its results."""
    folder = tmp_path_factory.mktemp("first")
    return folder, experiment(cache=folder).run()


@pytest.fixture
def kept(first_run: tuple[Path, Results], tmp_path: Path) -> Path:
    """A cache with the outcomes of the experiment without changes."""
    return shutil.copytree(first_run[0], tmp_path / "kept")


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        crash(patch, 13)
        with pytest.raises(CrashError):
            experiment(cache=tmp_path).run()

    results, seen = steps(experiment(cache=tmp_path))

    assert timeless(results) == timeless(finished())
    assert stages(seen, "sentence") == {}  # All 10 questions were answered.
    assert stages(seen, "word") == {"embed": 10, "ask": 7}  # And 3 of them here.


def test_another_run_splits_embeds_and_asks_nothing(kept: Path, first_run: tuple[Path, Results]) -> None:
    second, seen = steps(experiment(cache=kept))

    assert seen == steps(experiment(cache=kept, strategies={"sentence": STRATEGIES["sentence"]}))[1] == []
    assert second == first_run[1]  # Times are those of the run that measured them.


def test_more_questions_are_asked_alone(tmp_path: Path) -> None:
    experiment(cache=tmp_path, dataset=dataset(4)).run()

    results, seen = steps(experiment(cache=tmp_path))

    assert stages(seen, "word") == {"embed": 10, "ask": 6}
    assert timeless(results) == timeless(finished())


@pytest.mark.parametrize(
    "changes",
    [
        {"embedder": "hash:32"},
        {"ranker": "terms"},
        {"embedding_context": "none"},
        {"language": "any"},
        {"dataset": replace(DATASET, documents=(*DATASET.documents, Document("more", "One more.")))},
        {
            "dataset": replace(
                DATASET,
                documents=tuple(replace(one, outline=(Part(0, len(one.text), "All"),)) for one in DATASET.documents),
            )
        },
        {"strategies": {"sentence": create("sentence", chunk_size=31, chunk_overlap=0)}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_whatever_decides_the_outcome_makes_it_new(kept: Path, changes: dict[str, Any]) -> None:
    _, seen = steps(experiment(cache=kept, **{"strategies": {"sentence": STRATEGIES["sentence"]}, **changes}))

    assert "ask" in stages(seen, "sentence")


def test_outcomes_of_other_code_are_not_taken(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinsplit.evaluation.experiment.strategy_run.code_version", lambda: "another")

    assert "split" in stages(steps(experiment(cache=kept))[1], "sentence")


class Edited(HashEmbedder):
    """A user's embedder that is edited between two runs, with an unchanged fingerprint."""

    sign = 1.0

    def embed(self, texts: Sequence[str], progress: Any = None) -> Any:
        return self.sign * super().embed(texts, progress)

    def embed_query(self, text: str) -> Any:
        return HashEmbedder().embed_query(text)


class EditedStrategy(SentenceStrategy):
    """A user's strategy."""


@pytest.mark.parametrize("kind", ["embedder", "ranker", "strategy"])
def test_what_is_found_with_an_object_of_ones_own_is_found_again_in_each_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    objects: dict[str, dict[str, Any]] = {
        "embedder": {"embedder": Edited(), "ranker": "dense"},
        "ranker": {"ranker": Ranker("dense", "Of somebody's own", rankers.create("dense").rank)},
        "strategy": {"strategies": {"sentence": EditedStrategy(chunk_size=30, chunk_overlap=0)}},
    }
    few = {"cache": tmp_path, "dataset": dataset(5), "strategies": {"sentence": STRATEGIES["sentence"]}}
    before = experiment(**{**few, **objects[kind]}).run()
    monkeypatch.setattr(Edited, "sign", -1.0)
    after, seen = steps(experiment(**{**few, **objects[kind]}))

    assert stages(seen, "sentence").keys() == {"split", "embed", "ask"}
    told = [one.strategies[0].measures["recall@20t"].mean for one in (before, after)]
    assert told == ([1.0, 0.0] if kind == "embedder" else [told[0]] * 2)
    (plan,) = experiment(**{**few, **objects[kind]}).plan()
    assert plan.answered == 0


def test_a_splitter_that_can_not_be_told_apart_is_asked_again(tmp_path: Path) -> None:
    size = 100
    opaque = {"opaque": as_strategy(lambda text: [text[:size], text[size:]])}
    experiment(cache=tmp_path, strategies=opaque).run()

    assert "split" in stages(steps(experiment(cache=tmp_path, strategies=opaque))[1], "opaque")


def test_what_a_language_model_did_not_answer_is_asked_again(tmp_path: Path) -> None:
    class Unanswered(SentenceStrategy):
        def _cut_outlined(self, documents: Sequence[Document]) -> list[Levels]:
            warnings.warn(FallbackWarning("Nobody is there.", 1, 1), stacklevel=1)
            return super()._cut_outlined(documents)

    for _ in range(2):
        with pytest.warns(FallbackWarning):
            results, seen = steps(experiment(cache=tmp_path, strategies={"none": Unanswered()}))
        assert "split" in stages(seen, "none")
        assert results.warnings[0].startswith("none: ")


def test_a_plan_asks_no_language_model() -> None:
    def never(prompt: str) -> str:
        raise AssertionError(prompt)

    (plan,) = experiment(strategies={"llm": create("llm", model=never)}).plan()

    assert plan.chunks is None
    assert plan.cost.calls == len(DATASET.documents)


def test_times_with_kept_vectors_are_not_told(kept: Path, first_run: tuple[Path, Results]) -> None:
    first = first_run[1].strategies[0].statistics
    second = experiment(cache=kept, ranker="terms").run().strategies[0].statistics

    assert {"split_seconds", "embed_seconds"} <= set(first)
    assert "embed_seconds" not in second


def test_a_plan_tells_what_is_to_be_done_and_does_nothing(tmp_path: Path) -> None:
    strategies = {**STRATEGIES, "cluster": create("cluster", embedder="hash")}
    run = experiment(cache=tmp_path, strategies=strategies)

    sentence, _, cluster = run.plan()
    run.run()
    done, _, known = run.plan()

    assert (sentence.answered, sentence.questions, sentence.kept) == (0, 10, 0)
    assert sentence.chunks == done.chunks == 69
    assert sentence.tokens == run.run().strategies[0].statistics["tokens_embedded"]
    assert (cluster.chunks, cluster.kept) == (None, None)
    assert (done.answered, done.kept, done.texts) == (10, 69, 69)
    assert known.chunks is not None


# Warnings


def cautions(**changes: Any) -> Iterator[str]:
    return iter(experiment(**{"dataset": ENOUGH, **changes}).run().warnings)


def test_a_fair_comparison_has_no_warnings() -> None:
    assert list(cautions()) == []


def test_few_questions_are_told() -> None:
    assert next(cautions(dataset=dataset(1))) == "Only 1 question: fewer than 30 seldom tell strategies apart."
    assert list(cautions(dataset=dataset(5))) == ["Only 5 questions: fewer than 30 seldom tell strategies apart."]


def test_one_chunk_for_each_document_is_told() -> None:
    (told,) = cautions(strategies={"whole": create("word", chunk_size=1000), **STRATEGIES})

    assert told.startswith("whole: 10 of 10 documents are one chunk")


def test_what_holds_for_several_strategies_is_told_once() -> None:
    whole = {label: create("word", chunk_size=size) for label, size in (("large", 1000), ("larger", 2000))}
    (told,) = cautions(strategies=whole)

    assert told.startswith("large, larger: 10 of 10 documents are one chunk")


def test_a_budget_that_holds_everything_is_told() -> None:
    told = list(cautions(headline="recall@4000t"))

    assert len(told) == 2
    assert all("recall@4000t holds all" in text for text in told)


def test_without_labels_the_headline_says_what_it_can_and_no_more() -> None:
    asked = tuple(replace(question, labels=()) for question in ENOUGH.questions)
    results = experiment(dataset=replace(ENOUGH, questions=asked), headline=None).run()

    assert results.setting.headline == "query_terms"
    assert "doesn't tell which strategy is better" in results.warnings[0]
    assert "recall@100t" not in results.strategies[0].measures
    assert results.comparisons[0].measure == "query_terms"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"strategies": {}}, "strategies: must have at least one"),
        ({"ranker": "best"}, "Known are: kin, hybrid, dense, terms, search, ask"),
        ({"top_k": 0}, "top_k: must be at least 1"),
        ({"embedding_context": "all"}, "embedding_context: must be 'headings'"),
        ({"language": "klingon"}, "must name a known language"),
        ({"embedding_context": "late"}, "embedding_context: 'late' needs an embedder with vectors for tokens"),
        ({"measures": ["nonsense"]}, "measure: must be one of"),
        ({"headline": "nonsense"}, "measure: must be one of"),
        ({"dataset": Dataset("none", (), DATASET.questions)}, "must have documents"),
        ({"dataset": Dataset("none", DATASET.documents, ())}, "must have questions"),
    ],
)
def test_a_wrong_setting_is_found_out_before_any_work(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        experiment(**changes)


class OnlyEmbeds:
    """An embedder as rag_eval's evaluator takes it."""

    def embed(self, texts: list[str]) -> list[list[float]]:
        return [[float(value) for value in vector] for vector in HashEmbedder().embed(texts)]


def test_chunks_made_elsewhere_and_an_object_that_only_embeds_are_evaluated() -> None:
    made = [chunk.text for own in STRATEGIES["sentence"].chunk_many(DATASET.documents) for chunk in own]
    strategies = {"ours": STRATEGIES["sentence"], "theirs": [text.upper() for text in made]}
    results = experiment(dataset=ENOUGH, strategies=strategies, embedder=OnlyEmbeds()).run()
    ours, theirs = results.strategies
    assert ours.measures["recall@100t"].mean == theirs.measures["recall@100t"].mean > 0
    assert theirs.statistics["chunks"] == ours.statistics["chunks"]
    assert not results.warnings
    with pytest.warns(UnlocatedWarning):
        lost = experiment(strategies={"theirs": [*made[:3], "nowhere at all"]}).run()
    assert any("1 of 4 chunks are no text of their document" in text for text in lost.warnings)


def test_a_list_of_something_else_is_no_strategy() -> None:
    with pytest.raises(InvalidParameterError, match="strategy"):
        experiment(strategies={"wrong": [1, 2]})
