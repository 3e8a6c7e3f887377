"""Registry of the measures."""

from __future__ import annotations

from collections.abc import Iterable

from kinsplit.errors import InvalidParameterError
from kinsplit.evaluation.measures.protocol import Asked, Family, Measure
from kinsplit.evaluation.qrels import SC_QRELS
from kinsplit.language_models.structured import StructuredClient, answer_cache
from kinsplit.options import SpanRule
from kinsplit.registry import Registry, several

#: Default number of chunks for measures whose name can omit it.
TOP_K = 5


_HERE = "kinsplit.evaluation.measures"
#: The measures by groups; those of other packages are entry points of the group `kinsplit.measures`, each a `Family` or
#: several.
MEASURES: Registry[tuple[Family, ...]] = Registry(
    "measures",
    "measure",
    {name: f"{_HERE}.{name}:FAMILIES" for name in ("spans", "ranks", "words", "answers")},
    several(Family),
)

#: kinsplit's names for the measures of `rag_eval`, whose "relevancy" and "faithfulness" don't look at answers.
RAG_EVAL = {"response_time": "seconds", "relevancy": "jaccard", "faithfulness": "query_terms"}

#: Other names for the part of a name before "@": those of `rag_eval`, and those of ir-measures.
ALIASES = {**RAG_EVAL, "RR": "MRR", "AP": "MAP"}


def names() -> list[str]:
    """Return the patterns of all names: "@k" chunks, "@Nt" tokens, "[...]" is optional."""
    return list(descriptions())


def descriptions() -> dict[str, str]:
    """Return the description of each pattern in `names()`."""
    return {family.pattern: family.description for family in _families()}


def _families() -> list[Family]:
    return [family for families in MEASURES.load_all().values() for family in families]


def own_name(name: str) -> str:
    """Return the name of a measure for an alias: "jaccard@3" for "relevancy@3"."""
    base, at, number = name.partition("@")
    return f"{ALIASES.get(base, base)}{at}{number}"


def create(name: str, *, top_k: int = TOP_K, rule: SpanRule = SC_QRELS, model: object = None) -> Measure:
    """Make a measure.

    Args:
        name: Name, such as "recall@1000t" or "jaccard"; see `names` and `ALIASES`.
        top_k: Number of chunks if the name omits it.
        rule: Rule that makes a chunk relevant to a label, for the rank measures.
        model: Language model for the answer measures: anything that `kinsplit.language_models.resolve` takes; or a
            `StructuredClient`, so that several measures share the answers.

    Raises:
        InvalidParameterError: There is no measure of that name, or it needs a language model and none is given.
        MissingExtraError: It is a rank measure, and ir-measures is not installed.
    """
    own = own_name(name)
    for family in _families():
        if found := family.matches(own):
            written = found.groupdict().get("number")
            return family.make(Asked(own, int(written) if written else None, top_k, rule, _client(model)))
    known = ", ".join([*names(), *ALIASES])
    remedy = "k and N are numbers from 1, and brackets mark an optional part."
    raise InvalidParameterError("measure", f"must be one of {known}", name, remedy)


def create_many(
    names: Iterable[str], *, top_k: int = TOP_K, rule: SpanRule = SC_QRELS, model: object = None
) -> tuple[Measure, ...]:
    """Make measures without duplicates, in the given order.

    Args:
        names: See `create`.
        top_k: See `create`.
        rule: See `create`.
        model: See `create`; all measures share its answers.

    Raises:
        InvalidParameterError: No name is given; or see `create`.
        MissingExtraError: See `create`.
    """
    client = _client(model)
    created = (create(name, top_k=top_k, rule=rule, model=client) for name in names)
    made = {measure.name: measure for measure in created}
    if not made:
        raise InvalidParameterError("measures", "must name at least one", (), "Name for example recall@1000t.")
    return tuple(made.values())


def _client(model: object) -> StructuredClient | None:
    if model is None or isinstance(model, StructuredClient):
        return model
    return StructuredClient(model, answer_cache())
