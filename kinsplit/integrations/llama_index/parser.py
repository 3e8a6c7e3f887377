"""Base class of the node parsers; a strategy's own class adds its parameters as fields."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, reduce
from importlib import import_module
from typing import Annotated, Any, ClassVar, Self

from llama_index.core.node_parser import TextSplitter
from llama_index.core.schema import BaseNode, Document
from llama_index.core.utils import get_tqdm_iterable
from pydantic import BeforeValidator, Field, PlainSerializer, PrivateAttr, WithJsonSchema, create_model

from kinsplit import chunk as core
from kinsplit.errors import InvalidParameterError, require
from kinsplit.foreign import structure_of
from kinsplit.integrations.llama_index.nodes import build_nodes, joined_nodes, origin_of, text_of, warn_of_long_metadata
from kinsplit.integrations.shared.metadata import arrange, check_inputs
from kinsplit.integrations.shared.origins import documentation, generated_name, has_chunk_metadata
from kinsplit.integrations.shared.pages import checked_documents, pages_of
from kinsplit.integrations.shared.stock import check_has_strategy, in_own_terms
from kinsplit.parsers import Strategy


def _to_name(function: object) -> object:
    """Return "module:name" for a function that can be imported, and any other value unchanged."""
    name = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', '')}"
    try:
        return name if _to_function(name) is function else function
    except (ImportError, AttributeError, ValueError):
        return function


def _to_function(value: object) -> object:
    """Return the function that "module:name" refers to, and any other value unchanged."""
    if not isinstance(value, str):
        return value
    module, _, path = value.partition(":")
    try:
        return reduce(getattr, path.split("."), import_module(module))
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{value!r} can't be imported") from error


#: Function that returns the id of a node from its index and its document; None for kinsplit's own ids.
IdFunc = Annotated[
    Callable[[int, BaseNode], str] | None,
    BeforeValidator(_to_function),
    PlainSerializer(_to_name),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]}),
]


# Documents per batch: enough to keep all cores busy, few enough for a progress bar to move.
_BATCH = 64


class KinsplitNodeParser(TextSplitter):
    """A kinsplit strategy as a LlamaIndex node parser; use one of its subclasses.

    Nodes contain exact slices of their document, with their position, their kin and an id that is the same on every
    machine if the document's id is. Splitting nodes again keeps the offsets and the SOURCE of the original document;
    the node that was split becomes the PARENT. Offsets are None if the node's position isn't known.

    Metadata don't reduce the size of chunks, whatever is embedded with them. kinsplit's own keys are excluded from the
    embedded and the LLM text, except `context`, the heading path. The cache of an `IngestionPipeline` compares texts
    and metadata, not ids: give documents with equal texts different metadata, such as their path, or disable the cache.

    The pages into which a reader has cut a file are joined first, so that kin cross pages; see
    `kinsplit.integrations.llama_index.join_pages`.

    Args:
        include_metadata: Whether nodes inherit their document's metadata; kinsplit's keys take precedence.
        include_prev_next_rel: Whether nodes are linked to the nodes before and after them on their level.
        callback_manager: Receives the events of parsing.
        id_func: Function that returns the id of a node from its index and its document, instead of kinsplit's own ids.
        join_pages: Whether to join the pages of a file. If not, each page is a document of its own.
        **data: The strategy's parameters. Those of LlamaIndex's own parsers are taken too if they mean something here;
            see `kinsplit.integrations.shared.stock.STOCK`.

    Raises:
        InvalidParameterError: A parameter is unknown or invalid; when splitting, two different documents have the
            same id.
    """

    #: The strategy's class; set in the subclasses.
    strategy_class: ClassVar[type[Strategy]]

    id_func: IdFunc = Field(default=None, description="Function that returns node ids; None for kinsplit's own.")  # type: ignore[assignment]
    join_pages: bool = Field(default=True, description="Whether to join the pages of a file.")

    _strategy: Strategy = PrivateAttr()

    def __new__(cls, *_given: object, **_data: object) -> Self:
        """Refuse to make a parser without a strategy."""
        check_has_strategy(cls, "node_parser")
        return super().__new__(cls)

    def __init__(self, **data: object) -> None:
        own = self._beside(data)
        given = in_own_terms(self.strategy_class, {name: data[name] for name in data if name not in own})
        strategy = self.strategy_class(**given)
        super().__init__(**own, **strategy.parameters)
        self._strategy = strategy
        # Parameters derived from others are derived again when those change.
        self.model_fields_set.intersection_update(own | given)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the parser is serialised."""
        return cls.__name__

    @classmethod
    def from_defaults(cls, **parameters: object) -> Self:
        """Return a parser, like the constructor."""
        return cls(**parameters)

    @property
    def strategy(self) -> Strategy:
        """The strategy with this parser's parameters."""
        return self._strategy

    def split_text(self, text: str) -> list[str]:
        """Return the texts of a text's chunks."""
        return [chunk.text for chunk in self._strategy.chunk(core.Document(id="", text=text))]

    def get_nodes_from_documents(
        self, documents: Sequence[Any], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        """Split documents or nodes; see the class."""
        return super().get_nodes_from_documents(checked_documents(documents, BaseNode), show_progress, **kwargs)

    async def aget_nodes_from_documents(
        self, documents: Sequence[Any], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        """Do the same as `get_nodes_from_documents` without blocking the event loop."""
        given = checked_documents(documents, BaseNode)
        return await super().aget_nodes_from_documents(given, show_progress, **kwargs)

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **_: object) -> list[BaseNode]:
        nodes = joined_nodes(nodes, files=self.join_pages)
        origins = [origin_of(node) for node in nodes]
        whole = [node.metadata for node in nodes if not has_chunk_metadata(node.metadata)]
        kept = check_inputs([origin.name for origin in origins], [text_of(node) for node in nodes], whole)
        nodes, origins = [nodes[index] for index in kept], [origins[index] for index in kept]
        progress = get_tqdm_iterable(nodes, show_progress, "Parsing nodes")
        chunked = [chunks for _, chunks in zip(progress, self._chunk(nodes), strict=True)]
        ids = {} if self.id_func is None else _own_ids(self.id_func, nodes, chunked)
        pages = [pages_of(node.metadata) for node in nodes]
        arranged = arrange(self._strategy.name, origins, [text_of(node) for node in nodes], chunked, pages, ids)
        if self.include_metadata:
            warn_of_long_metadata(nodes, arranged)
        return build_nodes(nodes, origins, arranged, self.include_metadata, self.include_prev_next_rel)

    async def _aparse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **_: object
    ) -> list[BaseNode]:
        return await asyncio.to_thread(self._parse_nodes, nodes, show_progress=show_progress)

    def _postprocess_parsed_nodes(self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]) -> list[BaseNode]:
        # The base class would search for each text again, and would not link all neighbours.
        del parent_doc_map
        return nodes

    def _chunk(self, nodes: Sequence[BaseNode]) -> Iterator[list[core.Chunk]]:
        for first in range(0, len(nodes), _BATCH):
            batch = nodes[first : first + _BATCH]
            texts = [text_of(node) for node in batch]
            yield from self._strategy.chunk_many(
                core.Document(node.node_id, text, **structure_of(text, node.metadata))
                for node, text in zip(batch, texts, strict=True)
            )

    def __setattr__(self, name: str, value: object) -> None:
        if name in self.strategy_class.model_fields:
            self.__init__(**{**self._given(), name: value})  # type: ignore[misc]
        else:
            super().__setattr__(name, value)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with some fields changed and validated; nothing in it needs a deep copy."""
        del deep
        return type(self)(**{**self._given(), **(update or {})})

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self.model_copy()

    def to_dict(self, **kwargs: object) -> dict[str, Any]:
        """Return the parser as a dictionary; tokenizer and model objects stay as they are."""
        given = {field: getattr(self, field) for field in self.strategy_class.resources}
        return {**super().to_dict(**kwargs), **given}

    def to_json(self, **kwargs: object) -> str:
        """Return the parser as JSON.

        Raises:
            InvalidParameterError: `id_func`, or a tokenizer or model object, can't be serialised.
        """
        remedies = {field: f"Name it: {names}." for field, names in self.strategy_class.resources.items()}
        for field, remedy in {**remedies, "id_func": "Define it at the top of a module."}.items():
            value = self.to_dict()[field]
            require(isinstance(value, str | None), field, "can't be written as JSON", value, remedy)
        return super().to_json(**kwargs)

    def __reduce__(self) -> tuple[Callable[..., KinsplitNodeParser], tuple[Any, ...]]:
        # The strategy raises an error if its tokenizer can't be pickled. Callbacks belong to a process.
        given = self._given()
        own = self._beside(given)
        own.pop("callback_manager", None)
        return _rebuild, (type(self), self._strategy, tuple(given.keys() & self._strategy.parameters), own)

    @classmethod
    def _beside(cls, data: Mapping[str, object]) -> dict[str, Any]:
        """Return the values of the fields that are no parameters of the strategy."""
        fields = cls.model_fields.keys() - cls.strategy_class.model_fields
        return {name: value for name, value in data.items() if name in fields}

    def _given(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}


def _rebuild(
    kind: type[KinsplitNodeParser], strategy: Strategy, given: Sequence[str], own: dict[str, Any]
) -> KinsplitNodeParser:
    return kind(**{name: strategy.parameters[name] for name in given}, **own)


def _own_ids(
    id_func: Callable[[int, BaseNode], str], nodes: Sequence[BaseNode], chunked: Sequence[Sequence[core.Chunk]]
) -> dict[str, str]:
    ids = {
        chunk.id: id_func(index, node)
        for node, chunks in zip(nodes, chunked, strict=True)
        for index, chunk in enumerate(chunks)
    }
    if len(set(ids.values())) < len(ids):
        repeated = Counter(ids.values()).most_common(1)[0][0]
        rule = "must return a different id for each node"
        raise InvalidParameterError("id_func", rule, repeated, "Use the node's id and the position.")
    return ids


@cache
def node_parser_class(strategy: type[Strategy]) -> type[KinsplitNodeParser]:
    """Return the node parser class of a strategy, with the strategy's parameters as fields."""
    fields: dict[str, Any] = {name: (info.annotation, info) for name, info in strategy.model_fields.items()}
    made = create_model(
        generated_name(strategy.__name__, "NodeParser"),
        __base__=KinsplitNodeParser,
        __module__=__package__,
        __doc__=documentation(strategy),
        **fields,
    )
    made.strategy_class = strategy
    return made
