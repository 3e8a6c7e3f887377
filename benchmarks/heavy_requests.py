"""Searches beside clients that have pages drawn and documents rendered without pause.

    python benchmarks/heavy_requests.py [--seconds 4] [--rounds 5] [--only NAME]

A PDF file of 760 pages, a Markdown file of 100 KB that is one table, and a short one are indexed with Qdrant Edge. The
service runs in its own process. One client searches, plainly and with `render=true` in turn; in each round first alone
and then beside two clients, which are in a process of their own so that they don't delay the one that is measured. The
figures are medians and their ratio, and the growth of the memory (resident, of the service and its children) from
before the first round to after the last one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import Annotated, NamedTuple
from urllib.parse import urlencode

import numpy as np
import typer
from service import serving

from kinsplit import Index

PAGES, LINES = 760, 48
_WIDTHS = range(100, 2400)


class Attack(NamedTuple):
    """Requests of one client, by its number and that of the request."""

    collection: str
    path: Callable[[int, int], str]


def _picture(page: int, **query: int) -> str:
    return f"/documents/pdf/big.pdf/pages/{page}.png?{urlencode(query)}"


ATTACKS: Mapping[str, Attack] = {
    "picture of a long range": Attack("pdf", lambda k, n: _picture(701, start=k * 1000 + n, end=2_300_000, width=100)),
    "wide pictures of all pages": Attack("pdf", lambda k, n: _picture((k * 379 + n) % PAGES + 1, width=2400 - n % 99)),
    "long document": Attack("pdf", lambda *_: "/documents/pdf/big.pdf"),
    "file of a document": Attack("pdf", lambda *_: "/documents/pdf/big.pdf/original"),
    "table": Attack("notes", lambda *_: "/documents/notes/table.md?render=true"),
    "table, always another mark": Attack(
        "notes",
        lambda k, n: f"/documents/notes/table.md?{urlencode({'render': True, 'start': k + 2 * n, 'end': 90000})}",
    ),
}

#: Runs in a separate process: two clients that request paths without pause between the lines "go" and "stop".
_CLIENTS = """
import os, sys, threading, time
from collections import Counter
from http.client import HTTPConnection
from heavy_requests import ATTACKS
path, statuses, go, busy = ATTACKS[sys.argv[2]].path, Counter(), threading.Event(), threading.Semaphore(2)
def ask(k):
    n = 0
    while go.wait():
        with busy:
            connection = HTTPConnection(sys.argv[1], timeout=120)
            connection.request("GET", path(k, n))
            response = connection.getresponse()
            response.read()
            connection.close()
        statuses[response.status] += 1
        n += 1
for k in range(2):
    threading.Thread(target=ask, args=(k,), daemon=True).start()
for line in sys.stdin:
    if line == "go\\n":
        go.set()
    else:
        go.clear()
        for _ in range(2):
            busy.acquire()
        busy.release(2)
        print(*(f"{n} x {status}" for status, n in sorted(statuses.items())), sep=", ", flush=True)
