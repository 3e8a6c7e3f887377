"""Conversion of nodes to items that a store keeps, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core import schema

from kinsplit.chunk import Chunk
from kinsplit.integrations.llama_index.nodes import EXCLUDED, text_of, with_hidden
from kinsplit.integrations.shared.kin.reader import FoundNode
from kinsplit.integrations.shared.origins import has_chunk_metadata, is_chunk
from kinsplit.integrations.shared.records import Item, from_chunk
from kinsplit.integrations.shared.results import Result
from kinsplit.spans import Span
from kinsplit.stores.json_values import to_json

_CLASSES = schema.TextNode, schema.ImageNode, schema.IndexNode, schema.Node, schema.Document, schema.ImageDocument
_KINDS: dict[str, type[schema.BaseNode]] = {kind.class_name(): kind for kind in _CLASSES}
_KIN = {
    schema.NodeRelationship.PREVIOUS: "prev_id",
    schema.NodeRelationship.NEXT: "next_id",
    schema.NodeRelationship.PARENT: "parent_id",
}


def item_of(node: schema.BaseNode) -> Item:
    """Return a node as an item."""
    metadata = node.metadata
    dumped = node.model_dump(
        mode="json",
        exclude={"id_", "embedding", "text", "metadata"},
        exclude_defaults=True,
        # Relationships may hold copies of metadata.
        fallback=lambda value: to_json(value, "relationships"),
    )
    start, end = getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
    span = None if start is None or end is None or has_chunk_metadata(metadata) else Span(start, end)
    return Item(node.node_id, text_of(node), metadata, node.ref_doc_id or node.node_id, span, dumped)


def node_of(chunk: Chunk) -> schema.BaseNode:
    """Return the node that a chunk was made from, or an equivalent one for another chunk."""
    item = from_chunk(chunk)
    if item.own is None or "class_name" not in item.own:
        return _foreign(item)
    kind = _KINDS.get(item.own["class_name"], schema.TextNode)
    data: dict[str, Any] = {**item.own, "id_": item.id, "metadata": dict(item.metadata)}
    if "text" in kind.model_fields:
        data["text"] = item.text
    return kind.from_dict(data)


def _foreign(item: Item) -> schema.TextNode:
    links: dict[schema.NodeRelationship, schema.RelatedNodeType] = {}
    if item.source_id != item.id:
        links[schema.NodeRelationship.SOURCE] = schema.RelatedNodeInfo(
            node_id=item.source_id, node_type=schema.ObjectType.DOCUMENT
        )
    is_own = is_chunk(item.metadata, item.text)
    links |= _kin(item.metadata if is_own else {})
    hidden = with_hidden([]) if is_own else []
    return schema.TextNode(
        id_=item.id,
        text=item.text,
        metadata=dict(item.metadata),
        start_char_idx=item.metadata.get("char_start") if is_own else None,
        end_char_idx=item.metadata.get("char_end") if is_own else None,
        relationships=links,
        **dict.fromkeys(EXCLUDED, hidden),
    )


def node_with_score(result: Result, hit: schema.BaseNode | None = None) -> schema.NodeWithScore:
    """Return a result as a node, which inherits SOURCE, excluded keys and templates of the best hit, if any."""
    metadata = result.metadata
    node = schema.TextNode(
        id_=result.id,
        text=result.text,
        metadata=metadata,
        start_char_idx=metadata.get("char_start"),
        end_char_idx=metadata.get("char_end"),
        relationships={schema.NodeRelationship.SOURCE: _source(result, hit), **_kin(metadata)},
        **{name: with_hidden(getattr(hit, name, ())) for name in EXCLUDED},
    )
    if hit is not None:
        node.metadata_template, node.metadata_separator = hit.metadata_template, hit.metadata_separator
        node.text_template = getattr(hit, "text_template", node.text_template)
    return schema.NodeWithScore(node=node, score=result.score)


def _kin(metadata: Mapping[str, Any]) -> dict[schema.NodeRelationship, schema.RelatedNodeType]:
    return {
        relationship: schema.RelatedNodeInfo(node_id=metadata[key], node_type=schema.ObjectType.TEXT)
        for relationship, key in _KIN.items()
        if metadata.get(key)
    }


def to_found(hit: schema.NodeWithScore) -> FoundNode:
    """Return a node as a hit."""
    return FoundNode.of(hit.node)._replace(score=hit.score)


def _source(result: Result, hit: schema.BaseNode | None) -> schema.RelatedNodeInfo:
    known = None if hit is None else hit.source_node
    return known or schema.RelatedNodeInfo(
        node_id=result.metadata.get("source_id", result.id), node_type=schema.ObjectType.DOCUMENT
    )
