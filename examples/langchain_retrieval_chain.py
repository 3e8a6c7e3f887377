"""A native LangChain retrieval chain on the sample course: retrieve, expand and pass to a model, all offline.

Run: python examples/langchain_retrieval_chain.py
"""

from pathlib import Path

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

from kinsplit import Index
from kinsplit.integrations.langchain import KinsplitRetriever, details

COURSE = Path(__file__).parent / "course"
QUESTIONS = ("What is a base case, and what happens without one?", "When is binary search possible?")

PROMPT = ChatPromptTemplate.from_template("Answer from these passages alone.\n\n{passages}\n\nQuestion: {question}")


def show(documents: list[Document]) -> str:
    """Format passages with their sources, so that a model can cite them."""
    return "\n\n".join(f"[{document.metadata['source_id']}]\n{document.page_content}" for document in documents)


# Use "edge:./kinsplit-data" instead of memory to keep the index for the next run.
with Index("memory:") as index:
    report = index.add(COURSE)
    print(f"{report.documents} documents, {report.added} chunks\n")

    retriever = KinsplitRetriever(index, k=2, within_sections=True, budget=1000)
    # Use a real model here; this one returns a fixed response.
    model = FakeListChatModel(responses=["Here a model would answer from the passages."])
    chain = {"passages": retriever | show, "question": RunnablePassthrough()} | PROMPT | model | StrOutputParser()

    for question in QUESTIONS:
        print(question)
        for document in retriever.invoke(question):
            metadata = document.metadata
            where = f"{metadata['source_id']} [{metadata['char_start']}:{metadata['char_end']}]"
            print(f"  {where}  score {details(document)['score']:.2f}  {metadata.get('context', '')}")
        print(f"  {chain.invoke(question)}\n")

    # Every option can be changed per call.
    (best,) = retriever.invoke("What is a class?", k=1, window=0, where={"file_type": "markdown"})
    print(f"One Markdown passage, without siblings: {best.page_content[:60]!r}...")
