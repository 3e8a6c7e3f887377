"""A native LlamaIndex query engine over the sample course: kin scoring, reranking and whole passages, all offline.

Run it as it is: python examples/llama_index_query_engine.py
"""

from pathlib import Path

from llama_index.core import Settings
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode

from kinsplit import Index
from kinsplit.integrations.llama_index import KinsplitRetriever, Rerank

COURSE = Path(__file__).parent / "course"
QUESTIONS = ("What is a base case, and what happens without one?", "When is binary search possible?")

# Put a model of your own here; this one is never asked.
Settings.llm = MockLLM()

# A folder instead of memory, "edge:./kinsplit-data", keeps the index for the next run.
with Index("memory:", strategy="structure") as index:
    report = index.add(COURSE)
    print(f"{len(report.documents)} documents, {report.added} chunks\n")

    engine = RetrieverQueryEngine.from_args(
        KinsplitRetriever(index, top_k=5, window=1, within_sections=True, budget=2000),
        node_postprocessors=[Rerank("late", top_n=2, embedder=index.embedder)],
        # Leave this out where there is a model; without one the answer is what was found.
        response_mode=ResponseMode.CONTEXT_ONLY,
    )
    for question in QUESTIONS:
        response = engine.query(question)
        print(question)
        for hit in response.source_nodes:
            place = hit.node.metadata
            where = f"{place['source_id']} [{place['char_start']}:{place['char_end']}]"
            stages = ", ".join(f"{stage} {score:.2f}" for stage, score in place["kinsplit"]["scores"].items())
            print(f"  {where}  {place.get('context', '')}")
            print(f"    {stages}")
        print(f"  {str(response)[:300]!r}...\n")
