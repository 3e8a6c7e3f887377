"""`KinStore`: chunks beside a vector store, in SQLite or in a key-value store of either framework."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryByteStore
from llama_index.core.storage.kvstore import SimpleKVStore

from kinsplit.errors import InvalidParameterError, StoreError
from kinsplit.integrations import langchain, llama_index
from kinsplit.integrations.langchain import KinStore, SiblingExpansion, text_splitter
from tests.integrations.finding import FRAMEWORKS, LECTURE, expansion, found, process, split
from tests.integrations.kin_stores import documents, leaves

BACKENDS = ("sqlite", "byte store", "kv store")


@pytest.fixture(params=BACKENDS)
def kin(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KinStore]:
    store: Any = {"sqlite": tmp_path / "new" / "kin.db", "byte store": InMemoryByteStore(), "kv store": SimpleKVStore()}
    with KinStore(store[request.param]) as made:
        yield made


def chunks_of(text: str, source_id: str = "lecture", name: str = "word", **parameters: Any) -> list[Document]:
    splitter = text_splitter(name, **{"chunk_size": 8, **parameters})
    return splitter.split_documents([Document(id=source_id, page_content=text)])


def stored(kin: KinStore, source_id: str) -> list[str]:
    """Return the texts of a document's leaves, in order."""
    return [chunk.text for chunk in sorted(kin.reader.level([source_id], 0), key=lambda chunk: chunk.index)]


def texts(chunks: list[Document]) -> list[str]:
    return [chunk.page_content for chunk in chunks]


def test_it_is_the_same_in_both_frameworks() -> None:
    assert langchain.KinStore is llama_index.KinStore


def test_adding_again_changes_nothing_and_batches_add_up(kin: KinStore) -> None:
    chunks = chunks_of(LECTURE)
    assert kin.add(chunks[:5]) == 5
    assert kin.add(iter(chunks[5:])) == len(chunks) - 5
    assert kin.add(chunks) == len(chunks)
    assert kin.add([]) == 0
    assert stored(kin, "lecture") == texts(chunks)


def test_an_edited_or_shorter_document_replaces_the_old_one(kin: KinStore) -> None:
    kin.add(chunks_of(LECTURE))
    kin.add(chunks_of("Another document stays.", "other"))
    edited = chunks_of("Short now. " * 12)
    kin.add(edited)
    assert stored(kin, "lecture") == texts(edited)
    resplit = chunks_of("Short now. " * 12, name="sentence", chunk_size=20)
    kin.add(resplit)
    assert stored(kin, "lecture") == texts(resplit), "other ids at the same places"
    assert stored(kin, "other") == ["Another document stays."]


async def test_documents_are_deleted(kin: KinStore) -> None:
    for name in "abc":
        await kin.aadd(chunks_of("One sentence here.", name))
    assert kin.delete("a") == 1
    assert await kin.adelete(["b", "b", "none"]) == 1
    assert kin.delete([]) == 0
    assert [stored(kin, name) for name in "abc"] == [[], [], ["One sentence here."]]


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_siblings_and_parents_come_from_it(framework: str, kin: KinStore) -> None:
    chunks = split(framework)
    await kin.aadd(chunks)
    (passage,) = process(expansion(framework, kin, window=2), [found(framework, chunks[5], 0.5)])
    assert passage.text == LECTURE[chunks[3].metadata["char_start"] : chunks[7].metadata["char_end"]]
    kin.delete("lecture")
    with pytest.warns(UserWarning, match="4 siblings of the hits"):
        process(expansion(framework, kin, window=2), [found(framework, chunks[5], 0.5)])
    family = documents()
    kin.add(family)
    (parent,) = await SiblingExpansion(kin, parents=True).ainvoke(leaves(family)[:1])
    assert parent.page_content in {chunk.page_content for chunk in family if chunk.metadata["level"]}


def test_the_files_of_a_group_come_from_it(kin: KinStore) -> None:
    whole = [
        Document(id=f"cs/{name}", page_content=text, metadata={"file_path": f"cs/{name}", "sibling_files": others})
        for name, text, others in (("l1.md", "A lecture.", ["l1.py"]), ("l1.py", "print(1)", ["l1.md"]))
    ]
    chunks = text_splitter("sentence").split_documents(whole)
    kin.add(chunks)
    assert texts(SiblingExpansion(kin).invoke(chunks[:1])) == ["A lecture.", "print(1)"]


def test_threads_share_one(kin: KinStore) -> None:
    batches = [chunks_of(LECTURE)[at : at + 3] for at in range(0, 30, 3)]
    start = threading.Barrier(4)

    def work(number: int) -> None:
        start.wait()
        for batch in batches[number::4]:
            kin.add(batch)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert stored(kin, "lecture") == texts([chunk for batch in batches for chunk in batch])


async def test_tasks_share_one(kin: KinStore) -> None:
    chunks = chunks_of(LECTURE)
    await asyncio.gather(*(kin.aadd(chunks[at : at + 3]) for at in range(0, len(chunks), 3)))
    assert stored(kin, "lecture") == texts(chunks)


def test_a_failed_write_leaves_the_store_usable() -> None:
    class Failing(InMemoryByteStore):
        fails = True

        def mset(self, key_value_pairs: Any) -> None:
            if self.fails:
                raise ConnectionError("gone")
            super().mset(key_value_pairs)

    store, chunks = Failing(), chunks_of(LECTURE)
    kin = KinStore(store)
    with pytest.raises(ConnectionError) as kept:
        kin.add(chunks)
    store.fails = False
    assert kin.add(chunks) == len(chunks)
    assert kept.value.args == ("gone",)


def test_what_kinsplit_did_not_split_is_refused(kin: KinStore) -> None:
    chunk = chunks_of(LECTURE)[0]
    cut = Document(id=chunk.id, page_content=chunk.page_content[:-1], metadata=chunk.metadata)
    without_id = Document(page_content=chunk.page_content, metadata={**chunk.metadata, "chunk_id": ""})
    for wrong in (Document(id="x", page_content="Foreign."), cut, without_id):
        with pytest.raises(InvalidParameterError, match=r"chunks\[1\]: must be chunks that kinsplit made"):
            kin.add([chunk, wrong])
    assert stored(kin, "lecture") == []


def test_a_file_stays_and_two_processes_may_use_it(tmp_path: Path) -> None:
    path = tmp_path / "kin.db"
    chunks = chunks_of(LECTURE)
    with KinStore(path) as first, KinStore(str(path)) as second:
        first.add(chunks[:9])
        second.add(chunks[9:])
        assert stored(first, "lecture") == texts(chunks)
    first.close()
    with pytest.raises(StoreError, match=r"kin\.db"):
        first.add(chunks)
    with KinStore(path) as again:
        assert stored(again, "lecture") == texts(chunks)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM chunks").fetchone() == (len(chunks),)
    connection.close()


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("No database, but long enough to be taken for one. " * 9)
    with pytest.raises(StoreError, match=r"notes\.txt.*not a database"):
        KinStore(tmp_path / "notes.txt")
    with pytest.raises(InvalidParameterError, match="store: must be a path, a ByteStore"):
        KinStore(object())
