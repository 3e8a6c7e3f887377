"""Siblings and parents from the stores of both frameworks, sync and async."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kinsplit import Chunk
from kinsplit.integrations import langchain, llama_index
from kinsplit.integrations.shared.kin.reader import SiblingPlace
from kinsplit.integrations.shared.kin.readers import open_reader
from kinsplit.support.threads import in_thread
from tests.integrations.finding import LECTURE, Hit
from tests.integrations.kin_stores import ARRANGEMENTS, LANGCHAIN, Arrangement, Setting, documents, leaves
from tests.integrations.test_langchain_store import HashEmbeddings

pytestmark = [
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning"),
    pytest.mark.filterwarnings("ignore:`langchain-community` is being sunset:DeprecationWarning"),
]

# The connections of Postgres stores belong to an event loop.
LOOP = pytest.mark.asyncio(loop_scope="module")
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


def test_the_table_of_the_docs_is_that_of_these_tests() -> None:
    page = (Path(__file__).parents[2] / "docs" / "kin-on-your-store.md").read_text(encoding="utf-8")
    rows = [line for line in page.split("| framework | store |")[1].splitlines()[2:] if line.startswith("|")]
    assert rows == [f"| {each.framework} | {each.name} | {each.kin} | ✓ | ✓ | ✓ |" for each in ARRANGEMENTS]


@LOOP
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


@LOOP
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_parents(arrangement: Arrangement, setting: Setting, mode: str) -> None:
    texts = {chunk.id: chunk.page_content for chunk in documents()}
    wanted = dict.fromkeys(Hit(hit).metadata["parent_id"] for hit in hits_of(setting))
    passages = await expanded(arrangement, setting, mode, parents=True)
    assert [passage.text for passage in passages] == [texts[id_] for id_ in wanted]


@LOOP
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_the_table_says_how_kin_are_read(arrangement: Arrangement, setting: Setting, mode: str) -> None:
    """Whichever way the expansion has taken, each that the documentation names leads to the same chunks."""
    opened = open_reader(setting.store, "default", None, setting.parent_store)
    reader = opened.parents
    at = 1 if setting.parent_store is not None else 0
    chunks = [hit for hit in documents() if hit.metadata["level"] == at][1:4]
    places = [SiblingPlace("lecture", at, chunk.metadata["chunk_index"]) for chunk in chunks]

    async def read(method: Callable[..., list[Chunk]], *arguments: Any) -> set[str]:
        found = await in_thread(method, *arguments) if mode == "async" else method(*arguments)
        return {chunk.text for chunk in found} & {chunk.page_content for chunk in chunks}

    texts = {chunk.page_content for chunk in chunks}
    by_id = await read(reader.get, [str(chunk.id) for chunk in chunks]) == texts
    by_place = await read(reader.find, places) == texts and await read(reader.level, ["lecture"], at) == texts
    ways = [name for name, found in (("id", by_id), ("metadata", by_place)) if found]
    assert arrangement.kin in (", ".join(ways), "`KinStore`")
    assert (reader.by_place == "never") == ("metadata" not in ways)


async def test_a_postgres_store_of_langchain_in_async_mode(postgres_server: str) -> None:
    module = pytest.importorskip("langchain_postgres", reason="langchain_postgres is not installed")
    address = postgres_server.replace("://", "+psycopg://")
    store = module.PGVector(HashEmbeddings(), connection=address, collection_name="later", async_mode=True)
    chunks = documents()
    await store.aadd_documents(chunks, ids=[f"other-{number}" for number in range(len(chunks))])
    (hit,) = [chunk for chunk in await store.asimilarity_search(QUESTION, k=12) if chunk.metadata["level"] == 0][:1]
    own, at = leaves(chunks), hit.metadata["chunk_index"]
    (passage,) = await (langchain.SiblingExpansion(store)).ainvoke([hit])
    assert passage.metadata["char_start"] == own[max(0, at - 1)].metadata["char_start"]
    (parent,) = await (langchain.SiblingExpansion(store, parents=True)).ainvoke([hit])
    assert hit.page_content in parent.page_content
    assert parent.metadata["source_id"] == "lecture"
    assert len(parent.page_content) > len(hit.page_content)
    await store._async_engine.dispose()
