"""Boundaries drawn by a framework's own language model, in either framework."""

from __future__ import annotations

import asyncio
import pickle
import threading
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.language_models import FakeListChatModel
from llama_index.core import Document
from llama_index.core.llms.mock import MockLLM

from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.langchain import text_splitter
from kinsplit.integrations.llama_index import node_parser

TEXT = "Cats purr. They sleep.\n\nDogs bark. They run.\n\nFish swim."
CHUNKS = ["Cats purr. They sleep.", "Dogs bark. They run.\n\nFish swim."]


class Answering(MockLLM):
    """A LlamaIndex model that always gives one answer."""

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        answer = super().complete(prompt, formatted, **kwargs)
        answer.text = '{"starts": [0, 2]}'
        return answer


MODELS = {
    "llama_index": Answering(),
    "langchain": FakeListChatModel(responses=["Gladly: [0, 2]"]),
    "function": lambda prompt: "[0, 2]",
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_any_frameworks_model_serves_in_both(model: Any) -> None:
    nodes = node_parser("llm", model=model).get_nodes_from_documents([Document(text=TEXT)])
    found = text_splitter("llm", model=model).split_documents([LangChainDocument(page_content=TEXT)])
    assert [node.text for node in nodes] == [document.page_content for document in found] == CHUNKS


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_parser_keeps_its_model_where_it_can_and_says_so_where_it_can_not(model: Any) -> None:
    parser = node_parser("llm", model=model, chunk_size=100)
    again = type(parser).from_dict(parser.to_dict())
    assert again.model is model
    assert again.get_nodes_from_documents([Document(id_="d", text=TEXT)]) == parser.get_nodes_from_documents(
        [Document(id_="d", text=TEXT)]
    )
    assert parser.model_copy(update={"chunk_size": 3}).model is model
    for attempt in (parser.to_json, lambda: pickle.dumps(parser)):
        with pytest.raises(InvalidParameterError, match=r"^model: .*ollama:MODEL"):
            attempt()


async def test_the_event_loop_goes_on_while_a_model_thinks() -> None:
    going_on = threading.Event()

    def model(prompt: str) -> str:
        assert going_on.wait(10), "the loop stood still"
        return "[0, 2]"

    async def go_on() -> None:
        await asyncio.sleep(0)
        going_on.set()

    parser = node_parser("llm", model=model)
    nodes, _ = await asyncio.gather(parser.aget_nodes_from_documents([Document(text=TEXT)]), go_on())
    assert [node.text for node in nodes] == CHUNKS
    going_on.clear()
    splitter = text_splitter("llm", model=model)
    found, _ = await asyncio.gather(splitter.atransform_documents([LangChainDocument(page_content=TEXT)]), go_on())
    assert [document.page_content for document in found] == CHUNKS