os._exit(0)
"""


class Clients:
    """Two clients in a process of their own.

    Args:
        host: Address of the service.
        name: Name of their attack.
    """

    def __init__(self, host: str, name: str) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CLIENTS, host, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def say(self, word: str) -> None:
        """Make them "go" or "stop"."""
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()

    def stop(self) -> str:
        """Stop after the requests in progress, and return the number of responses by status."""
        self.say("stop")
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(60)


def searches(address: str, seconds: float) -> tuple[list[float], list[float]]:
    """Return the milliseconds of plain and of rendered searches, made in turn by one client."""
    connection, times = HTTPConnection(address, timeout=120), ([], [])
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for rendered in (False, True):
            begun = time.perf_counter()
            connection.request("GET", f"/search?{urlencode({'q': 'recursion', 'top_k': 1, 'render': rendered})}")
            response = connection.getresponse()
            answer = response.read()
            times[rendered].append((time.perf_counter() - begun) * 1000)
            if response.status != 200 or (rendered and b'"html":"' not in answer and b'"kind":"markdown"' in answer):
                times[rendered][-1] = float("inf")  # Not an answer.
    return times


def memory(root: int) -> float:
    """Return the resident megabytes of a process and all its descendants."""
    parents, sizes = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            sizes[int(folder.name)] = int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:  # It ended.
            continue
    family = {root}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(sizes.get(each, 0) for each in family) / 2**20


def pdf(path: Path) -> None:
    """Write a PDF file of pages of text, some 3,600 characters each."""
    objects: list[bytes] = [
        b"",
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"",
        b"<</Type/Font/Subtype/Type1/BaseFont/Times-Roman>>",
    ]
    kids = []
    for page in range(PAGES):
        lines = (
            f"(Page {page} line {n}: the heron waits in the reeds and looks at the water for fish.) '"
            for n in range(LINES)
        )
        content = f"BT /F1 9 Tf 40 780 Td 14 TL {' '.join(lines)} ET".encode()
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(content), content))
        resources = b"/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>"
        objects.append(b"<</Type/Page/Parent 2 0 R%s/Contents %d 0 R>>" % (resources, len(objects) - 1))
        kids.append(b"%d 0 R" % (len(objects) - 1))
    objects[2] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (PAGES, b" ".join(kids))
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, each in enumerate(objects[1:], 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects), b"".join(b"%010d 00000 n \n" % at for at in places))
    path.write_bytes(out + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects), start))


def prepare(folder: Path) -> None:
    """Index the files, each kind in a collection of its own."""
    (folder / "pdf").mkdir()
    (folder / "notes").mkdir()
    pdf(folder / "pdf/big.pdf")
    (folder / "notes/table.md").write_text("a|b\n-|-\n" + "a\n" * 49_995)
    (folder / "notes/ok.md").write_text("# Good\n\nRecursion is fine.\n")
    for name in ("pdf", "notes"):
        with Index(f"edge:{folder}/kinsplit-data", collection=name, embedder="hash") as index:
            index.add(folder / name)


def main(
    seconds: Annotated[float, typer.Option(help="Of each measurement beside the clients.")] = 4.0,
    rounds: Annotated[int, typer.Option(help="Measurements alone and beside the clients.")] = 5,
    only: Annotated[str | None, typer.Option(help="Only the attacks whose names contain this.")] = None,
) -> None:
    """Measure searches alone and beside two clients, one kind of requests after the other."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        prepare(folder)
        head = (
            f"{'':28}{'plain ms':>18}{'x':>6}{'rendered ms':>18}{'x':>6}{'their p95':>12}{'memory MB':>14}  responses"
        )
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n\n{head}")
        for name, attack in ATTACKS.items():
            if only is None or only in name:
                with serving(str(folder), collections=attack.collection, embedder="hash", originals="pdf") as started:
                    print(row(name, *started, seconds, rounds), flush=True)


def row(name: str, address: str, pid: int, seconds: float, rounds: int) -> str:
    """Measure one attack, and return its line."""
    host, counts = address.removeprefix("http://"), ""
    clients = Clients(host, name)
    searches(host, 2)
    before, alone, beside = memory(pid), ([], []), ([], [])
    for _ in range(rounds):
        for own, found in zip(alone, searches(host, seconds / 2), strict=True):
            own += found
        clients.say("go")
        time.sleep(0.5)
        for own, found in zip(beside, searches(host, seconds), strict=True):
            own += found
        counts = clients.stop()
    clients.close()
    time.sleep(1)
    after, figures = memory(pid), ""
    for one, other in zip(alone, beside, strict=True):
        figures += f"{f'{median(one):.1f} -> {median(other):.1f}':>18}{median(other) / median(one):6.2f}"
    p95 = ", ".join(f"{np.percentile(times, 95):.0f}" for times in beside)
    return f"{name:28}{figures}{p95:>12}{f'{before:.0f} {after - before:+.1f}':>14}  {counts}"


if __name__ == "__main__":
    typer.run(main)
