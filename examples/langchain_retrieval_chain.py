"""A native LangChain retrieval chain over the sample course: found, expanded and shown to a model, all offline.

Run it as it is: python examples/langchain_retrieval_chain.py
"""

from pathlib import Path

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

from kinsplit import Index
from kinsplit.integrations.langchain import KinsplitRetriever

COURSE = Path(__file__).parent / "course"
QUESTIONS = ("What is a base case, and what happens without one?", "When is binary search possible?")

PROMPT = ChatPromptTemplate.from_template("Answer from these passages alone.\n\n{passages}\n\nQuestion: {question}")


def show(documents: list[Document]) -> str:
    """Write passages with their sources, so that a model can cite them."""
    return "\n\n".join(f"[{document.metadata['source_id']}]\n{document.page_content}" for document in documents)


# A folder instead of memory, "edge:./kinsplit-data", keeps the index for the next run.
with Index("memory:", strategy="structure") as index:
    report = index.add(COURSE)
    print(f"{len(report.documents)} documents, {report.added} chunks\n")

    retriever = KinsplitRetriever(index, k=2, within_sections=True, budget=1000)
    # Put a model of your own here; this one says what it was given to say.
    model = FakeListChatModel(responses=["Here a model would answer from the passages."])
    chain = {"passages": retriever | show, "question": RunnablePassthrough()} | PROMPT | model | StrOutputParser()

    for question in QUESTIONS:
        print(question)
        for document in retriever.invoke(question):
            place = document.metadata
            where = f"{place['source_id']} [{place['char_start']}:{place['char_end']}]"
            print(f"  {where}  score {place['kinsplit']['score']:.2f}  {place.get('context', '')}")
        print(f"  {chain.invoke(question)}\n")

    # Every option can change with the call.
    (best,) = retriever.invoke("What is a class?", k=1, window=0, where={"file_type": "markdown"})
    print(f"One Markdown passage, without siblings: {best.page_content[:60]!r}...")
