"""A model hub on this machine: `python .ci/hub.py FOLDER REPOSITORY REVISION` serves the files of one model.

It answers what `huggingface_hub` asks, at the address that it prints, which the environment variable HF_ENDPOINT takes.
"""

from __future__ import annotations

import hashlib
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_RANGE = re.compile(r"bytes=(\d+)-")


class Hub(ThreadingHTTPServer):
    """The server.

    Attributes:
        requests: Method, file and first byte of each request.
        breaks_after: Bytes of a file after which the next answer breaks off; None for whole answers.
    """

    def __init__(self, folder: Path, repository: str, revision: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder, self.revision = folder, revision
        self.prefix = f"/{repository}/resolve/{revision}/"
        self.requests: list[tuple[str, str, int]] = []
        self.breaks_after: int | None = None

    @property
    def address(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        hub, name = self.server, self.path.removeprefix(self.server.prefix)
        path = hub.folder / name
        if not self.path.startswith(hub.prefix) or ".." in name or not path.is_file():
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound" if self.path.startswith(hub.prefix) else "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        data = path.read_bytes()
        asked = _RANGE.match(self.headers.get("Range", ""))
        start = int(asked[1]) if asked else 0
        hub.requests.append((self.command, name, start))
        self.send_response(206 if asked else 200)
        self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
        self.send_header("X-Repo-Commit", hub.revision)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(data) - start))
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        if body:
            end, hub.breaks_after = hub.breaks_after, None
            self.wfile.write(data[start:end])
            self.close_connection = end is not None

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    folder, repository, revision = sys.argv[1:]
    with Hub(Path(folder), repository, revision) as running:
        print(running.address, flush=True)
        running.serve_forever()
