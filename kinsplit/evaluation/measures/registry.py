"""The one list of measures; the command line, the docs and the reports are made from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from kinsplit.errors import InvalidParameterError
from kinsplit.evaluation.measures.budget_recall import BudgetRecall
from kinsplit.evaluation.measures.cosine import Cosine
from kinsplit.evaluation.measures.jaccard import Jaccard
from kinsplit.evaluation.measures.protocol import Measure
from kinsplit.evaluation.measures.query_terms import QueryTerms
from kinsplit.evaluation.measures.seconds import Seconds

#: Chunks that a measure looks at whose name may leave their number out.
TOP_K = 5


class Asked(NamedTuple):
    """What a name asks for.

    Attributes:
        name: The measure's own, aliases resolved.
        number: The number in it, or what stands for it where it may be left out.
    """

    name: str
    number: int


class Family(NamedTuple):
    """Measures that differ by a number.

    Attributes:
        pattern: Their names: "@k" stands for a number of chunks, "@Nt" for one of tokens; "[@k]" may be left out.
        description: What they say, in one line.
        make: Makes one.
    """

    pattern: str
    description: str
    make: Callable[[Asked], Measure]

    def matches(self, name: str) -> re.Match[str] | None:
        """Return the match of a name, whose group "number" is its number, if it has one."""
        number = r"@(?P<number>[1-9][0-9]{0,8})"
        form = re.escape(self.pattern).replace(r"\[@k\]", f"(?:{number})?").replace("@Nt", f"{number}t")
        return re.fullmatch(form.replace("@k", number), name)


_FAMILIES = (
    Family("recall@Nt", BudgetRecall.description, lambda asked: BudgetRecall(asked.number)),
    Family("seconds", Seconds.description, lambda _: Seconds()),
    Family("jaccard[@k]", Jaccard.description, lambda asked: Jaccard(*asked)),
    Family("query_terms[@k]", QueryTerms.description, lambda asked: QueryTerms(*asked)),
    Family("cosine[@k]", Cosine.description, lambda asked: Cosine(*asked)),
)

#: Other names for the part of a name before "@": those of `rag_eval`.
ALIASES = {"response_time": "seconds", "relevancy": "jaccard", "faithfulness": "query_terms"}


def names() -> dict[str, str]:
    """Return the patterns of all names with what they say: "@k" chunks, "@Nt" tokens, "[...]" may be left out."""
    return {family.pattern: family.description for family in _FAMILIES}


def create(name: str, top_k: int = TOP_K) -> Measure:
    """Make a measure.

    Args:
        name: Such as "recall@1000t" or "jaccard"; see `names` and `ALIASES`.
        top_k: Chunks that it looks at where the name leaves their number out.

    Raises:
        InvalidParameterError: No measure has that name.
    """
    base, at, number = name.partition("@")
    own = f"{ALIASES.get(base, base)}{at}{number}"
    for family in _FAMILIES:
        if found := family.matches(own):
            return family.make(Asked(own, int(found.groupdict().get("number") or top_k)))
    known = ", ".join([*names(), *ALIASES])
    remedy = "k and N are numbers from 1, and what stands in brackets may be left out."
    raise InvalidParameterError("measure", f"must be one of {known}", name, remedy)


def create_many(names: Iterable[str], top_k: int = TOP_K) -> tuple[Measure, ...]:
    """Make measures, each once, in the order in which they are named first.

    Args:
        names: See `create`.
        top_k: See `create`.

    Raises:
        InvalidParameterError: No measure has one of the names, or there is none.
    """
    made = {measure.name: measure for measure in (create(name, top_k) for name in names)}
    if not made:
        raise InvalidParameterError("measures", "must name at least one", (), "Name for example recall@1000t.")
    return tuple(made.values())
