"""Collections that something else than kinsplit made: nothing writes into them, changes or deletes them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from kinsplit_testing import make_store
from langchain_core.documents import Document as LangChainDocument
from langchain_core.embeddings import DeterministicFakeEmbedding
from llama_index.core.schema import TextNode
from typer.testing import CliRunner

from kinsplit import Document, Index
from kinsplit.backup import back_up, restore
from kinsplit.cli import app
from kinsplit.errors import ForeignCollectionError, StoreError
from kinsplit.integrations.langchain import KinsplitVectorStore as LangChainStore
from kinsplit.integrations.llama_index import KinsplitVectorStore as LlamaIndexStore
from kinsplit.stores import Catalog, open_catalog
from kinsplit.stores.address import STORES
from kinsplit.stores.maintenance import copy
from kinsplit.stores.maintenance.doctor import SCHEMA, TEXTS, make_chunks, save

#: Name of the foreign collection, and of one of kinsplit's own beside it.
FOREIGN, OWN = "foreign", "own"


@dataclass
class Place:
    """A store with a foreign collection.

    Attributes:
        address: Its address.
        state: Function that returns all that is in the foreign collection.
    """

    address: str
    state: Callable[[], object]


def files_below(folder: Path) -> Callable[[], dict[str, bytes | None]]:
    return lambda: {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")
    }


def folder_of_notes(request: pytest.FixtureRequest) -> Place:
    """A folder without anything of kinsplit's."""
    folder = request.getfixturevalue("tmp_path") / "place"
    (folder / FOREIGN / "shard" / "wal").mkdir(parents=True)
    (folder / FOREIGN / "notes.txt").write_text("keep me")
    return Place(f"edge:{folder}", files_below(folder / FOREIGN))


def folder_with_a_file_of_the_same_name(request: pytest.FixtureRequest) -> Place:
    """A folder whose `kinsplit.json` is something else, such as another program's settings."""
    place = folder_of_notes(request)
    (Path(place.address.removeprefix("edge:")) / FOREIGN / "kinsplit.json").write_text('{"version": 1}')
    return place


def qdrant(request: pytest.FixtureRequest, make: Callable[[Any], None]) -> Place:
    client_module = pytest.importorskip("qdrant_client")
    path = request.getfixturevalue("tmp_path") / "qdrant"

    def client() -> Any:
        return client_module.QdrantClient(path=str(path))

    def state() -> object:
        with closing(client()) as opened:
            found = {each.name: opened.get_collection(each.name) for each in opened.get_collections().collections}
            named = [(each.alias_name, each.collection_name) for each in opened.get_aliases().aliases]
            foreign = {name: info for name, info in found.items() if not name.startswith(OWN)}
            points = {name: opened.scroll(name, limit=100, with_vectors=True)[0] for name in foreign}
            return foreign, points, sorted(pair for pair in named if not pair[1].startswith(OWN))

    with closing(client()) as opened:
        make(opened)
    return Place(f"qdrant:{path}", state)


def points_of_others(client: Any, name: str = FOREIGN) -> None:
    from qdrant_client import models

    client.create_collection(name, vectors_config=models.VectorParams(size=4, distance=models.Distance.COSINE))
    client.upsert(name, [models.PointStruct(id=1, vector=[1, 0, 0, 0], payload={"file_path": "a.pdf"})])


def raw_collection(request: pytest.FixtureRequest) -> Place:
    """A collection made with Qdrant's client."""
    return qdrant(request, points_of_others)


def aliased_collection(request: pytest.FixtureRequest) -> Place:
    """A collection found by an alias, as kinsplit's own are."""
    from qdrant_client import models

    def make(client: Any) -> None:
        points_of_others(client, "of_others")
        alias = models.CreateAlias(collection_name="of_others", alias_name=FOREIGN)
        client.update_collection_aliases([models.CreateAliasOperation(create_alias=alias)])

    return qdrant(request, make)


def collection_of_langchain(request: pytest.FixtureRequest) -> Place:
    """A collection of LangChain's own store, which kinsplit's kin may read."""
    module = pytest.importorskip("langchain_qdrant")

    def make(client: Any) -> None:
        points_of_others(client)
        store = module.QdrantVectorStore(client, FOREIGN, DeterministicFakeEmbedding(size=4))
        store.add_texts(["Owls hunt."])

    return qdrant(request, make)


def collection_of_llama_index(request: pytest.FixtureRequest) -> Place:
    """A collection of LlamaIndex's own store, which kinsplit's kin may read."""
    module = pytest.importorskip("llama_index.vector_stores.qdrant")

    def make(client: Any) -> None:
        # Local Qdrant says that payload indexes have no effect there.
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            module.QdrantVectorStore(FOREIGN, client).add([TextNode(text="Owls hunt.", embedding=[1.0, 0.0, 0.0, 0.0])])

    return qdrant(request, make)


