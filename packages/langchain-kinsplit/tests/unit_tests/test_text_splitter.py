"""The text splitters under this package's name."""

from __future__ import annotations

import langchain_kinsplit
import pytest
from langchain_core.documents import Document
from langchain_text_splitters import TextSplitter

from kinsplit.integrations import langchain as integration

TEXT = "Owls hunt at night. Larks sing at dawn. Gulls fish by day."


@pytest.mark.parametrize("name", langchain_kinsplit.__all__)
def test_every_name_is_the_integrations(name: str) -> None:
    assert getattr(langchain_kinsplit, name) is getattr(integration, name)


def test_a_splitter_has_exact_offsets_and_links() -> None:
    splitter = langchain_kinsplit.KinsplitSentenceTextSplitter(unit="word", chunk_size=4, chunk_overlap=0)
    assert isinstance(splitter, TextSplitter)
    chunks = splitter.split_documents([Document(id="birds.md", page_content=TEXT)])
    assert [TEXT[c.metadata["start_index"] : c.metadata["end_index"]] for c in chunks] == [
        c.page_content for c in chunks
    ]
    assert [chunk.metadata["next_id"] for chunk in chunks] == [chunks[1].id, chunks[2].id, None]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Nonsense"):
        langchain_kinsplit.Nonsense  # noqa: B018
