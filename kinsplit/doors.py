"""Doors: who offers which options of `kinsplit.options`, and the reason of each exception.

An operation has the same options behind every door, with the same names, types, defaults, bounds and descriptions. What
differs is stated here, and nowhere else: `docs/options.py` writes the tables of the site from it, and
`tests/test_options.py` looks behind each door.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import NamedTuple

from annotated_types import Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from kinsplit.options import AddOptions, AnswerOptions, EvaluationOptions, IndexOptions, SearchOptions, SpanRule


class Default(NamedTuple):
    """A default of one door.

    Attributes:
        value: The default.
        reason: Reason why it is not that of the option.
    """

    value: object
    reason: str


@dataclass(frozen=True)
class Door:
    """A door with the options that it offers.

    Attributes:
        models: Models of the options; of two with one name, the later one counts. None if the operation is not offered.
        closed: Reason why the operation is not offered.
        without: Options that it does not offer, each with the reason.
        most: Upper bounds below those of Python.
        defaults: Defaults other than those of Python.
        table: Table of a settings file from which a command takes options that aren't given.
    """

    models: tuple[type[BaseModel], ...] = ()
    closed: str = ""
    without: Mapping[str, str] = field(default_factory=dict)
    most: Mapping[str, int] = field(default_factory=dict)
    defaults: Mapping[str, Default] = field(default_factory=dict)
    table: str = ""

    def fields(self) -> dict[str, FieldInfo]:
        """Return the options that the door offers, with its bounds and defaults."""
        offered = {name: copy(info) for model in self.models for name, info in model.model_fields.items()}
        for name in offered.keys() & self.without.keys():
            del offered[name]
        for name in offered.keys() & self.most.keys():
            offered[name].metadata = [*offered[name].metadata, Le(self.most[name])]
        for name in offered.keys() & self.defaults.keys():
            offered[name].default = self.defaults[name].value
        return offered


#: Doors by name.
PYTHON, COMMAND, FILE, HTTP, MCP = "Python", "command line", "settings file", "HTTP", "MCP"
LANGCHAIN, LLAMA_INDEX = "LangChain", "LlamaIndex"

_SEARCH, _ASK = (SearchOptions,), (SearchOptions, AnswerOptions)
_INDEX, _EVALUATE = (IndexOptions, AddOptions), (SearchOptions, EvaluationOptions)
_GIVEN = {"budget": "the measures give it, as in recall@1000t"}

_TUNED = "kinsplit tune chooses them, and the collection keeps them"
# One request must not take the time of many.
_MOST_OF_A_SEARCH = {"top_k": 50, "candidates": 200, "window": 10, "budget": 100_000}
_FEW = "a model chooses better among few arguments"
_MCP_SEARCH = {
    "weights": _TUNED,
    **dict.fromkeys(("candidates", "within_sections", "diversity", "context_share"), _FEW),
    "rerank": "a model would have to know the rerankers of the service",
}
_SHORT = dict.fromkeys(("window", "ranking", "budget", "max_tokens", "min_support"), _FEW)
_ONE_ANSWER = "the framework's own engine or chain answers, with the retriever or the tool of kinsplit"
_HANDS = "the framework splits, embeds and stores, with kinsplit's splitter, embeddings and vector store"
_LONG = "an evaluation takes longer than a request may, and reads files that only the machine's user may name"
_SERVED = "the service indexes what its setting watch names and what is uploaded, for all of its clients alike"
_OWN_LABELS = "no labels are compared"
_ONE_CHOICE = "recall within the budget of its own option decides"

#: Commands with options of an operation.
COMMANDS: Mapping[str, Door] = {
    "search": Door(_SEARCH, table="search"),
    "ask": Door(_ASK, table="ask"),
    "index": Door(_INDEX, table="index"),
    "watch": Door(_INDEX, without={"prune": "always set, since that is what watching means"}, table="index"),
    "chunk": Door(
        _INDEX,
        without={
            **dict.fromkeys(
                ("embedding_context", "context_model", "language", "weights"),
                "chunks are neither embedded nor searched",
            ),
            "prune": "nothing is stored",
        },
        table="index",
    ),
    "evaluate": Door(_EVALUATE, without=_GIVEN, table="evaluate"),
    "compare": Door(
        (EvaluationOptions,),
        without={
            **dict.fromkeys(("measures", "headline"), "the cosine with the question is the measure"),
            **dict.fromkeys(("baseline", *SpanRule.model_fields), _OWN_LABELS),
            "model": "no answers are judged",
        },
        defaults={
            "top_k": Default(1, "one chunk of each strategy is enough to look at"),
            "ranker": Default("dense", "only its scores, cosines, are the same for all strategies"),
        },
        table="evaluate",
    ),
    "tune": Door(
        (EvaluationOptions,),
        without={
            **dict.fromkeys(("measures", "headline", "top_k", *SpanRule.model_fields), _ONE_CHOICE),
            "baseline": "the library's default is the baseline",
        },
        table="evaluate",
    ),
    "qrels": Door((SpanRule,)),
}

#: The doors of each operation.
DOORS: Mapping[str, Mapping[str, Door]] = {
    "search": {
        PYTHON: Door(_SEARCH),
        COMMAND: COMMANDS["search"],
        FILE: Door(_SEARCH),
        HTTP: Door(_SEARCH, without={"weights": _TUNED}, most=_MOST_OF_A_SEARCH),
        MCP: Door(
            _SEARCH,
            without=_MCP_SEARCH,
            most=_MOST_OF_A_SEARCH,
            defaults={"budget": Default(4000, "passages go into the context of a model")},
        ),
        LANGCHAIN: Door(
            _SEARCH,
            without={"top_k": "LangChain's retrievers call it k; top_k is taken too"},
            defaults={"weights": Default(None, "a field that isn't set stands for the weights of the collection")},
        ),
        LLAMA_INDEX: Door(_SEARCH),
    },
    "ask": {
        PYTHON: Door(_ASK),
        COMMAND: COMMANDS["ask"],
        FILE: Door(_ASK),
        HTTP: Door(_ASK, without={"weights": _TUNED}, most={**_MOST_OF_A_SEARCH, "max_tokens": 4096}),
        MCP: Door(_ASK, without={**_MCP_SEARCH, **_SHORT}, most=_MOST_OF_A_SEARCH),
        LANGCHAIN: Door(closed=_ONE_ANSWER),
        LLAMA_INDEX: Door(closed=_ONE_ANSWER),
    },
    "index": {
        PYTHON: Door(_INDEX),
        COMMAND: COMMANDS["index"],
        FILE: Door(_INDEX),
        HTTP: Door(closed=_SERVED),
        MCP: Door(closed="the tools change nothing"),
        LANGCHAIN: Door(closed=_HANDS),
        LLAMA_INDEX: Door(closed=_HANDS),
    },
    "evaluate": {
        PYTHON: Door(_EVALUATE, without=_GIVEN),
        COMMAND: COMMANDS["evaluate"],
        FILE: Door(_EVALUATE, without=_GIVEN),
        HTTP: Door(closed=_LONG),
        MCP: Door(closed=_LONG),
        LANGCHAIN: Door(closed="kinsplit.evaluation takes LangChain's splitters, embeddings and models"),
        LLAMA_INDEX: Door(closed="kinsplit.evaluation takes LlamaIndex's parsers, embeddings and models"),
    },
}

_OUTPUT = "output of the terminal, or a file; the other doors return everything as values"
_SUBJECT = "what the operation works on: an argument of its own in Python and in requests"
#: Parameters of these commands that are no options of an operation, each with the reason.
BESIDE: Mapping[str, str] = {
    **dict.fromkeys(("as_json", "quiet", "full", "explain", "plain", "output", "plots"), _OUTPUT),
    **dict.fromkeys(("query", "question", "paths", "docs", "queries", "format", "normalise", "manifest"), _SUBJECT),
    **dict.fromkeys(("store", "collection"), f"{_SUBJECT}; shared settings of all commands"),
    "strategy": f"{_SUBJECT}, where several are compared",
    "embedder": "that of the collection, which an open Index has",
    "model": "that of the caller in Python, and of the service, whose setting it is, elsewhere",
    "settings": "parameters of the strategy; in a settings file, the table [index.parameters]",
    **dict.fromkeys(("config", "env_file"), "where settings come from"),
    "dry_run": "a look at the costs: Experiment.plan and Strategy.cost in Python",
    "ray": "kinsplit.integrations.ray.index has the same options",
    "settle": "watching has it alone, also in Python",
    **dict.fromkeys(
        ("budget", "minutes", "trials", "max_cost", "max_chunks", "strategies", "seed"),
        "tuning has it alone, also in Python",
    ),
    **dict.fromkeys(("tune", "least"), "a search for thresholds, which has them alone"),
}
