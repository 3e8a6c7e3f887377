"""Registry of the measures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from kinsplit.compat import rag_eval
from kinsplit.errors import InvalidParameterError
from kinsplit.evaluation.measures.answers import (
    AnswerBleu,
    AnswerCompleteness,
    AnswerFaithfulness,
    AnswerMeasure,
    AnswerRelevance,
    AnswerRouge1,
    AnswerRouge2,
    AnswerRougeL,
)
from kinsplit.evaluation.measures.protocol import Measure
from kinsplit.evaluation.measures.ranks import RANK_MEASURES, AndGroupSuccess, RankMeasure
from kinsplit.evaluation.measures.spans import BudgetRecall, Iou, PrecisionOmega, TextPrecision, TextRecall
from kinsplit.evaluation.measures.words import Cosine, Jaccard, QueryTerms, Seconds
from kinsplit.evaluation.qrels.alignment import SC_QRELS, SpanRule
from kinsplit.language_models.structured import StructuredClient, answer_cache

#: Default number of chunks for measures whose name can omit it.
TOP_K = 5


class Asked(NamedTuple):
    """A request for a measure.

    Attributes:
        name: Name of the measure, with aliases resolved.
        number: Number in the name, if there is one.
        top_k: Number of chunks if the name omits it.
        rule: Rule that makes a chunk relevant.
        client: Client of the language model, if one is given.
    """

    name: str
    number: int | None
    top_k: int
    rule: SpanRule
    client: StructuredClient | None = None

    @property
    def k(self) -> int:
        """The number in the name, or the default."""
        return self.number or self.top_k


class Family(NamedTuple):
    """Measures that differ by a number.

    Attributes:
        pattern: Pattern of the names: "@k" stands for a number of chunks, "@Nt" for a number of tokens; "[@k]" is
            optional.
        description: Meaning in one line.
        make: Function that makes a measure.
    """

    pattern: str
    description: str
    make: Callable[[Asked], Measure]

    def matches(self, name: str) -> re.Match[str] | None:
        """Return the match of a name; its group "number" is the number in the name, if there is one."""
        number = r"@(?P<number>[1-9][0-9]{0,8})"
        form = re.escape(self.pattern).replace(r"\[@k\]", f"(?:{number})?").replace("@Nt", f"{number}t")
        return re.fullmatch(form.replace("@k", number), name)


def _rank_family(pattern: str, description: str) -> Family:
    return Family(pattern, description, lambda a: RankMeasure.make(a.name, description, a.number, a.rule))


def _answer_family(base: str, kind: type[AnswerMeasure]) -> Family:
    def make(asked: Asked) -> Measure:
        if asked.client is None:
            rule = f"must be given for {asked.name}, which needs answers of a language model"
            raise InvalidParameterError("model", rule, None, "Give for example 'ollama:llama3'.")
        return kind(asked.name, asked.k, asked.client)

    return Family(f"{base}[@k]", kind.description, make)


_FAMILIES = (
    Family("recall@Nt", BudgetRecall.description, lambda asked: BudgetRecall(asked.k)),
    *(_rank_family(*described) for described in RANK_MEASURES.items()),
    Family("AGS@k", AndGroupSuccess.description, lambda asked: AndGroupSuccess(asked.k, asked.rule.span_coverage)),
    Family("text_recall@k", TextRecall.description, lambda asked: TextRecall(asked.k)),
    Family("text_precision@k", TextPrecision.description, lambda asked: TextPrecision(asked.k)),
    Family("iou@k", Iou.description, lambda asked: Iou(asked.k)),
    Family("precision_omega", PrecisionOmega.description, lambda _: PrecisionOmega()),
    Family("seconds", Seconds.description, lambda _: Seconds()),
    Family("jaccard[@k]", Jaccard.description, lambda asked: Jaccard(asked.name, asked.k)),
    Family("query_terms[@k]", QueryTerms.description, lambda asked: QueryTerms(asked.name, asked.k)),
    Family("cosine[@k]", Cosine.description, lambda asked: Cosine(asked.name, asked.k)),
    _answer_family("answer_faithfulness", AnswerFaithfulness),
    _answer_family("answer_relevance", AnswerRelevance),
    _answer_family("answer_completeness", AnswerCompleteness),
    _answer_family("answer_bleu", AnswerBleu),
    _answer_family("answer_rouge1", AnswerRouge1),
    _answer_family("answer_rouge2", AnswerRouge2),
    _answer_family("answer_rougeL", AnswerRougeL),
)

#: Other names for the part of a name before "@": those of `rag_eval`, and those of ir-measures.
ALIASES = {
    **rag_eval.MEASURES,
    "RR": "MRR",
    "AP": "MAP",
}


def names() -> list[str]:
    """Return the patterns of all names: "@k" chunks, "@Nt" tokens, "[...]" is optional."""
    return [family.pattern for family in _FAMILIES]


def descriptions() -> dict[str, str]:
    """Return the description of each pattern in `names()`."""
    return {family.pattern: family.description for family in _FAMILIES}


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
    for family in _FAMILIES:
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
