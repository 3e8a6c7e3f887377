"""A native LlamaIndex query engine on the sample course: kin scoring, reranking and whole passages, all offline.

Run: python examples/llama_index_query_engine.py
"""

from pathlib import Path

from llama_index.core import Settings
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode

from kinsplit import Index
from kinsplit.integrations.llama_index import KinsplitRetriever, Rerank, details

COURSE = Path(__file__).parent / "course"
QUESTIONS = ("What is a base case, and what happens without one?", "When is binary search possible?")

# Use a real model here; this one is never called.
Settings.llm = MockLLM()

# Use "edge:./kinsplit-data" instead of memory to keep the index for the next run.
with Index("memory:") as index:
    report = index.add(COURSE)
    print(f"{report.documents} documents, {report.added} chunks\n")

    engine = RetrieverQueryEngine.from_args(
        KinsplitRetriever(index, top_k=5, window=1, within_sections=True, budget=2000),
        node_postprocessors=[Rerank("late", top_n=2, embedder=index.embedder)],
        # Omit this with a real model; without one, the response is the retrieved text.
        response_mode=ResponseMode.CONTEXT_ONLY,
    )
    for question in QUESTIONS:
        response = engine.query(question)
        print(question)
        for hit in response.source_nodes:
            metadata = hit.node.metadata
            where = f"{metadata['source_id']} [{metadata['char_start']}:{metadata['char_end']}]"
            stages = ", ".join(f"{stage} {score:.2f}" for stage, score in details(metadata)["scores"].items())
            print(f"  {where}  {metadata.get('context', '')}")
            print(f"    {stages}")
        print(f"  {str(response)[:300]!r}...\n")
