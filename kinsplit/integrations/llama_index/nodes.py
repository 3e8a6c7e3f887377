"""Construction of nodes, each built once with all its fields."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from llama_index.core import schema

from kinsplit.chunk import UNSEEN
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.shared.metadata import HIDDEN, FrameworkPiece, inherited
from kinsplit.integrations.shared.origins import CONTEXT, TextOrigin, has_chunk_metadata
from kinsplit.integrations.shared.pages import PAGE_KEYS, PAGES, Joined, Text, join, pages_of
from kinsplit.spans import Span, stretches

N = TypeVar("N", bound=schema.BaseNode)

#: Fields of a node with the metadata keys that are not embedded, and that a language model doesn't read.
EXCLUDED = "excluded_embed_metadata_keys", "excluded_llm_metadata_keys"
_SOURCE, _PREVIOUS, _NEXT, _PARENT, _CHILD = schema.NodeRelationship


def origin_of(node: schema.BaseNode) -> TextOrigin:
    """Return the origin of the text of a document or node.

    The origin of a node is a part of the document that is its SOURCE. Its position there is known if kinsplit made the
    node, or if its character indices span exactly its text. A node without a SOURCE counts as a document.
    """
    text, source = text_of(node), node.source_node
    if has_chunk_metadata(node.metadata):
        return TextOrigin.chunk(node.node_id, text, node.metadata, source.node_id if source else None)
    start, end = getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
    spans = None if start is None or end is None else stretches([Span(start, end)], text)
    if source is not None:
        return TextOrigin(node.node_id, source.node_id, spans, node.node_id)
    whole = TextOrigin.document(node.node_id, text)
    return whole if spans is None else TextOrigin(node.node_id, node.node_id, spans)


def text_of(node: schema.BaseNode) -> str:
    """Return the text that offsets refer to."""
    return node.get_content(metadata_mode=schema.MetadataMode.NONE)


def join_pages(documents: Sequence[N]) -> list[N]:
    """Join the pages or elements into which a reader has cut files; see `kinsplit.integrations.shared.pages.join`.

    Node parsers do this by themselves with the documents of one call. Join them before an `IngestionPipeline` that has
    a docstore, which skips unchanged pages, or `num_workers`, which get a share of the pages each. A joined document
    has the file's path as its id, the metadata that all its pages share, and the others under `joined_pages`.

    Args:
        documents: Pages, which give the file as `file_path` or `file_name` and the page as `page_label` or `page`, and
            other documents or nodes, which stay as they are.
    """
    joined: list[Any] = joined_nodes(documents, files=True, by_file=True)
    return joined


def joined_nodes(documents: Sequence[schema.BaseNode], *, files: bool, by_file: bool = False) -> list[schema.BaseNode]:
    """Return documents as `join_pages` does; without `files`, only what Docling has written as JSON is read.

    The only page of a file keeps its id, by which an index updates and deletes what it inserted, unless `by_file`.
    """
    texts = [
        Text(text_of(node), node.metadata, node.source_node is not None or type(node) is not schema.Document)
        for node in documents
    ]
    return [
        _document(each, documents, by_file) if isinstance(each, Joined) else documents[each]
        for each in join(texts, files=files)
    ]


def _document(joined: Joined, documents: Sequence[schema.BaseNode], by_file: bool) -> schema.Document:
    pages = [documents[index] for index in joined.members]
    hidden = {name: dict.fromkeys(key for page in pages for key in getattr(page, name)) for name in EXCLUDED}
    return schema.Document(
        id_=(joined.source_id if by_file or pages[1:] else None) or pages[0].node_id,
        text=joined.text,
        metadata=joined.metadata,
        metadata_template=pages[0].metadata_template,
        metadata_separator=pages[0].metadata_separator,
        text_template=_text_template(pages[0]),
        **{name: [*keys, PAGES] for name, keys in hidden.items()},
    )


def _text_template(document: schema.BaseNode) -> str:
    template: str = getattr(document, "text_template", schema.TextNode.model_fields["text_template"].default)
    return template


def build_nodes(
    documents: Sequence[schema.BaseNode],
    origins: Sequence[TextOrigin],
    arranged: Sequence[Sequence[FrameworkPiece]],
    include_metadata: bool,
    include_prev_next_rel: bool,
) -> list[schema.BaseNode]:
    """Return the nodes of many documents, from the origin and the pieces of each."""
    links = _Links(origins, arranged, include_prev_next_rel)
    return [
        node
        for document, origin, pieces in zip(documents, origins, arranged, strict=True)
        for node in _nodes(document, origin, pieces, links, include_metadata)
    ]


def warn_of_long_metadata(documents: Sequence[schema.BaseNode], arranged: Sequence[Sequence[FrameworkPiece]]) -> None:
    """Warn if a document's own metadata, which are embedded with every chunk, are longer than any of its chunks."""
    for document, pieces in zip(documents, arranged, strict=True):
        hidden = {CONTEXT, PAGES, *HIDDEN, *UNSEEN, *document.excluded_embed_metadata_keys}
        shown = {key: str(value) for key, value in document.metadata.items() if key not in hidden}
        if len(pieces) > 1 and sum(map(len, shown.values())) > max(len(piece.text) for piece in pieces):
            warnings.warn(
                f"metadata: the values of {', '.join(map(repr, shown))} are embedded with every chunk and longer than "
                "the chunks, whose size is not reduced. Add these keys to excluded_embed_metadata_keys unless that is "
                "intended.",
                stacklevel=3,
            )
            return