def postgres(request: pytest.FixtureRequest, statements: list[str]) -> Place:
    address = request.getfixturevalue("postgres")
    import psycopg

    def run(statement: str) -> list[Any]:
        with psycopg.connect(address.removeprefix("pgvector:"), autocommit=True) as connection:
            done = connection.execute(statement)
            return done.fetchall() if done.description else []

    def state() -> object:
        columns = "SELECT column_name FROM information_schema.columns WHERE table_name = 'collections' ORDER BY 1"
        rows = run(f"SELECT * FROM kinsplit.collections AS each WHERE to_jsonb(each) ->> 'name' = '{FOREIGN}'")
        return run(columns), rows, run("SELECT * FROM kinsplit.chunks_7")

    run("DROP SCHEMA IF EXISTS kinsplit CASCADE")
    for statement in statements:
        run(statement)
    return Place(address, state)


def table_of_others(request: pytest.FixtureRequest) -> Place:
    """Tables of another program that has a schema of kinsplit's name."""
    return postgres(
        request,
        [
            "CREATE SCHEMA kinsplit",
            "CREATE TABLE kinsplit.collections (id int, name text, schema jsonb)",
            f"INSERT INTO kinsplit.collections VALUES (7, '{FOREIGN}', '{json.dumps(asdict(SCHEMA))}')",
            "CREATE TABLE kinsplit.chunks_7 AS SELECT 1 AS id",
        ],
    )


def row_of_others(request: pytest.FixtureRequest) -> Place:
    """A row in kinsplit's own table of collections, without a schema of kinsplit's."""
    address = request.getfixturevalue("postgres")
    make_store(address, "first", SCHEMA).close()
    place = postgres(request, [])
    with make_store(address, "first", SCHEMA):
        pass
    import psycopg

    with psycopg.connect(address.removeprefix("pgvector:"), autocommit=True) as connection:
        connection.execute(
            "INSERT INTO kinsplit.collections (id, name, schema, options) OVERRIDING SYSTEM VALUE "
            f"VALUES (7, '{FOREIGN}', '{{}}', '{{}}')"
        )
        connection.execute("CREATE TABLE kinsplit.chunks_7 AS SELECT 1 AS id")
    return place


#: What others may have made, by engine; nobody else can make anything in this process's memory.
MADE: dict[str, tuple[Callable[[pytest.FixtureRequest], Place], ...]] = {
    "edge": (folder_of_notes, folder_with_a_file_of_the_same_name),
    "qdrant": (raw_collection, aliased_collection, collection_of_langchain, collection_of_llama_index),
    "pgvector": (table_of_others, row_of_others),
    "memory": (),
}


@pytest.fixture(params=[make for makers in MADE.values() for make in makers], ids=lambda make: make.__name__)
def place(request: pytest.FixtureRequest) -> Place:
    made: Place = request.param(request)
    return made


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    with make_store("memory:", OWN, SCHEMA) as store:
        save(store, "doc", make_chunks("doc", TEXTS))
        back_up(store, OWN, tmp_path / "own.parquet")
    return tmp_path / "own.parquet"


def change(operation: Callable[[Catalog], None]) -> Callable[[str, Path], object]:
    def call(address: str, _: Path) -> None:
        with open_catalog(address) as catalog:
            operation(catalog)

    return call


def copy_into(address: str, _: Path) -> None:
    with make_store("memory:", OWN, SCHEMA) as source, make_store(address, FOREIGN, SCHEMA) as target:
        copy(source, target)


#: Methods of a catalog that only read.
READING = {"collections", "identity", "close"}
CATALOG: dict[str, tuple[Callable[[str, Path], object], ...]] = {
    "check": (change(lambda catalog: catalog.check(FOREIGN)),),
    "drop": (change(lambda catalog: catalog.drop(FOREIGN)),),
    "rename": (
        change(lambda catalog: catalog.rename(FOREIGN, "taken")),
        change(lambda catalog: catalog.rename(OWN, FOREIGN)),
    ),
    "switch": (
        change(lambda catalog: catalog.switch(FOREIGN, OWN)),
        change(lambda catalog: catalog.switch(OWN, FOREIGN)),
    ),
}
OTHERS: tuple[Callable[[str, Path], object], ...] = (
    lambda address, _: make_store(address, FOREIGN),
    lambda address, _: make_store(address, FOREIGN, SCHEMA),
    lambda address, _: Index(address, collection=FOREIGN, embedder="hash").add([Document("a", "Owls hunt.")]),
    copy_into,
    lambda address, backup: restore(backup, address, FOREIGN),
    lambda address, backup: restore(backup, address, FOREIGN, replace=True),
    lambda address, _: LangChainStore(DeterministicFakeEmbedding(size=4), address, collection=FOREIGN).add_documents(
        [LangChainDocument("Owls hunt.")]
    ),
    lambda address, _: LlamaIndexStore(address, collection=FOREIGN).add(
        [TextNode(text="Owls hunt.", embedding=[1.0, 0.0, 0.0, 0.0])]
    ),
)


