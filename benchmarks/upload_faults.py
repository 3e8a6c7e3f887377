"""`kinsplit serve` killed at random moments while clients upload and delete: whether files and documents still agree.

```
python benchmarks/upload_faults.py                 # 50 kills, some five minutes
python benchmarks/upload_faults.py --kills 5 --seed 7
```

Three clients write Markdown files and files of rows into two collections of one service on Qdrant Edge, whose process
group gets SIGKILL. After the next start, before anything else is written, each collection must have exactly the
documents of its files, with the same texts, and the folders nothing but these files. A client also remembers the last
version of each file that it was told is stored: that one, or one that was being sent when the process died, must be
there. The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import httpx
from rich.console import Console

#: Name in requests, and folder below that of uploads.
COLLECTIONS = {"one": "", "two": "second"}
FOLDER, CLIENTS, FILES = "up", 3, 8
#: Content of a file that doesn't exist.
GONE = b""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    chance, console, wrong, settled = random.Random(arguments.seed), Console(), 0, 0
    # Processes that were killed may still be closing their files.
    with tempfile.TemporaryDirectory(prefix="kinsplit", ignore_cleanup_errors=True) as name:
        folder, known = Path(name), Known()
        for number in range(arguments.kills + 1):
            before = journals(folder)
            with service(folder) as (address, process):
                seen = Seen()
                seen.look(folder, address, known)
                seen.faults += known.refused
                known.refused.clear()
                wrong += bool(seen.faults)
                settled += before
                row = f"documents {seen.documents:3}", f"files {seen.files:3}", f"journals {before}"
                console.print(f"after {number:2} kills", *row, *seen.faults, sep=" | ")
                if number < arguments.kills:
                    disturb(address, process, known, chance.uniform(0, 2), chance.random())
    verdict = f"{wrong} starts with a fault" if wrong else "documents = files, texts equal, nothing left over"
    console.print(f"{arguments.kills} kills, seed {arguments.seed}: {known.answers:,} writes answered, ", end="")
    console.print(f"{settled} writes finished by the next start, {verdict}.")
    return int(wrong > 0)


@dataclass
class Known:
    """What clients know of each file, by collection and name.

    Attributes:
        contents: Contents that a file may have: the last one answered, and those sent without an answer.
        answers: Number of answered writes.
        refused: Answers other than the expected ones.
    """

    contents: dict[tuple[str, str], set[bytes]] = field(default_factory=dict)
    answers: int = 0
    refused: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass
class Seen:
    """What a service that has just started shows, and its faults."""

    documents: int = 0
    files: int = 0
    faults: list[str] = field(default_factory=list)

    def look(self, folder: Path, address: str, known: Known) -> None:
        with httpx.Client(base_url=address, timeout=60) as client:
            for collection, inside in COLLECTIONS.items():
                place = folder / FOLDER / inside
                paths = {path.name: path for path in place.iterdir()} if place.is_dir() else {}
                files = {name: path.read_bytes() for name, path in paths.items() if path.is_file()}
                self.files += len(files)
                self._compare(client, collection, files)
                extra = {name for name in paths if name not in files} - set(COLLECTIONS.values())
                self.faults += [f"left over: {name}" for name in sorted(extra)]
                for (owner, name), contents in known.contents.items():
                    found = files.get(name, GONE)
                    if owner == collection and found not in contents:
                        self.faults.append(f"{collection}: {name} is none of {len(contents)} versions")
                    if owner == collection:
                        known.contents[owner, name] = {found}

    def _compare(self, client: httpx.Client, collection: str, files: dict[str, bytes]) -> None:
        expected = {id_: text for name, content in files.items() for id_, text in documents_of(name, content)}
        query = {"strategy": collection, "limit": 500}
        rows = client.get("/documents", params=query).json()["documents"]
        self.documents += len(rows)
        ids = {row["id"] for row in rows}
        self.faults += [f"{collection}: not indexed: {id_}" for id_ in sorted(expected.keys() - ids)]
        self.faults += [f"{collection}: without a file: {id_}" for id_ in sorted(ids - expected.keys())]
        for id_ in sorted(expected.keys() & ids):
            text = client.get(f"/documents/{quote(id_)}", params={"strategy": collection}).json()["text"]
            if text.strip() != expected[id_].strip():
                self.faults.append(f"{collection}: another text: {id_}")


def documents_of(name: str, content: bytes) -> list[tuple[str, str]]:
    """Return the id and the text of each document of a file."""
    if name.endswith(".jsonl"):
        rows = [json.loads(line) for line in content.decode().splitlines()]
        return [(f"{FOLDER}/{name}#{row['docid']}", row["text"]) for row in rows]
    return [(f"{FOLDER}/{name}", content.decode())]


def content_of(name: str, chance: random.Random) -> bytes:
    """Return another version of a file, of up to some thousand sentences."""
    mark, lines = chance.randrange(10**9), range(chance.randint(1, 3000))
    if name.endswith(".md"):
        return f"# {name} {mark}\n\n{' '.join(f'Line {line} of {mark}.' for line in lines)}\n".encode()
    rows = ({"docid": f"r{row}", "text": f"Row {row} of {mark}."} for row in lines[: chance.randint(1, 60)])
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def journals(folder: Path) -> int:
    """Return the number of writes that a killed service left unfinished."""
    return sum(1 for path in (folder / FOLDER).rglob(".*") if path.is_dir())


def disturb(address: str, process: subprocess.Popen[str], known: Known, seconds: float, seed: float) -> None:
    """Let clients write, and kill the service some time after its first answer."""
    stop, before = threading.Event(), known.answers
    threads = [
        threading.Thread(target=write, args=(address, known, number, random.Random(f"{seed} {number}"), stop))
        for number in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    while known.answers == before:
        time.sleep(0.01)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGKILL)
    stop.set()
    for thread in threads:
        thread.join()


def write(address: str, known: Known, client: int, chance: random.Random, stop: threading.Event) -> None:
    """Upload and delete until the service is gone; each client has files of its own, and so knows what they hold."""
    names = [
        f"f{number}{suffix}" for number in range(FILES) for suffix in (".md", ".jsonl") if number % CLIENTS == client
    ]
    with httpx.Client(base_url=address, timeout=60) as http, suppress(httpx.HTTPError):
        while not stop.is_set():
            key = collection, name = chance.choice(list(COLLECTIONS)), chance.choice(names)
            content = GONE if chance.random() < 0.35 else content_of(name, chance)
            with known.lock:
                known.contents.setdefault(key, {GONE}).add(content)
            query = {"strategy": collection}
            if content == GONE:
                response = http.delete(f"/documents/{FOLDER}/{name}", params=query)
                done = response.status_code in (200, 404)
            else:
                response = http.post("/documents", params=query, files=[("files", (name, content))])
                done = response.status_code == 200 and response.json()["files"][0]["error"] is None
            with known.lock:
                if not done:
                    known.refused.append(f"{response.status_code}: {response.text}")
                known.contents[key] = {content}
                known.answers += 1


@contextmanager
def service(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start a service in a process group of its own, which is killed in the end."""
    command = [sys.executable, "-m", "kinsplit", "serve", "--port", "0", "--embedder", "hash", "--store", "edge:data"]
    options = ["--collection", "one=first", "--collection", "two=second", "--uploads", FOLDER]
    log = folder / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, *options], cwd=folder, stdout=output, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
    try:
        while not (found := re.search(r"Listening on (\S+?)\. ", log.read_text())):
            if process.poll() is not None:
                raise SystemExit(f"The service did not start:\n{log.read_text()}")
            time.sleep(0.1)
        yield found[1], process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
