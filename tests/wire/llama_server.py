"""llama.cpp's own server in a process: `python llama_server.py embedding|chat MODEL KEY` prints its address."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KEY = "sk-sentinel-0123456789"


@contextmanager
def serving(kind: str, model: Path) -> Iterator[str]:
    """Run the server, and yield the URL of its API."""
    command = [sys.executable, __file__, kind, str(model), KEY]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:")
            yield f"{address}/v1"
        finally:
            process.stdin.close()
            process.wait(20)


def main() -> None:
    import xllamacpp

    kind, model, key = sys.argv[1:]
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.port, params.warmup, params.n_parallel = 0, False, 1
    params.api_keys = [key]
    params.n_ctx = params.n_batch = params.n_ubatch = 1024
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    if kind == "embedding":
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()  # Until the test closes it.


if __name__ == "__main__":
    main()
