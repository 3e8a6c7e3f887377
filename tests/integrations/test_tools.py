"""An index as a tool, called by an agent of each framework with a model that needs no server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.base.llms.types import CompletionResponse, CompletionResponseGen, LLMMetadata
from llama_index.core.llms import CustomLLM

from kinsplit import Index
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations import langchain, llama_index
from tests.integrations.finding import LECTURE

QUESTION = "What does recursion mean?"


def check(content: str, results: Sequence[Any]) -> None:
    """The model's text holds each passage under its citation, and each passage is a slice."""
    assert results
    for number, (text, metadata) in enumerate(results, 1):
        place = f"{metadata['char_start']}:{metadata['char_end']}"
        assert text == LECTURE[metadata["char_start"] : metadata["char_end"]]
        assert f"[{number}] lecture, p. " in content
        assert f"[{place}]" in content
        assert text in content


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_langchain_agent_calls_the_tool(index: Index, is_async: bool) -> None:
    tool = langchain.search_tool(index, top_k=2, where={"subject": "cs"})
    wish = {"name": tool.name, "args": {"question": QUESTION}, "id": "1", "type": "tool_call"}
    model = GenericFakeChatModel(messages=iter([AIMessage("", tool_calls=[wish]), AIMessage("It calls itself [1].")]))
    messages: list[Any] = [HumanMessage(QUESTION)]
    asked = model.invoke(messages)
    result = await tool.ainvoke(asked.tool_calls[0]) if is_async else tool.invoke(asked.tool_calls[0])
    assert isinstance(result, ToolMessage)
    check(result.content, [(document.page_content, document.metadata) for document in result.artifact])
    assert [d.id for d in result.artifact] == [
        d.id for d in langchain.KinsplitRetriever(index, k=2, where={"subject": "cs"}).invoke(QUESTION)
    ]
    assert model.invoke([*messages, asked, result]).content == "It calls itself [1]."


class Reasoning(CustomLLM):
    """Calls a tool, and then answers with the observation that it reads."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **options: Any) -> CompletionResponse:
        _, found, seen = prompt.rpartition("Observation: ")
        call = f'Thought: I look it up.\nAction: search_documents\nAction Input: {{"question": "{QUESTION}"}}'
        done = f"Thought: I can answer without using any more tools.\nAnswer: {seen.strip().splitlines()[0]}"
        return CompletionResponse(text=done if found and "[1] lecture" in seen else call)

    def stream_complete(self, prompt: str, formatted: bool = False, **options: Any) -> CompletionResponseGen:
        response = self.complete(prompt)
        yield CompletionResponse(text=response.text, delta=response.text)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # LlamaIndex's own, of pydantic.
async def test_a_llama_index_agent_calls_the_tool(index: Index) -> None:
    tool = llama_index.search_tool(index, top_k=2, where={"subject": "cs"})
    answer = await ReActAgent(tools=[tool], llm=Reasoning(), streaming=False).run(QUESTION)
    assert str(answer).startswith("[1] lecture, p. ")
    (call,) = answer.tool_calls
    check(call.tool_output.content, [(n.node.text, n.metadata) for n in call.tool_output.raw_output])
    same = tool.call(question=QUESTION)
    assert same.content == call.tool_output.content
    retriever = llama_index.KinsplitRetriever(index, top_k=2, where={"subject": "cs"})
    assert [n.node_id for n in same.raw_output] == [n.node_id for n in retriever.retrieve(QUESTION)]


@pytest.mark.parametrize("framework", [langchain, llama_index])
def test_a_call_can_narrow_the_filter_but_not_widen_it(index: Index, framework: Any) -> None:
    tool = framework.search_tool(index, where={"subject": "cs"})
    assert tool.metadata is None or tool.metadata.name == "search_documents"

    def search(**given: Any) -> str:
        return str(tool.invoke(given) if framework is langchain else tool.call(**given).content)

    assert "lecture" in search(question="cells divide")
    assert search(question="cells divide", where={"subject": "bio"}) == "Nothing was found."
    with pytest.raises(InvalidParameterError, match="top_k"):
        framework.search_tool(index, top_k=0)


def test_langchain_tells_the_model_of_its_mistake(index: Index) -> None:
    assert "Ask a question." in langchain.search_tool(index).invoke({"question": " "})
