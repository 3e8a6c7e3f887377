"""Base class of the text splitters; a strategy's own class adds its name, signature and documentation."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from langchain_core.documents import Document
from langchain_text_splitters import TextSplitter

from kinsplit import chunk as core
from kinsplit.errors import InvalidParameterError, require
from kinsplit.foreign import structure_of
from kinsplit.identity import text_id
from kinsplit.integrations.shared.metadata import FrameworkPiece, arrange, check_inputs, inherited
from kinsplit.integrations.shared.origins import TextOrigin, documentation, generated_name, has_chunk_metadata, is_chunk
from kinsplit.integrations.shared.pages import Joined, Text, checked_documents, join, pages_of
from kinsplit.integrations.shared.stock import check_has_strategy, counting_tokens, in_own_terms
from kinsplit.parsers import Strategy
from kinsplit.parsers.packing.refine import Ruler
from kinsplit.support.extras import needs
from kinsplit.tokenizers import resolve

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def join_pages(documents: Iterable[Document]) -> list[Document]:
    """Join the pages or elements into which a loader has cut files; see `kinsplit.integrations.shared.pages.join`.

    Splitters do this by themselves with the documents of one call. A joined document has the file's path as its id, the
    metadata that all its pages share, and the others under `joined_pages`.

    Args:
        documents: Pages, which give the file as `source` or `file_path` and the page as `page`, and other documents,
            which stay as they are.
    """
    return _joined(checked_documents(documents, Document), files=True, id_key=None)


def _joined(documents: Sequence[Document], *, files: bool, id_key: str | None) -> list[Document]:
    ids = [_id_under(id_key, document) for document in documents]
    texts = [Text(each.page_content, each.metadata, file=id_) for each, id_ in zip(documents, ids, strict=True)]
    return [
        _document(each, documents) if isinstance(each, Joined) else _with_id(documents[each], ids[each])
        for each in join(texts, files=files)
    ]


def _id_under(key: str | None, document: Document) -> str | None:
    """Return the id of a document under a metadata key; None without a key, and for chunks, which have one."""
    if key is None or has_chunk_metadata(document.metadata):
        return None
    value, remedy = document.metadata.get(key), "Set it before splitting."
    require(value not in (None, ""), "id_key", "must be a metadata key of every document, with a value", key, remedy)
    return str(value)


def _with_id(document: Document, id_: str | None) -> Document:
    return document if id_ is None or document.id is not None else document.model_copy(update={"id": id_})


def _document(joined: Joined, documents: Sequence[Document]) -> Document:
    source_id = joined.source_id or documents[joined.members[0]].id
    return Document(id=source_id, page_content=joined.text, metadata=joined.metadata)


def origins_of(documents: Sequence[Document]) -> list[TextOrigin]:
    """Return the origins of the documents' texts.

    A document's source id is its id. Without one it is derived from `metadata["source"]`, if there is any, and the
    text, never from the source alone: the pages of a file share it, and documents may be split one at a time. The
    second document that would get the same source id has "-2" appended, the third "-3".
    """
    seen: Counter[str] = Counter()
    return [_origin(document, seen) for document in documents]


def _origin(document: Document, seen: Counter[str]) -> TextOrigin:
    text, metadata = document.page_content, document.metadata
    if is_chunk(metadata, text):
        position = (metadata.get(key) for key in ("source_id", "strategy", "level", "chunk_index"))
        return TextOrigin.chunk(document.id or "|".join(map(str, position)), text, metadata)
    if has_chunk_metadata(metadata):
        return TextOrigin.chunk(document.id or _name(metadata["source_id"], text, seen), text, metadata)
    if document.id is not None:
        return TextOrigin.document(document.id, text)
    return TextOrigin.document(_name(metadata.get("source", "text"), text, seen), text)


def _name(source: object, text: str, seen: Counter[str]) -> str:
    name = text_id(text, source)
    seen[name] += 1
    return name if seen[name] == 1 else f"{name}-{seen[name]}"


class KinsplitTextSplitter(TextSplitter):
    """A kinsplit strategy as a LangChain text splitter; use one of its subclasses.

    Documents contain exact slices of the text, with their position and their kin in the metadata, and an id that is the
    same on every machine if the document's id is. Loaders give documents no id: it is derived from `metadata["source"]`
    and the text, and so changes with the text. Name the metadata key of one that stays: `id_key="source"` for files and
    web pages. Splitting chunks again keeps the offsets and the source of the original document; the chunk that was
    split becomes the parent.

    The pages into which a loader has cut a file are joined first, so that kin cross pages; see `join_pages`.

    Args:
        add_start_index: Whether to add the offsets under LangChain's key `start_index`, and `end_index`.
        join_pages: Whether to join the pages of a file. If not, each page is a document of its own.
        id_key: Metadata key of the id of documents that have none, and of the file of pages.
        **parameters: The strategy's parameters. Those of LangChain's own splitters are taken too if they mean something
            here; see `kinsplit.integrations.shared.stock.STOCK`.

    Raises:
        InvalidParameterError: A parameter is unknown or invalid; when splitting, two different documents have the
            same id.
    """

    #: The strategy's class; set in the subclasses.
    strategy_class: ClassVar[type[Strategy]]
    _keep_separator = True

    def __new__(cls, *_given: object, **_parameters: object) -> Self:
        """Refuse to make a splitter without a strategy."""
        check_has_strategy(cls, "text_splitter")
        return super().__new__(cls)

    def __init__(
        self, *, add_start_index: bool = True, join_pages: bool = True, id_key: str | None = None, **parameters: object
    ) -> None:
        # The base class would store its own copies of the sizes, which the properties below read from the strategy.
        self._strategy = self.strategy_class(**in_own_terms(self.strategy_class, parameters))
        self._add_start_index = add_start_index
        self._joins_pages = join_pages
        self._id_key = id_key

    @property
    def strategy(self) -> Strategy:
        """The strategy with this splitter's parameters."""
        return self._strategy

    def split_text(self, text: str) -> list[str]:
        """Return the texts of a text's chunks."""
        return [chunk.text for chunk in self._strategy.chunk(core.Document(id="", text=text))]

    def create_documents(self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None) -> list[Document]:
        """Split texts that have no ids.

        Args:
            texts: The texts.
            metadatas: The metadata of each.

        Raises:
            InvalidParameterError: The numbers of metadata and texts differ.
        """
        require(not isinstance(texts, str), "texts", "must be several", texts, "Pass a list, or call split_text.")
        if metadatas is not None and len(metadatas) != len(texts):
            rule = f"must be as many as texts ({len(texts)})"
            raise InvalidParameterError("metadatas", rule, len(metadatas), "Pass one for each text, or none.")
        pairs = zip(texts, metadatas or [{}] * len(texts), strict=True)
        return self.split_documents(Document(page_content=text, metadata=metadata) for text, metadata in pairs)

    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """Split documents.

        Args:
            documents: Whole documents, their pages, or chunks and passages of kinsplit.

        Returns:
            The chunks of all documents, in order, each from its coarsest level down.

        Raises:
            InvalidParameterError: Two different documents have the same id, or one has no metadata key `id_key`.
        """
        documents = _joined(checked_documents(documents, Document), files=self._joins_pages, id_key=self._id_key)
        origins = origins_of(documents)
        whole = [d.metadata for d in documents if not has_chunk_metadata(d.metadata)]
        kept = check_inputs([o.name for o in origins], [d.page_content for d in documents], whole)
        documents, origins = [documents[index] for index in kept], [origins[index] for index in kept]
        chunked = self._strategy.chunk_many(
            core.Document(origin.name, document.page_content, **structure_of(document.page_content, document.metadata))
            for origin, document in zip(origins, documents, strict=True)
        )
        pages = [pages_of(document.metadata) for document in documents]
        texts = [document.page_content for document in documents]
        arranged = arrange(self._strategy.name, origins, texts, chunked, pages)
        return [
            found
            for document, pieces in zip(documents, arranged, strict=True)
            for found in self._documents(document.metadata, pieces)
        ]

    def _documents(self, metadata: Mapping[str, Any], pieces: Sequence[FrameworkPiece]) -> Iterable[Document]:
        own = inherited(metadata)
        for key in ("start_index", "end_index") if has_chunk_metadata(metadata) else ():
            own.pop(key, None)
        for piece in pieces:
            fields = piece.metadata
            if self._add_start_index and "char_start" in fields:
                fields |= {"start_index": fields["char_start"], "end_index": fields["char_end"]}
            inherits = {key: _copied(value) for key, value in {**own, **piece.page}.items()}
            yield Document(id=piece.id, page_content=piece.text, metadata=piece.flat(inherits))

    @classmethod
    def from_huggingface_tokenizer(cls, tokenizer: PreTrainedTokenizerBase, **parameters: object) -> Self:
        """Return a splitter that counts tokens with a tokenizer of `transformers`.

        It can't be pickled; a splitter with `tokenizer="hf:REPOSITORY"` can.

        Args:
            tokenizer: A fast tokenizer.
            **parameters: The splitter's other parameters.

        Raises:
            InvalidParameterError: The strategy doesn't count tokens, or the tokenizer is not a fast one.
        """
        if getattr(tokenizer, "backend_tokenizer", None) is None:
            rule = "must be a fast tokenizer of transformers"
            raise InvalidParameterError("tokenizer", rule, tokenizer, "Pass others as the parameter `tokenizer`.")
        return cls._counting_tokens(tokenizer, parameters)

    @classmethod
    def from_tiktoken_encoder(
        cls,
        encoding_name: str = "gpt2",
        model_name: str | None = None,
        allowed_special: Literal["all"] | AbstractSet[str] | None = None,
        disallowed_special: Literal["all"] | Collection[str] = "all",
        **parameters: object,
    ) -> Self:
        """Return a splitter that counts tokens with an encoding of `tiktoken`.

        Args:
            encoding_name: The encoding; only "cl100k_base" and "o200k_base" need no network.
            model_name: A model whose encoding is used instead.
            allowed_special: Not supported: special tokens are counted as ordinary text.
            disallowed_special: Not supported, for the same reason.
            **parameters: The splitter's other parameters.

        Raises:
            InvalidParameterError: The strategy doesn't count tokens, or special tokens were given.
            TokenizerError: The encoding can't be loaded.
        """
        if allowed_special or disallowed_special not in ("all", ()):
            field = "allowed_special" if allowed_special else "disallowed_special"
            rule = "must be left out, since special tokens are counted as ordinary text"
            raise InvalidParameterError(field, rule, allowed_special or disallowed_special, "Leave it out.")
        name = f"tiktoken:{_encoding_of(model_name) if model_name else encoding_name}"
        resolve(name)
        return cls._counting_tokens(name, parameters)

    @classmethod
    def _counting_tokens(cls, tokenizer: object, parameters: Mapping[str, Any]) -> Self:
        own = counting_tokens(cls.strategy_class, tokenizer)
        if own is None:
            rule, name = "must be one that counts tokens", cls.strategy_class.name
            raise InvalidParameterError("strategy", rule, name, 'Use "token" or "sentence".')
        return cls(**{**own, **parameters})

    # The base class and its users read these attributes, `_add_start_index` and `_keep_separator`.

    @property
    def _strip_whitespace(self) -> bool:  # type: ignore[override]
        return self.strategy_class.counted != "character"

    @property
    def _chunk_size(self) -> int:  # type: ignore[override]
        parameters = self._strategy.parameters
        return int(parameters.get("chunk_size") or parameters.get("child_size") or parameters["chunk_sizes"][0])

    @property
    def _chunk_overlap(self) -> int:  # type: ignore[override]
        parameters = self._strategy.parameters
        if "stride" in parameters:
            return max(0, int(parameters["chunk_size"]) - int(parameters["stride"]))
        return int(parameters.get("chunk_overlap") or 0)

    @property
    def _length_function(self) -> Callable[[str], int]:  # type: ignore[override]
        unit = getattr(self._strategy, "unit", self._strategy.counted)
        return Ruler(unit, resolve(self._strategy.tokenizer)).length

    def __repr__(self) -> str:
        own = f"add_start_index={self._add_start_index}, join_pages={self._joins_pages}, id_key={self._id_key!r}"
        return f"{type(self).__name__}({self._strategy!r}, {own})"


