"""Whether README and the guides hold with built wheels alone: `python .ci/gate.py FOLDER WHEEL...`.

FOLDER is new. Every extra is resolved against the package index, with nothing else given. Then the blocks of each page
run in an empty folder, in an environment that has only what they install (`.ci/blocks.py`); the model hub is a server
on this machine. `--small` runs README as far as its first program alone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
UV = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}") or sys.exit("Run: pip install uv")
_PAGES = ("README.md", "docs/index.md", "docs/choose.md", "docs/commands.md", "docs/guides/*.md")
#: Blocks of README up to its first program, its installation included.
_FIRST = 2


def environment(**more: object) -> dict[str, str]:
    """Return the variables of this process without those that change what is installed or found."""
    own = re.compile(r"(KINSPLIT_|PYTHON|HF_|VIRTUAL_ENV)|FIND_LINKS$")
    kept = {name: value for name, value in os.environ.items() if not own.match(name) and not own.search(name)}
    return kept | {name: str(value) for name, value in more.items()}


def resolve() -> None:
    """Resolve the default installation and every extra for Linux; `make resolve` does so for all platforms.

    Raises:
        SystemExit: The index lacks a package or a wheel.
    """
    for name in [name for name in os.environ if name.endswith("FIND_LINKS")]:
        del os.environ[name]
    install: Any = runpy.run_path(str(ROOT / "benchmarks" / "install.py"))
    names = [None, *install["extras"]()]
    wanted = install["PLATFORMS"]["Linux x86"], install["PYTHONS"][0]
    with ThreadPoolExecutor(4) as pool:
        found = dict(zip(names, pool.map(lambda name: install["resolution"](name, *wanted), names), strict=True))
    if faults := [f"{name}: {one.missing} is not there" for name, one in found.items() if one.packages is None]:
        sys.exit("\n".join(faults))
    print("Further packages:", ", ".join(f"{name or 'kinsplit'} {one.packages}" for name, one in found.items()))


def run_page(page: Path, folder: Path, wheel: Path, hub: str, first: int | None) -> None:
    """Run the blocks of a page in a new environment and an empty folder."""
    venv, empty = folder / "venv", folder / "empty"
    empty.mkdir(parents=True)
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, str(venv)], check=True, env=environment())
    # The page says `pip`, which takes several times as long.
    (venv / "bin" / "pip").write_text(f'#!/bin/bash\nexec "{UV}" pip "$1" --quiet --python "{venv}" "${{@:2}}"\n')
    (venv / "bin" / "pip").chmod(0o755)
    constraints = folder / "constraints.txt"
    constraints.write_text(f"kinsplit @ {wheel.as_uri()}\n")
    variables = environment(
        PATH=f"{venv / 'bin'}:{os.environ['PATH']}",
        UV_CONSTRAINT=constraints,
        UV_LINK_MODE="copy",
        KINSPLIT_CACHE=folder / "cache",
        HF_HOME=folder / "huggingface",
        HF_ENDPOINT=hub,
    )
    command = [venv / "bin" / "python", "-P", ROOT / ".ci" / "blocks.py", page, *([str(first)] if first else [])]
    subprocess.run(command, cwd=empty, env=variables, check=True)
    size = sum(path.stat().st_size for path in (venv / "lib").rglob("*") if path.is_file() and path.suffix != ".pyc")
    print(f"{page.name}: {size / 1e6:,.0f} MB, {len([*venv.glob('lib/*/*/*.dist-info')])} packages", flush=True)
    shutil.rmtree(folder)


@contextmanager
def model_hub(model: Path, folder: Path) -> Iterator[str]:
    """Serve the files of the default model, which its wheel holds, and yield the address."""
    with zipfile.ZipFile(model) as archive:
        archive.extractall(folder)
    published = json.loads((ROOT / "kinsplit" / "embedding" / "bundled.json").read_text(encoding="utf-8"))
    serve = runpy.run_path(str(ROOT / ".ci" / "hub.py"))["Hub"]
    with serve(folder / "kinsplit_minilm" / "model", published["repository"], published["revision"]) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.address
        finally:
            server.shutdown()
            thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="New folder.")
    parser.add_argument("wheels", nargs="+", type=Path, help="Wheels of kinsplit and, unless --small, kinsplit-minilm.")
    parser.add_argument("--pages", nargs="+", default=_PAGES, help="Default: README, the first pages, and the guides.")
    parser.add_argument("--small", action="store_true")
    given = parser.parse_args()
    folder, begun = given.folder.resolve(), time.monotonic()
    folder.mkdir(parents=True)
    wheel, *model = (path.resolve(strict=True) for path in given.wheels)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
    resolve()
    print(f"Resolved in {time.monotonic() - begun:.0f} s", flush=True)
    if given.small:
        run_page(ROOT / "README.md", folder / "README", wheel, "", _FIRST)
    else:
        with model_hub(model[0], folder / "hub") as address:
            for page in (page for pattern in given.pages for page in sorted(ROOT.glob(pattern))):
                run_page(page, folder / page.stem, wheel, address, None)
    print(f"Passed in {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
