"""Options of Postgres addresses, the first load, and the errors of servers."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from kill_worker import load_and_die
from kinsplit_testing import DENSE, SCHEMA, SPARSE, TEXTS, embed, make_chunks, make_store, save

from kinsplit.errors import InvalidParameterError, StoreError
from kinsplit.stores.values import Query, Vectors

psycopg = pytest.importorskip("psycopg")
pytest.importorskip("pgvector")
from kinsplit.stores.engines.postgres.indexes import GraphWarning, IndexWarning  # noqa: E402


@pytest.fixture
def connection(postgres):
    with psycopg.connect(postgres.removeprefix("pgvector:"), autocommit=True) as connection:
        yield connection


def graphs(connection):
    found = connection.execute("SELECT indexdef FROM pg_indexes WHERE indexdef LIKE '%hnsw%'").fetchall()
    return sorted(text.split("USING ")[1] for (text,) in found)


def test_a_new_collection_and_its_searches_get_the_options(postgres, connection):
    options = "&halfvec=true&hnsw_m=8&hnsw_ef_construct=32&hnsw_ef=77&connect_timeout=5"
    with make_store(f"{postgres}{options}", "cs", replace(SCHEMA, dimension=3000)) as store:
        chunks = make_chunks("doc", TEXTS[:2])
        rows = np.eye(2, 3000, dtype=np.float32)
        store.sync("doc", chunks, {c.content_key: Vectors(row) for c, row in zip(chunks, rows, strict=True)})
        (hits,) = store.search([Query("dense", rows[1], 5)])
        assert [hit.chunk for hit in hits] == chunks[::-1]
        assert store.vectors([chunks[0].id])[chunks[0].id].dense.tolist() == rows[0].tolist()
        assert store._reader.connection.execute("SHOW hnsw.ef_search").fetchone() == ("77",)
    assert graphs(connection) == [
        f"hnsw ({name} halfvec_cosine_ops) WITH (m='8', ef_construction='32')" for name in ("dense", "dense_parent")
    ]


def test_a_search_goes_on_until_it_has_more_candidates_than_pgvector_takes_at_once(postgres, monkeypatch):
    for module in ("query", "session"):
        monkeypatch.setattr(f"kinsplit.stores.engines.postgres.{module}.MOST_CANDIDATES", 4)
    rows = np.random.default_rng(0).standard_normal((1000, 128)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    chunks = make_chunks("doc", [f"text {number}" for number in range(len(rows))])
    nearest = np.sort(rows[:20] @ rows.T)[:, -5:].min(axis=1)
    found = {}
    for candidates in (4, 300):
        options = f"&hnsw_m=5&hnsw_ef_construct=10&hnsw_ef={candidates}"
        with make_store(f"{postgres}{options}", "cs", replace(SCHEMA, dimension=128)) as store:
            store.sync("doc", chunks, {c.content_key: Vectors(row) for c, row in zip(chunks, rows, strict=True)})
            connection = store._reader.connection
            assert connection.execute("SHOW hnsw.ef_search").fetchone() == ("4",)
            connection.execute("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off")
            rankings = store.search([Query("dense", row, 5) for row in rows[:20]])
        scores = [[hit.score for hit in hits] for hits in rankings]
        assert scores == [sorted(of_one, reverse=True) for of_one in scores]
        found[candidates] = np.mean([np.array(own) > least - 1e-4 for own, least in zip(scores, nearest, strict=True)])
    assert found[4] < 0.8 < found[300]


def test_lists_are_made_of_the_vectors_of_a_first_load_and_anew_when_there_are_many_more(
    postgres, connection, monkeypatch
):
    monkeypatch.setattr("kinsplit.stores.engines.postgres.indexes._FEWEST", 100)
    rng = np.random.default_rng(0)

    def write(store, name, number):
        chunks = make_chunks(name, [f"text {each}" for each in range(number)])
        rows = rng.standard_normal((number, 32)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        store.sync(
            name,
            chunks,
            {c.content_key: Vectors(row, SPARSE.embed_query(c.text)) for c, row in zip(chunks, rows, strict=True)},
        )
        return rows

    def lists():
        found = connection.execute("SELECT indexdef FROM pg_indexes WHERE indexdef LIKE '%ivfflat%'").fetchall()
        return sorted(text.split("USING ")[1] for (text,) in found)

    address, schema = f"{postgres}&dense_index=ivfflat", replace(SCHEMA, dimension=32)
    with make_store(address, "cs", schema) as store:
        write(store, "few", 50)
        assert lists() == []
        store.delete("few")
        with store.first_load():
            rows = write(store, "doc", 600)
            assert lists() == []
        assert lists() == ["ivfflat (dense vector_cosine_ops) WITH (lists='48')"]
        assert store._reader.run(lambda connection: connection.execute("SHOW ivfflat.probes").fetchone()) == ("11",)
        write(store, "more", 1000)
    assert graphs(connection) == []
    nearest = np.sort(rows[:20] @ rows.T)[:, -5:].min(axis=1)
    found = {}
    for probes, number in (("", "11"), ("&ivfflat_probes=1", "1"), ("&ivfflat_probes=48", "48")):
        with make_store(f"{postgres}{probes}", "cs", schema) as store:
            connection_ = store._reader.connection
            assert connection_.execute("SHOW ivfflat.probes").fetchone() == (number,)
            connection_.execute("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off")
            rankings = store.search([Query("dense", row, 5, 0, {"source_id": "doc"}) for row in rows[:20]])
            scores = [[hit.score for hit in hits] for hits in rankings]
            found[number] = np.mean([np.array(own) > least - 1e-4 for own, least in zip(scores, nearest, strict=True)])
    assert found["1"] < found["11"] < found["48"] == 1.0
    with make_store(postgres, "cs") as store:
        write(store, "many", 1000)
    assert lists() == ["ivfflat (dense vector_cosine_ops) WITH (lists='48')"]
    with pytest.warns(IndexWarning, match="/cs: it has grown, and its indexes are built now"):
        make_store(postgres, "cs").close()
    assert lists() == ["ivfflat (dense vector_cosine_ops) WITH (lists='100')"]
    make_store(postgres, "cs").close()
    with make_store(address, "growing", schema) as store:
        write(store, "doc", 200)
    with pytest.warns(IndexWarning, match="/growing: it has grown"):
        make_store(postgres, "growing").close()
    assert lists()[1:] == ["ivfflat (dense vector_cosine_ops) WITH (lists='28')"]


def test_options_that_an_existing_collection_does_not_have_are_refused(postgres):
    make_store(f"{postgres}&hnsw_m=8", "cs", SCHEMA).close()
    for same in ("", "&hnsw_m=8", "&hnsw_ef=9&maintenance_work_mem=1GB"):
        make_store(f"{postgres}{same}", "cs", SCHEMA).close()
    for other in ("halfvec=true", "dense_index=ivfflat", "hnsw_m=16", "partition_by=subject"):
        with pytest.raises(InvalidParameterError, match=f"{other.partition('=')[0]}.*which exists"):
            make_store(f"{postgres}&{other}", "cs", SCHEMA)


def test_partitions_by_a_key_are_searched_alone_by_its_filter(postgres, connection):
    with make_store(f"{postgres}&partition_by=subject&partitions=4", "cs", SCHEMA) as store:
        for name, subject in (("a", "cs"), ("b", "maths"), ("c", "law"), ("d", "'; --\0"), ("e", None)):
            save(store, name, make_chunks(name, TEXTS, subject=subject))
        assert save(store, "a", make_chunks("a", TEXTS, subject="law"))[0].updated == 5
        for subject, names in (("law", ["a", "c"]), (["maths", "'; --\0"], ["b", "d"]), (None, ["e"]), ("cs", [])):
            where = {"subject": subject}
            dense = Query("dense", DENSE.embed_query("a"), 50, 0, where)
            terms = Query("bm25", SPARSE.embed_query("class"), 50, 0, where)
            for hits in store.search([dense, terms]):
                assert sorted({hit.chunk.source_id for hit in hits}) == names
            assert list(store.sources(0, where)) == names
        assert list(store.sources(0, {"$not": {"subject": "law"}})) == ["b", "d", "e"]
        with pytest.raises(InvalidParameterError, match=r"'subject'.*must be a string"):
            save(store, "f", make_chunks("f", TEXTS, subject=["cs", "law"]))
        assert store.sources().keys() == set("abcde")
    with make_store(postgres, "cs") as store:
        assert store._made.partition_by == "subject"
        plan = connection.execute("EXPLAIN SELECT id FROM kinsplit.chunks_1 WHERE part = ANY(ARRAY['law'])").fetchall()
        assert len({word for (line,) in plan for word in line.split() if word.startswith("chunks_1_part_")}) == 1


def test_the_graph_is_made_at_the_end_of_a_first_load_only(postgres, connection):
    options = "&maintenance_work_mem=256MB&build_workers=1"
    with make_store(f"{postgres}{options}", "cs", SCHEMA) as store:
        with store.first_load():
            assert graphs(connection) == []
            # Others leave it to this one.
            with make_store(postgres, "cs") as other, other.first_load():
                save(other, "doc", make_chunks("doc", TEXTS))
            assert graphs(connection) == []
            (hits,) = store.search([Query("dense", DENSE.embed_query(TEXTS[0]), 1)])
            assert hits[0].chunk.text == TEXTS[0]
        assert len(graphs(connection)) == 2
        with store.first_load():
            assert len(graphs(connection)) == 2


def test_adding_to_an_empty_index_is_a_first_load(postgres, connection):
    from kinsplit import Document, Index

    seen = []
    with Index(postgres, embedder="hash") as index:
        for number in range(2):
            document = Document(str(number), "A loop repeats statements.")
            index.add(document, on_event=lambda event: seen.append(len(graphs(connection))))
    assert (seen[0], seen[-1]) == (0, 2)
    assert len(graphs(connection)) == 2


def test_a_session_that_ends_during_a_first_load_does_not_keep_the_graph_away(postgres, connection):
    with make_store(postgres, "cs", SCHEMA) as store, store.first_load():
        save(store, "doc", make_chunks("doc", TEXTS))
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    assert len(graphs(connection)) == 2


def test_a_graph_that_does_not_fit_into_memory_is_a_warning(postgres):
    rng = np.random.default_rng(1)
    with make_store(f"{postgres}&maintenance_work_mem=1MB", "cs", replace(SCHEMA, dimension=512)) as store:
        chunks = make_chunks("doc", [f"text {number}" for number in range(500)])
        rows = rng.standard_normal((500, 512)).astype(np.float32)
        # 500 vectors of 2 kB with their links, and what building takes in any case.
        with pytest.warns(GraphWarning, match=r"after \d+ tuples.*: \?maintenance_work_mem=3MB\."), store.first_load():
            store.sync("doc", chunks, {c.content_key: Vectors(row) for c, row in zip(chunks, rows, strict=True)})


class Crowded:
    """A connection to a server whose processes have no memory to build a graph together."""

    def __init__(self, connection):
        self.connection, self.workers = connection, None

    def __getattr__(self, name):
        return getattr(self.connection, name)

    def execute(self, statement, values=()):
        if "max_parallel_maintenance_workers" in values:
            self.workers = values[1]
        if self.workers != "0" and not isinstance(statement, str) and "hnsw" in statement.as_string():
            raise psycopg.errors.DiskFull("could not resize shared memory segment")
        return self.connection.execute(statement, values)


def test_a_server_without_shared_memory_builds_graphs_in_one_process_unless_told_how_many(postgres, connection):
    for options, built in (("", 2), ("&build_workers=2", 1)):
        with make_store(f"{postgres}{options}", "cs", SCHEMA) as store:
            connection.execute("DROP INDEX kinsplit.chunks_1_dense_idx")
            with nullcontext() if built == 2 else pytest.raises(psycopg.errors.DiskFull):
                store._indexes._create(Crowded(connection))
        assert len(graphs(connection)) == built


def test_a_first_load_that_died_is_ended_by_the_next_opening(postgres, connection, killed):
    killed(load_and_die, postgres)
    assert graphs(connection) == []
    with pytest.warns(IndexWarning, match="/cs: its first load was interrupted"):
        store = make_store(postgres, "cs", SCHEMA)
    with store:
        assert store.count() == 5
    assert len(graphs(connection)) == 2


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("hnsw_mm=secret", "store option 'hnsw_mm': is not known"),
        ("hnsw_m=1", "store option 'hnsw_m': must be at least"),
        ("hnsw_m=8&hnsw_m=9", "twice"),
        (
            "hnsw_m=70&hnsw_ef_construct=128",
            "store option 'hnsw_ef_construct': must be at least twice hnsw_m, which is 70",
        ),
        ("partitions=3", "needs partition_by"),
        ("maintenance_work_mem=1;SELECT", "maintenance_work_mem"),
    ],
)
def test_a_wrong_option_is_named(query, message):
    with pytest.raises(InvalidParameterError, match=message) as caught:
        make_store(f"pgvector:postgresql://localhost/x?{query}", "cs", SCHEMA)
    assert "secret" not in str(caught.value)


def test_a_server_or_pgvector_that_is_too_old_is_refused_before_anything_is_made(postgres, connection, monkeypatch):
    session = "kinsplit.stores.engines.postgres.session"
    for constant, value, message in (
        ("_POSTGRES", 99, r"runs Postgres \d+; kinsplit needs 99"),
        ("_PGVECTOR", (99, 1), r"has pgvector [\d.]+; kinsplit needs 99.1 or newer. Update it on the server"),
        ("_VERSIONS", "SELECT '0.7.4', '0.8.1'", "has pgvector 0.7.4.*ALTER EXTENSION vector UPDATE"),
        ("_VERSIONS", "SELECT 1 WHERE false", "has no pgvector"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(f"{session}.{constant}", value)
            with pytest.raises(StoreError, match=message):
                make_store(postgres, "cs", SCHEMA)
    assert connection.execute("SELECT to_regclass('kinsplit.collections')").fetchone() == (None,)


def test_a_wrong_password_names_where_to_give_it(monkeypatch):
    def refuse(*arguments, **named):
        raise psycopg.OperationalError('FATAL:  password authentication failed for user "me"')

    monkeypatch.setattr("kinsplit.stores.engines.postgres.session.psycopg.connect", refuse)
    with pytest.raises(StoreError, match="PGPASSWORD") as caught:
        make_store("pgvector:postgresql://me:secret@localhost/db", "cs", SCHEMA)
    assert "secret" not in str(caught.value)


def test_terms_and_vectors_of_replaced_chunks_are_the_new_ones(postgres):
    with make_store(postgres, "cs", SCHEMA) as store:
        chunks = make_chunks("doc", TEXTS)
        store.put(chunks, embed(chunks))
        changed = [replace(chunk, content_hash=f"other{chunk.index}") for chunk in chunks[:2]]
        store.put(changed, {c.content_key: v for c, v in zip(changed, embed(chunks[3:]).values(), strict=True)})
        found = store.vectors([chunk.id for chunk in chunks])
        for chunk, source in zip(changed, chunks[3:], strict=True):
            assert found[chunk.id].sparse == found[source.id].sparse
            np.testing.assert_array_equal(found[chunk.id].dense, found[source.id].dense)
