import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kill_worker import delete_and_die, sync_twenty_times
from kinsplit_testing import (
    DENSE,
    SCHEMA,
    SPARSE,
    TEXTS,
    ChunkStoreContract,
    embed,
    make_chunks,
    make_document,
    make_store,
    save,
)

from kinsplit.chunk import DOCUMENT
from kinsplit.errors import LockWarning, StoreError
from kinsplit.stores import open_catalog
from kinsplit.stores.engines.postgres.where import decode_text, dump, encode_text, load
from kinsplit.stores.filters import to_conditions
from kinsplit.stores.values import Query, SyncReport, Vectors

psycopg = pytest.importorskip("psycopg")
pytest.importorskip("pgvector")
from kinsplit.stores.engines.postgres import session  # noqa: E402
from kinsplit.stores.engines.postgres.store import upsert  # noqa: E402
from kinsplit.stores.engines.postgres.tables import LOCK  # noqa: E402


class TestPostgres(ChunkStoreContract):
    @pytest.fixture
    def address(self, postgres: str) -> str:
        return postgres


@pytest.fixture
def store(postgres):
    with make_store(postgres, "cs", SCHEMA) as store:
        yield store


@pytest.fixture
def connection(postgres):
    with psycopg.connect(postgres.removeprefix("pgvector:"), autocommit=True) as connection:
        yield connection


class Recorder:
    def __init__(self, connection):
        self.connection, self.calls = connection, []

    def __getattr__(self, name):
        if name == "execute":
            self.calls.append(name)
        return getattr(self.connection, name)


def test_search_get_known_and_sources_are_one_statement_each(store):
    chunks = make_chunks("doc", TEXTS)
    save(store, "doc", chunks)
    store._reader.connection = recorder = Recorder(store._reader.connection)
    queries = [
        query
        for level, where in ((0, None), (1, {"source_id": "doc"}), (3, {"subject": ["cs"]}))
        for query in (
            Query("dense", DENSE.embed_query("a"), 3, level, where),
            Query("bm25", SPARSE.embed_query("class"), 3, level, where),
        )
    ]
    for number, ask in enumerate(
        (
            lambda: store.search([*queries, Query("bm25", SPARSE.embed_query("class"), 3, DOCUMENT)]),
            lambda: store.get([chunk.id for chunk in chunks]),
            lambda: store.vectors([chunk.id for chunk in chunks]),
            lambda: store.find({"subject": "cs"}),
            lambda: store.known("doc"),
            store.sources,
        )
    ):
        ask()
        assert len(recorder.calls) == number + 1