def _copied(value: object) -> object:
    """Return a value of its own for each chunk; a copy of a text or a number would take longer than all the rest."""
    return value if isinstance(value, str | int | float) else copy.deepcopy(value)


def _encoding_of(model: str) -> str:
    with needs("tiktoken"):
        from tiktoken import encoding_name_for_model
    try:
        return encoding_name_for_model(model)
    except KeyError as error:
        remedy = "Pass encoding_name instead."
        raise InvalidParameterError("model_name", "must be known to tiktoken", model, remedy) from error


@cache
def text_splitter_class(strategy: type[Strategy]) -> type[KinsplitTextSplitter]:
    """Return the text splitter class of a strategy, with the strategy's parameters in its signature."""
    keywords = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=info.default, annotation=info.annotation)
        for name, info in strategy.model_fields.items()
    ]
    own: dict[str, tuple[object, object, str]] = {
        "add_start_index": (True, bool, "Whether to add offsets under LangChain's own key too."),
        "join_pages": (True, bool, "Whether to join the pages of a file."),
        "id_key": (None, str | None, "Metadata key of the id of documents that have none, and of the file of pages."),
    }
    keywords += [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (default, annotation, _) in own.items()
    ]
    described = "\n".join([documentation(strategy), *(f"    {name}: {about}" for name, (*_, about) in own.items())])
    body = {"strategy_class": strategy, "__doc__": described, "__module__": __package__}
    body["__signature__"] = Signature(keywords)
    return type(generated_name(strategy.__name__, "TextSplitter"), (KinsplitTextSplitter,), body)
