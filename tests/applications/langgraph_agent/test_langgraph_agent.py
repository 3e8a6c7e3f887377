"""An agent searches a folder, and searches again, with LangChain's own splitter and store and with kinsplit's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.applications.conftest import NEWS, insert_news
from tests.applications.langchain_models import embeddings
from tests.applications.table import row

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
versions = pytest.mark.parametrize("version", ["before", "after"])

Start = Callable[[str], ModuleType]
THREAD: dict[str, Any] = {"configurable": {"thread_id": "1"}}


def ask(agent: Any, question: str) -> list[Any]:
    return agent.invoke({"messages": [("user", question)]}, THREAD)["messages"]  # type: ignore[no-any-return]


@versions
def test_a_restart_embeds_what_changed(start: Start, data: Path, version: str) -> None:
    name = f"langgraph_agent.{version}"
    embeddings.embedded()
    start(name).get_agent()
    first = len(embeddings.embedded())
    insert_news(data / "lecture_06.md")
    agent = start(name).get_agent()
    second = len(embeddings.embedded())
    assert getattr(row("langgraph_agent"), version) == f"{second} of {first}"
    assert NEWS in ask(agent, NEWS)[-1].content
    (data / "lecture_06.md").unlink()
    agent = start(name).get_agent()
    assert NEWS not in ask(agent, "Which animals are there?")[-1].content.partition("Question")[2]


@versions
def test_the_agent_searches_and_answers(start: Start, data: Path, version: str) -> None:
    agent = start(f"langgraph_agent.{version}").get_agent()
    question, call, found, answer = ask(agent, "What is a base case?")
    assert call.tool_calls[0]["args"] == {"query": question.content}
    assert "base case" in found.content
    assert found.content in answer.content
    assert agent.get_state(THREAD).values["messages"][-1] == answer


@versions
def test_the_agent_searches_again_with_other_words(start: Start, data: Path, version: str) -> None:
    agent = start(f"langgraph_agent.{version}").get_agent()
    asked = {"messages": [("user", "What does the syllabus say about the grade?")]}
    nodes = [node for part in agent.stream(asked, THREAD, stream_mode="updates") for node in part]
    assert nodes == ["respond", "retrieve", "rewrite", "respond", "retrieve", "answer"]


@versions
async def test_an_event_loop_gets_the_same(start: Start, data: Path, version: str) -> None:
    agent = start(f"langgraph_agent.{version}").get_agent()
    asked = {"messages": [("user", "What is a base case?")]}
    streamed = [
        message
        async for message, about in agent.astream(asked, THREAD, stream_mode="messages")
        if about["langgraph_node"] == "answer"
    ]
    assert len(streamed) > 3
    assert "".join(message.content for message in streamed[:-1]) in ask(agent, "What is a base case?")[3].content
