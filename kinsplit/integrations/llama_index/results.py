"""Results as nodes."""

from __future__ import annotations

from llama_index.core.schema import BaseNode, NodeRelationship, NodeWithScore, ObjectType, RelatedNodeInfo, TextNode

from kinsplit.integrations.llama_index.nodes import text_of, with_hidden
from kinsplit.integrations.origins import FINDING
from kinsplit.integrations.results import Result
from kinsplit.integrations.siblings import Found


def node_with_score(result: Result, hit: BaseNode | None = None) -> NodeWithScore:
    """Return a result as a node.

    Args:
        result: The result.
        hit: What LlamaIndex found of it; its SOURCE, excluded keys and templates are taken over.
    """
    metadata = result.metadata
    node = TextNode(
        id_=result.id,
        text=result.text,
        metadata=metadata,
        start_char_idx=metadata.get("char_start"),
        end_char_idx=metadata.get("char_end"),
        excluded_embed_metadata_keys=[*with_hidden(hit.excluded_embed_metadata_keys if hit else []), FINDING],
        excluded_llm_metadata_keys=[*with_hidden(hit.excluded_llm_metadata_keys if hit else []), FINDING],
        relationships={NodeRelationship.SOURCE: _source(result, hit)},
    )
    if hit is not None:
        node.metadata_template, node.metadata_separator = hit.metadata_template, hit.metadata_separator
        node.text_template = getattr(hit, "text_template", node.text_template)
    return NodeWithScore(node=node, score=result.score)


def found(hit: NodeWithScore) -> Found:
    """Return what LlamaIndex found."""
    return Found(hit.node.node_id, text_of(hit.node), hit.node.metadata, hit.score)


def _source(result: Result, hit: BaseNode | None) -> RelatedNodeInfo:
    known = None if hit is None else hit.source_node
    return known or RelatedNodeInfo(node_id=result.metadata.get("source_id", result.id), node_type=ObjectType.DOCUMENT)
