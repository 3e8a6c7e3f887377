"""Siblings and parents from the stores of both frameworks, sync and async."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from kinsplit.integrations import langchain, llama_index
from tests.integrations.finding import LECTURE, Hit
from tests.integrations.kin_stores import ARRANGEMENTS, LANGCHAIN, Arrangement, Setting, documents, leaves

pytestmark = [
    # The connections of Postgres stores belong to an event loop.
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning"),
    # Packages of the stores warn when they are imported or used.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

QUESTION = "This part is about classes."


@pytest.fixture(scope="module", params=ARRANGEMENTS, ids=str)
def arrangement(request: pytest.FixtureRequest) -> Arrangement:
    return request.param  # type: ignore[no-any-return]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def setting(
    arrangement: Arrangement, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> AsyncIterator[Setting]:
    try:
        importlib.import_module(arrangement.module)
    except ImportError:
        pytest.skip(f"{arrangement.module} is not installed")
    postgres: Callable[[], str] = lambda: request.getfixturevalue("postgres_server")  # noqa: E731
    with arrangement.opened(tmp_path_factory.mktemp("kin"), postgres) as opened:
        yield opened
        if opened.close is not None:
            await opened.close()


def hits_of(setting: Setting) -> list[Any]:
    found = setting.search(QUESTION)
    return [hit for hit in found if Hit(hit).metadata["level"] == 0][:2]


async def expanded(arrangement: Arrangement, setting: Setting, mode: str, **options: Any) -> list[Hit]:
    """Expand the two best leaves of a search."""
    hits = hits_of(setting)
    if arrangement.framework == LANGCHAIN:
        stage: Any = langchain.SiblingExpansion(setting.store, parent_store=setting.parent_store, **options)
        found = await stage.ainvoke(hits) if mode == "async" else stage.invoke(hits)
    else:
        stage = llama_index.SiblingExpansion(setting.store, parent_store=setting.parent_store, **options)
        found = await stage.apostprocess_nodes(hits) if mode == "async" else stage.postprocess_nodes(hits)
    return [Hit(one) for one in found]


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_siblings(arrangement: Arrangement, setting: Setting, mode: str) -> None:
    chunks = leaves(documents())
    best = Hit(hits_of(setting)[0])
    at = best.metadata["chunk_index"]
    for window in (1, 2):
        passages = await expanded(arrangement, setting, mode, window=window)
        assert 1 <= len(passages) <= 2
        for passage in passages:
            assert passage.text == LECTURE[passage.metadata["char_start"] : passage.metadata["char_end"]]
        assert passages[0].metadata["char_start"] <= chunks[max(0, at - window)].metadata["char_start"]
        assert passages[0].metadata["char_end"] >= chunks[min(len(chunks) - 1, at + window)].metadata["char_end"]


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_parents(arrangement: Arrangement, setting: Setting, mode: str) -> None:
    texts = {chunk.id: chunk.page_content for chunk in documents()}
    wanted = dict.fromkeys(Hit(hit).metadata["parent_id"] for hit in hits_of(setting))
    passages = await expanded(arrangement, setting, mode, parents=True)
    assert [passage.text for passage in passages] == [texts[id_] for id_ in wanted]
