import sys

import pytest
from kinsplit_testing import SCHEMA

from kinsplit.errors import InvalidParameterError, MissingExtraError
from kinsplit.stores import open_store


@pytest.mark.parametrize("address", ["", "memory", "edge", "edge:", "qdrant:", "pgvector:", "redis:x", "EDGE:./data"])
def test_an_address_of_no_engine_lists_them_all(address):
    with pytest.raises(InvalidParameterError, match=r"edge:PATH, qdrant:URL, .*, pgvector:DSN, memory:"):
        open_store(address, "cs", SCHEMA)


def test_a_password_in_an_address_of_no_engine_is_not_shown():
    with pytest.raises(InvalidParameterError) as caught:
        open_store("postgresql://me:secret@localhost/db", "cs", SCHEMA)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "package", "extra"),
    [
        ("edge:x", "qdrant_edge", "search"),
        ("qdrant::memory:", "qdrant_client", "qdrant"),
        ("pgvector:dbname=x", "psycopg", "pgvector"),
    ],
)
def test_a_client_that_is_not_installed_names_its_extra(address, package, extra, monkeypatch):
    engines = tuple(f"kinsplit.stores.engines.{engine}.store" for engine in ("edge", "qdrant", "postgres"))
    for name in [name for name in sys.modules if name.startswith(engines)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"kinsplit\[{extra}\]"):
        open_store(address, "cs", SCHEMA)


@pytest.mark.parametrize("engine", ["memory:", "qdrant::memory:", "pgvector:dbname=x"])
def test_a_collection_name_that_not_every_engine_takes_is_refused_by_all(engine):
    with pytest.raises(InvalidParameterError, match="collection"):
        open_store(engine, "a/b", SCHEMA)
