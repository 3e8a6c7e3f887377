"""Replace a LlamaIndex node parser with one from kinsplit, so that every node has its correct offsets.

Run: python examples/llama_index_drop_in.py
"""

from itertools import pairwise

from llama_index.core import Document
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import MarkdownNodeParser, SentenceSplitter
from llama_index.core.schema import BaseNode, TransformComponent

from kinsplit.integrations.llama_index import node_parser

# In short, repetitive text, as in logs, tables and lecture notes, searching for each chunk's text finds wrong offsets.
LESSON = "".join(
    f"## Exercise {n}\n\n{'Run it. Read the error. Run it. Fix it. Run it. Read the error. Run it. Done. ' * 4}\n\n"
    for n in range(1, 7)
)


def report(title: str, stages: list[TransformComponent]) -> list[BaseNode]:
    """Split the lesson twice, and count correct offsets, links and ids."""
    first, second = (
        IngestionPipeline(transformations=stages).run(documents=[Document(id_="lesson.md", text=LESSON)])
        for _ in range(2)
    )
    placed, reached = 0, 0
    for node in first:
        # Without overlap, a node's true start is the first match after the end of the previous node.
        start = LESSON.index(node.text, reached)
        reached = start + len(node.text)
        placed += (node.start_char_idx, node.end_char_idx) == (start, reached)
    linked = sum(
        bool(before.next_node and before.next_node.node_id == after.id_)
        and bool(after.prev_node and after.prev_node.node_id == before.id_)
        for before, after in pairwise(first)
    )
    kept = sum(node.id_ == again.id_ for node, again in zip(first, second, strict=True))
    print(f"{title}: {len(first)} nodes")
    print(f"  with correct offsets           {placed:3} of {len(first)}")
    print(f"  linked to the next, both ways  {linked:3} of {len(first) - 1}")
    print(f"  with the same id in a new run  {kept:3} of {len(first)}\n")
    return first


report(
    "LlamaIndex, sections and then sentences", [MarkdownNodeParser(), SentenceSplitter(chunk_size=60, chunk_overlap=0)]
)

nodes = report(
    "kinsplit, sections and then sentences",
    [node_parser("structure", unit="token"), node_parser("sentence", chunk_size=60, chunk_overlap=0)],
)

node = nodes[4]
print(f"One node: {node.text[:24]!r}...")
print("  at", (node.start_char_idx, node.end_char_idx), "of", node.ref_doc_id)
print("  chunk", node.metadata["chunk_index"] + 1, "of", node.metadata["total_chunks"])
print("  under the heading", repr(node.metadata["context"]))
print("  with the id", node.id_)