class _Links:
    """The relationships between the nodes of one call; each linked node is described once."""

    def __init__(
        self, origins: Sequence[TextOrigin], arranged: Sequence[Sequence[FrameworkPiece]], siblings: bool
    ) -> None:
        self._siblings = siblings
        self._known: dict[str, schema.RelatedNodeInfo] = {}
        self._children: defaultdict[str, list[schema.RelatedNodeInfo]] = defaultdict(list)
        for origin, pieces in zip(origins, arranged, strict=True):
            for piece in pieces:
                parent = piece.metadata["parent_id"]
                if parent is not None and parent != origin.parent_id:
                    self._children[parent].append(self._info(piece.id))

    def of(
        self, piece: FrameworkPiece, source: schema.RelatedNodeInfo
    ) -> dict[schema.NodeRelationship, schema.RelatedNodeType]:
        """Return the relationships of a piece."""
        metadata = piece.metadata
        links: dict[schema.NodeRelationship, schema.RelatedNodeType] = {_SOURCE: source}
        if self._siblings and metadata["prev_id"]:
            links[_PREVIOUS] = self._info(metadata["prev_id"])
        if self._siblings and metadata["next_id"]:
            links[_NEXT] = self._info(metadata["next_id"])
        if metadata["parent_id"]:
            links[_PARENT] = self._info(metadata["parent_id"])
        if piece.id in self._children:
            links[_CHILD] = self._children[piece.id]
        return links

    def _info(self, node_id: str) -> schema.RelatedNodeInfo:
        found = self._known.get(node_id)
        if found is None:
            found = self._known[node_id] = schema.RelatedNodeInfo(node_id=node_id, node_type=schema.ObjectType.TEXT)
        return found


def _nodes(
    document: schema.BaseNode,
    origin: TextOrigin,
    pieces: Sequence[FrameworkPiece],
    links: _Links,
    include_metadata: bool,
) -> Iterator[schema.TextNode]:
    source = _source(document, origin)
    metadata = inherited(document.metadata) if include_metadata else {}
    extra = {key for piece in pieces for key in piece.extra if key not in metadata}
    extra.update(PAGE_KEYS if pages_of(document.metadata) else ())
    kind, fields = _shared_fields(document, sorted(extra))
    for piece in pieces:
        yield kind(
            id_=piece.id,
            text=piece.text,
            start_char_idx=piece.metadata.get("char_start"),
            end_char_idx=piece.metadata.get("char_end"),
            metadata=piece.flat({**metadata, **(piece.page if include_metadata else {})}),
            relationships=links.of(piece, source),
            **fields,
        )


def _source(document: schema.BaseNode, origin: TextOrigin) -> schema.RelatedNodeInfo:
    if origin.source_id == document.node_id:
        return schema.RelatedNodeInfo(node_id=document.node_id, node_type=document.get_type(), hash=_hash(document))
    known = document.source_node
    if known is None:
        return schema.RelatedNodeInfo(node_id=origin.source_id, node_type=schema.ObjectType.DOCUMENT)
    return schema.RelatedNodeInfo(node_id=known.node_id, node_type=known.node_type, hash=known.hash)


def _hash(document: schema.BaseNode) -> str:
    try:
        return document.hash
    except UnicodeEncodeError:
        remedy = 'Replace them, one for one: text.encode("utf-8", "replace").decode()'
        raise InvalidParameterError(
            "documents", "can't hold lone surrogates, which LlamaIndex can't hash", document.node_id, remedy
        ) from None


def _shared_fields(document: schema.BaseNode, extra: Sequence[str]) -> tuple[type[schema.TextNode], dict[str, Any]]:
    """Return the class of a document's nodes, and the fields that all of them share; validation copies the lists."""
    fields: dict[str, Any] = {
        **{name: with_hidden(getattr(document, name), extra) for name in EXCLUDED},
        "metadata_template": document.metadata_template,
        # LlamaIndex's alias, since the nodes of its older versions join by a field of this name.
        "metadata_seperator": document.metadata_separator,
        "text_template": _text_template(document),
    }
    if not isinstance(document, schema.ImageDocument):
        return schema.TextNode, fields
    for field in ("image", "image_path", "image_url", "image_mimetype"):
        fields[field] = getattr(document, field)
    return schema.ImageNode, fields


def with_hidden(keys: Sequence[str], extra: Sequence[str] = ()) -> list[str]:
    """Return the keys to exclude from the embedded or the LLM text, including those of kinsplit and the strategy."""
    return list(dict.fromkeys([*keys, *HIDDEN, *UNSEEN, *extra]))
