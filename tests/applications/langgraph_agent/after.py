"""An agent that decides when to search, in the shape of LangGraph's agentic RAG, with kinsplit."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from langchain_core.documents import Document
from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.tools import create_retriever_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel, Field

from kinsplit.integrations import langchain as kin
from tests.applications.langchain_models import chat_model, embeddings

GRADE = "Is this text relevant to the question?\n\n{context}\n\nQuestion: {question}"
REWRITE = "Which words would a text use that answers this question? {question}"
ANSWER = "Answer the question in three sentences from this context.\n\nQuestion: {question}\n\n{context}"

REWRITTEN = 3  # Messages after the first search: the question, the call and its result.


class Grade(BaseModel):
    """Whether a text is relevant."""

    binary_score: Literal["yes", "no"] = Field(description="yes if it is relevant")


def load_documents() -> list[Document]:
    return [
        Document(page_content=path.read_text(encoding="utf-8"), metadata={"source": str(path)})
        for path in sorted(Path("data").glob("*.md"))
    ]


def get_agent() -> CompiledStateGraph[MessagesState]:
    """Return the agent, after indexing the files of the data folder."""
    splitter = kin.text_splitter("structure", chunk_size=400, unit="character", id_key="source")
    chunks = splitter.split_documents(load_documents())
    cached = kin.CachedEmbeddings(embeddings, model=embeddings.model, folder="vectors")
    store = kin.KinsplitVectorStore.from_documents(documents=chunks, embedding=cached, store="memory:")
    retriever = kin.SiblingExpansion(store).as_retriever(store.as_retriever(search_kwargs={"k": 3}))
    tool = create_retriever_tool(retriever, "search_course", "Search the course's lectures.")

    def respond(state: MessagesState) -> dict[str, list[AnyMessage]]:
        return {"messages": [chat_model.bind_tools([tool]).invoke(state["messages"])]}

    def grade(state: MessagesState) -> Literal["answer", "rewrite"]:
        question, context = state["messages"][0].content, state["messages"][-1].content
        grader = chat_model.with_structured_output(Grade)
        found = grader.invoke(GRADE.format(question=question, context=context))
        return "answer" if found.binary_score == "yes" or len(state["messages"]) > REWRITTEN else "rewrite"

    def rewrite(state: MessagesState) -> dict[str, list[AnyMessage]]:
        asked = chat_model.invoke(REWRITE.format(question=state["messages"][0].content))
        return {"messages": [HumanMessage(content=asked.content)]}

    def answer(state: MessagesState) -> dict[str, list[AnyMessage]]:
        question, context = state["messages"][0].content, state["messages"][-1].content
        return {"messages": [chat_model.invoke(ANSWER.format(question=question, context=context))]}

    graph = StateGraph(MessagesState)
    graph.add_node(respond)
    graph.add_node("retrieve", ToolNode([tool]))
    graph.add_node(rewrite)
    graph.add_node(answer)
    graph.add_edge(START, "respond")
    graph.add_conditional_edges("respond", tools_condition, {"tools": "retrieve", END: END})
    graph.add_conditional_edges("retrieve", grade)
    graph.add_edge("rewrite", "respond")
    graph.add_edge("answer", END)
    return graph.compile(checkpointer=InMemorySaver())