def test_every_engine_and_every_change_of_a_catalog_is_tried() -> None:
    assert list(MADE) == STORES.names()
    assert {name for name in vars(Catalog) if not name.startswith("_")} - READING == CATALOG.keys()


def test_nothing_changes_what_something_else_made(place: Place, backup: Path) -> None:
    try:
        with make_store(place.address, OWN, SCHEMA) as store:
            save(store, "doc", make_chunks("doc", TEXTS))
    except ForeignCollectionError:
        assert place.address.startswith("pgvector:")  # There, kinsplit's own table of collections can't be made.
    before = place.state()
    for number, operation in enumerate([*(each for several in CATALOG.values() for each in several), *OTHERS]):
        with pytest.raises(StoreError) as caught:
            operation(place.address, backup)
        assert FOREIGN in str(caught.value) or "kinsplit.collections" in str(caught.value), number
        assert place.state() == before, number


@pytest.mark.parametrize(
    "command",
    [
        "drop foreign --yes --store ADDRESS",
        "rename foreign taken --store ADDRESS",
        "switch foreign own --store ADDRESS",
        "delete doc --collection foreign --store ADDRESS",
        "index FOLDER --collection foreign --embedder hash --store ADDRESS",
        "watch FOLDER --collection foreign --embedder hash --store ADDRESS",
        "restore BACKUP --store ADDRESS --as foreign --replace",
    ],
)
def test_commands_change_nothing_that_something_else_made(
    command: str, backup: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = raw_collection(request)
    with make_store(place.address, OWN, SCHEMA):
        pass
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("Owls hunt.")
    before = place.state()
    values = {"ADDRESS": place.address, "FOLDER": str(tmp_path / "folder"), "BACKUP": str(backup)}
    done = CliRunner().invoke(app, [values.get(word, word) for word in command.split()], catch_exceptions=False)
    assert done.exit_code
    assert "was not made by kinsplit, which leaves it as it is" in " ".join(done.output.split())
    assert place.state() == before


def test_kinsplit_lists_nothing_that_something_else_made(place: Place) -> None:
    # Where kinsplit's own table of collections can't be made, there is no list.
    with open_catalog(place.address) as catalog, suppress(ForeignCollectionError):
        assert FOREIGN not in [each.name for each in catalog.collections()]


def test_a_new_collection_gets_no_number_that_something_else_has(request: pytest.FixtureRequest) -> None:
    place = qdrant(request, lambda client: points_of_others(client, "notes@1"))
    before = place.state()
    with make_store(place.address, "notes", SCHEMA) as store:
        save(store, "doc", make_chunks("doc", TEXTS))
    with open_catalog(place.address) as catalog:
        assert catalog.identity("notes") == "notes@2"
        catalog.drop("notes")
    assert place.state() == before


def test_a_file_of_the_user_in_a_collections_folder_is_never_deleted(tmp_path: Path) -> None:
    make_store(f"edge:{tmp_path}", OWN, SCHEMA).close()
    (tmp_path / OWN / "thesis.txt").write_text("keep me")
    hidden = tmp_path / f".{OWN}.{'0' * 32}.dropped"
    hidden.mkdir()
    (hidden / "thesis.txt").write_text("keep me")
    (tmp_path / ".backup.dropped").mkdir()
    with open_catalog(f"edge:{tmp_path}") as catalog:
        with pytest.raises(StoreError, match=r"own also holds 'thesis\.txt', which kinsplit didn't make"):
            catalog.drop(OWN)
        (tmp_path / OWN / "thesis.txt").rename(tmp_path / "thesis.txt")
        catalog.drop(OWN)
        assert catalog.collections() == []
    assert {path.name for path in tmp_path.iterdir()} == {".names.lock", ".backup.dropped", hidden.name, "thesis.txt"}


@pytest.mark.parametrize(
    "journal",
    [
        '{"one": "../outside", "other": "b", "aside": ".../outside.00000000000000000000000000000000"}',
        '{"one": "a", "other": "b", "aside": "../outside"}',
        '{"one": "a", "other": "../outside", "aside": ".a.00000000000000000000000000000000"}',
        '{"one": "a"}',
        "[]",
        "",
    ],
)
def test_a_record_of_a_switch_leads_out_of_no_folder(journal: str, tmp_path: Path) -> None:
    place = tmp_path / "place"
    for folder in (place / "b", place / ".a.00000000000000000000000000000000", tmp_path / "outside"):
        folder.mkdir(parents=True)
    (place / ".switch.json").write_text(journal)
    before = files_below(tmp_path)()
    for operation in (lambda: make_store(f"edge:{place}", "b"), lambda: open_catalog(f"edge:{place}").collections()):
        with pytest.raises(StoreError, match=r"\.switch\.json is no record of kinsplit's.*Delete the file"):
            operation()
    after = {name: data for name, data in files_below(tmp_path)().items() if not name.endswith(".names.lock")}
    assert after == before