def test_a_sync_that_breaks_off_changes_nothing(store, monkeypatch):
    old = make_chunks("doc", TEXTS)
    save(store, "doc", old)
    monkeypatch.setattr("kinsplit.stores.engines.postgres.store._BATCH", 2)
    new = make_chunks("doc", ["Something else.", *TEXTS[::-1]])
    calls = []

    def fail_later(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise psycopg.OperationalError("the disk is full")
        upsert(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr("kinsplit.stores.engines.postgres.store.upsert", fail_later)
        with pytest.raises(StoreError, match="disk is full"):
            store.sync("doc", new, embed(new[:1]))
    assert [chunk for chunk, _ in store.export("doc")] == old
    report, _ = save(store, "doc", new)
    assert (report.added, store.get([chunk.id for chunk in new])) == (1, new)


def test_readers_see_the_old_answer_until_a_sync_is_done(postgres, store):
    old = make_chunks("doc", TEXTS)
    save(store, "doc", old)
    with make_store(postgres, "cs") as reader:
        with store._exclusively():
            store._writer.connection.execute(psycopg.sql.SQL("DELETE FROM {}").format(store._tables.chunks))
            assert [chunk for chunk, _ in reader.export("doc")] == old
        assert reader.count() == 0


def end_sessions(connection):
    connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")


def test_sessions_that_the_server_ended_are_begun_again(store, connection):
    chunks = make_chunks("doc", TEXTS)
    save(store, "doc", chunks)
    for ask in (
        lambda: [hit.chunk for hit in store.search([Query("dense", DENSE.embed_query(TEXTS[1]), 1)])[0]] == [chunks[1]],
        lambda: [chunk for chunk, _ in store.export("doc")] == chunks,
        lambda: store.remove([chunks[4].id]) == 1,
        lambda: save(store, "doc", chunks)[0] == SyncReport(added=1, unchanged=4),
        lambda: store.delete("doc") == 5,
    ):
        end_sessions(connection)
        assert ask()
    assert store.count() == 0
    settings = "SELECT current_setting('hnsw.ef_search'), current_setting('hnsw.iterative_scan')"
    assert store._writer.connection.execute(settings).fetchone() == ("1000", "relaxed_order")


def test_a_condition_takes_one_parameter_for_all_of_its_values(store):
    # Postgres takes at most 65,535.
    values = list(range(40_000))
    where = {"$or": [{"year": values}, {"$not": {"tags": list(map(str, values))}}], "source_id": list(map(str, values))}
    assert len(store._where(to_conditions(0, where)).values) == 4


SIDES = "SELECT name, source FROM pg_settings WHERE name ~ '^tcp_' ORDER BY name"


def test_both_sides_of_a_session_notice_that_the_other_has_vanished(store):
    # How fast is measured by benchmarks/lost_writer.py, over a network that is cut.
    for side in (store._reader, store._writer):
        parameters = side.connection.info.get_parameters()
        assert parameters["keepalives_idle"] == "5"
        assert parameters["tcp_user_timeout"] == "12000"
        assert {source for _, source in side.connection.execute(SIDES)} == {"session"}


def test_settings_that_the_user_gives_stay(postgres, tmp_path, monkeypatch):
    (tmp_path / "services").write_text("[mine]\nkeepalives_idle=77\nconnect_timeout=7\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    own = "&tcp_user_timeout=0&options=-c%20tcp_keepalives_idle%3D99"
    monkeypatch.delenv("PGSERVICE", raising=False)
    for service in ("", "mine"):
        if service:
            monkeypatch.setenv("PGSERVICE", service)
        with make_store(postgres + own, "cs", SCHEMA) as store:
            parameters = store._writer.connection.info.get_parameters()
            assert parameters["tcp_user_timeout"] == "0"
            assert parameters["keepalives_interval"] == "3"
            assert parameters["keepalives_idle"] == ("77" if service else "5")
            assert parameters["connect_timeout"] == ("7" if service else "30")
            sources = dict(store._writer.connection.execute(SIDES).fetchall())
            assert (sources["tcp_keepalives_idle"], sources["tcp_user_timeout"]) == ("client", "session")
    monkeypatch.delenv("PGSERVICE")
    with make_store(f"{postgres}&service=mine", "cs", SCHEMA) as store:
        assert store._writer.connection.info.get_parameters()["keepalives_idle"] == "77"


def test_a_server_that_refuses_the_settings_is_used_without_them(postgres, monkeypatch):
    monkeypatch.setitem(session._KEEPALIVES, "tcp_user_timeout", "soon")
    with pytest.warns(session.KeepaliveWarning, match=r'refuses .*\(invalid value for parameter "tcp_user_timeout"'):
        store = make_store(postgres, "cs", SCHEMA)
    with store:
        save(store, "doc", make_chunks("doc", TEXTS))
        assert store.count() == 5


@pytest.fixture
def held(store, connection, monkeypatch):
    """The lock of the collection is held until a wait for it is reported."""
    monkeypatch.setattr(session, "_PATIENCE", 0.05)
    describe = session._holder

    def describe_and_end(*arguments):
        described = describe(*arguments)
        connection.execute("ROLLBACK")
        return described

    monkeypatch.setattr(session, "_holder", describe_and_end)
    connection.execute("BEGIN")
    connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", [LOCK, store._number])
    pid = connection.info.backend_pid
    return rf"session {pid} of the server is writing \(user postgres, idle in .* at 20.*pg_terminate_backend\({pid}\)"


def test_a_wait_for_another_writer_is_reported(postgres, store, held):
    with pytest.warns(LockWarning, match=f"/cs: still waiting after 0.05 seconds: {held}"):
        assert save(store, "doc", make_chunks("doc", TEXTS))[0] == SyncReport(added=5)
    with store._exclusively():
        assert store._writer.connection.execute("SHOW lock_timeout").fetchone() == ("0",)


def test_a_wait_of_a_drop_is_reported(postgres, store, held):
    store.close()
    with open_catalog(postgres) as catalog:
        with pytest.warns(LockWarning, match=held):
            catalog.drop("cs")
        assert catalog.collections() == []


def test_a_lock_timeout_of_the_user_ends_a_wait(postgres, store, held):
    with make_store(f"{postgres}&options=-c%20lock_timeout%3D20", "cs") as impatient:
        with pytest.raises(StoreError, match=f"/cs was not free within the lock_timeout of 20ms: {held}"):
            impatient.delete("doc")
        assert save(impatient, "doc", make_chunks("doc", TEXTS))[0] == SyncReport(added=5)


def test_a_session_that_ends_during_a_sync_leaves_the_old_answer(store, connection, monkeypatch):
    old = make_chunks("doc", TEXTS)
    save(store, "doc", old)
    new = make_chunks("doc", ["Something else.", *TEXTS[::-1]])
    write = store._write

    def write_twice(*arguments):
        write(*arguments)
        end_sessions(connection)
        write(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(store, "_write", write_twice)
        with pytest.raises(StoreError, match=r"terminat|clos"):
            store.sync("doc", new, embed(new[:1]))
    assert [chunk for chunk, _ in store.export("doc")] == old
    assert save(store, "doc", new)[0].added == 1


def test_a_server_that_is_gone_is_told_in_one_line(store, monkeypatch):
    store._reader.close()
    monkeypatch.setattr(store._reader, "_dsn", "postgresql://nobody@/none?host=/nowhere&password=secret")
    with pytest.raises(StoreError) as caught:
        store.count()
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_two_processes_that_write_one_source_take_turns(postgres, store, processes):
    writing = [processes.Process(target=sync_twenty_times, args=(postgres, who)) for who in "ab"]
    for process in writing:
        process.start()
    for process in writing:
        process.join(60)
        assert process.exitcode == 0
    chunks = [chunk for chunk, _ in store.export("doc")]
    assert [chunk.total for chunk in chunks] == [5] * 5
    assert len({chunk.text.split()[-2] for chunk in chunks}) == 1


def test_a_writer_waits_until_the_other_is_done(postgres, store, connection):
    chunks = make_chunks("doc", TEXTS)
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with make_store(postgres, "cs") as second, ThreadPoolExecutor(1) as pool:
        with store._exclusively():
            written = pool.submit(save, second, "doc", chunks)
            while connection.execute(waiting).fetchone() != (1,) and not written.done():
                time.sleep(0.01)
            assert not written.done()
            assert store.count() == 0
        assert written.result() == (SyncReport(added=len(TEXTS)), chunks)


def test_a_killed_process_leaves_no_lock(postgres, killed):
    killed(delete_and_die, postgres)
    with make_store(postgres, "cs", SCHEMA) as store:
        assert save(store, "doc", make_chunks("doc", TEXTS))[0] == SyncReport(unchanged=len(TEXTS))


def test_the_columns_are_real_and_follow_the_payload(store, connection):
    chunks = make_chunks("doc", TEXTS[:2])
    save(store, "doc", chunks)
    rows = connection.execute(
        "SELECT id::text, source_id, chunk_index, level, parent_id, content_hash, payload ->> 'full_content'"
        " FROM kinsplit.chunks_1 ORDER BY chunk_index"
    ).fetchall()
    assert rows == [(c.id, "doc", c.index, 0, None, c.content_hash, c.text) for c in chunks]


def test_terms_go_with_their_chunks(store, connection):
    def terms():
        return connection.execute("SELECT count(*) FROM kinsplit.terms_1").fetchone()[0]

    save(store, "doc", make_chunks("doc", TEXTS))
    expected = sum(len(vectors.sparse.indices) for vectors in embed(make_chunks("doc", TEXTS)).values())
    assert terms() == expected
    save(store, "doc", make_chunks("doc", TEXTS[::-1]))
    assert terms() == expected
    store.delete("doc")
    assert terms() == 0


def test_the_number_of_a_terms_chunks_is_kept(store, connection):
    def kept():
        rows = connection.execute("SELECT field, term, chunks FROM kinsplit.counts_1 WHERE chunks <> 0").fetchall()
        counted = "SELECT field, term, count(*) FROM kinsplit.terms_1 GROUP BY field, term"
        assert sorted(rows) == sorted(connection.execute(counted).fetchall())
        return len(rows)

    save(store, "one", [*make_chunks("one", TEXTS), *make_chunks("one", TEXTS[:2], level=1)])
    save(store, "other", make_chunks("other", TEXTS[2:]))
    most = kept()
    save(store, "one", make_chunks("one", [TEXTS[0], "A heap is a tree.", *TEXTS[2:]]))
    assert kept() < most
    store.delete("other")
    assert kept()
    store.delete("one")
    assert not kept()


def test_filters_use_the_index(store, connection):
    save(store, "doc", make_chunks("doc", TEXTS, subject="cs"))
    connection.execute("SET enable_seqscan = off")
    plan = connection.execute(
        "EXPLAIN SELECT id FROM kinsplit.chunks_1 WHERE facts @> %s OR facts @> %s",
        ['{"subject": "cs"}', '{"subject": ["cs"]}'],
    ).fetchall()
    assert any("Bitmap Index Scan on chunks_1_facts_idx" in line for (line,) in plan)


@pytest.mark.parametrize("most", [20_000, 5])
def test_enough_is_found_through_a_narrow_filter_by_comparison_or_by_the_vector_index(store, monkeypatch, most):
    monkeypatch.setattr("kinsplit.stores.engines.postgres.query._MOST", most)
    rng = np.random.default_rng(3)
    chunks = make_chunks("doc", [f"text {number}" for number in range(1500)])
    rows = rng.standard_normal((1500, SCHEMA.dimension)).astype(np.float32)
    store.sync("doc", chunks, {c.content_key: Vectors(row) for c, row in zip(chunks, rows, strict=True)})
    rare = make_chunks("rare", [f"rare {number}" for number in range(30)], subject="rare")
    save(store, "rare", rare)
    store._reader.connection.execute("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off")
    (hits,) = store.search([Query("dense", rows[0], 30, where={"subject": "rare"})])
    assert {hit.chunk.source_id for hit in hits} == {"rare"}
    assert len(hits) == 30
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_chunks_of_frequent_terms_are_chosen_by_weight_and_scored_in_full(store, monkeypatch):
    for name, number in (("_READ", 30), ("_LEAST", 4), ("_RESCORED", 2)):
        monkeypatch.setattr(f"kinsplit.stores.engines.postgres.query.{name}", number)
    texts = [
        " ".join(["heap"] * (1 + number % 2) + ["loop"] * (number % 3) + ["filler"] * (number % 7) + [f"n{number}"])
        for number in range(40)
    ]
    texts[33] += " pivot"
    with make_store("memory:", "cs", SCHEMA) as exact:
        for one in (store, exact):
            save(one, "doc", make_chunks("doc", texts))
        for question, number in (("heap", 3), ("heap loop", 3), ("heap loop pivot", 3), ("pivot", 1)):
            asked = SPARSE.embed_query(question)
            (hits,), (wanted,) = store.search([Query("bm25", asked, 3)]), exact.search([Query("bm25", asked, 40)])
            scores = {hit.chunk.id: hit.score for hit in wanted}
            found = [hit.score for hit in hits]
            assert found == pytest.approx([scores[hit.chunk.id] for hit in hits])
            assert found == sorted(found, reverse=True)
            assert len(found) == number
            assert found[0] == pytest.approx(wanted[0].score)
        # Of a document, all chunks are ranked.
        (hits,) = store.search([Query("bm25", SPARSE.embed_query("heap"), 40, 0, {"source_id": "doc"})])
        assert len(hits) == 40


def test_a_vector_of_length_zero_is_found_last(store):
    chunks = make_chunks("doc", TEXTS[:2])
    vectors = embed(chunks)
    vectors[chunks[0].content_key] = Vectors(np.zeros(SCHEMA.dimension, np.float32))
    store.sync("doc", chunks, vectors)
    (hits,) = store.search([Query("dense", DENSE.embed_query(TEXTS[1]), 5)])
    assert [(hit.chunk.index, round(hit.score, 5)) for hit in hits] == [(1, 1.0), (0, 0.0)]


def test_each_layer_has_a_vector_index_of_its_own(store, connection):
    indexes = connection.execute("SELECT indexdef FROM pg_indexes WHERE tablename = 'chunks_1'").fetchall()
    columns = [text.split("hnsw (")[1].split()[0] for (text,) in indexes if "hnsw" in text]
    assert sorted(columns) == ["dense", "dense_parent"]
    leaves = make_chunks("doc", TEXTS)
    chunks = [*leaves, *make_chunks("doc", TEXTS[:2], level=1), make_document(leaves, "Objects")]
    save(store, "doc", chunks)
    rows = connection.execute(
        "SELECT level, count(dense), count(dense_parent), count(*) FROM kinsplit.chunks_1 GROUP BY level ORDER BY level"
    ).fetchall()
    assert rows == [(0, 5, 0, 5), (1, 0, 2, 2), (DOCUMENT, 0, 0, 1)]


def test_a_vector_too_long_for_the_index_is_compared_exactly(postgres):
    from dataclasses import replace

    with make_store(postgres, "wide", replace(SCHEMA, dimension=2500)) as store:
        chunks = make_chunks("doc", TEXTS[:2])
        rows = np.eye(2, 2500, dtype=np.float32)
        store.sync("doc", chunks, {c.content_key: Vectors(row) for c, row in zip(chunks, rows, strict=True)})
        (hits,) = store.search([Query("dense", rows[1], 5)])
        assert [hit.chunk for hit in hits] == chunks[::-1]


def test_values_are_bound_and_never_read_as_sql(store):
    nasty = "'; DROP TABLE kinsplit.collections; -- %s {chunks}"
    save(store, nasty, make_chunks(nasty, [nasty], 0, **{nasty: nasty}))
    (hits,) = store.search([Query("dense", DENSE.embed_query("a"), 5, where={nasty: nasty, "source_id": nasty})])
    assert len(hits) == 1
    assert store.delete(nasty) == 1
    assert store.sources() == {}


def test_a_filter_by_parent_takes_ids_only(store):
    save(store, "doc", make_chunks("doc", TEXTS))
    (hits,) = store.search([Query("dense", DENSE.embed_query("a"), 5, where={"parent_id": ["no uuid"]})])
    assert hits == []


@pytest.mark.parametrize("dsn", ["postgresql://me:secret%zz@localhost/db", "host=localhost password=secret x"])
def test_an_address_that_can_not_be_read_does_not_show_the_password(dsn):
    with pytest.raises(StoreError, match="no connection string") as caught:
        make_store(f"pgvector:{dsn}", "cs", SCHEMA)
    assert "secret" not in str(caught.value)


def test_a_server_that_does_not_answer_is_one_line_without_the_password(tmp_path):
    with pytest.raises(StoreError) as caught:
        make_store(f"pgvector:postgresql://me:secret@/db?host={tmp_path}", "cs", SCHEMA)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


texts = st.text(st.sampled_from('\0\x1a01f\\u"ä😀'))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)


@given(values)
def test_json_comes_back_and_holds_no_nul(value):
    assert load(dump(value)) == value
    assert load(dump(value).encode()) == value
    assert "\\u0000" not in dump(value).replace("\\\\", "")


@given(texts)
def test_text_comes_back_and_holds_no_nul(text):
    assert decode_text(encode_text(text)) == text
    assert "\0" not in encode_text(text)
