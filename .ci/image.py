"""The steps of the Dockerfile without Docker, in a clean folder: builds, indexes the sample course, serves, searches.

`python .ci/image.py FOLDER` takes each instruction as Docker does, with these differences: a stage is a subfolder with
a virtual environment of this Python, which must be the image's; absolute paths lie in that subfolder; no user is
created. Every copied file must be in the build context, which .dockerignore leaves.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
_QUESTION = "What ends a recursion?"
# Folders of an image that the Dockerfile names, where a path begins.
_PATH = re.compile(r"(?<![\w./:~-])/(app|cache|data|wheels)\b")
_NOT_NEEDED = "useradd() { :; }; "  # The shell's function goes before the program.
_SECONDS = 120


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the arguments of each instruction, on one line."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", "").splitlines():
        name, _, arguments = line.partition(" ")
        yield name, arguments.strip()


def is_in_context(source: str) -> bool:
    """Return whether a file or folder is in the build context: .dockerignore leaves only what it names."""
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    return (ROOT / source).exists() and any(Path(source).is_relative_to(name) for name in kept)


@dataclass
class Stage:
    """A stage of the build.

    Attributes:
        folder: Its root folder.
        work: Its working directory, as the Dockerfile has it.
        variables: Its environment variables.
        commands: Its ENTRYPOINT, CMD and HEALTHCHECK.
    """

    folder: Path
    work: str = "/"
    variables: dict[str, str] = field(default_factory=dict)
    commands: dict[str, list[str]] = field(default_factory=dict)

    def path(self, path: str) -> Path:
        """Return where a path of the image lies."""
        return self.folder / str(Path(self.work, path)).lstrip("/")

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a process, without this project's own."""
        outside = {name: value for name, value in os.environ.items() if not name.startswith(("KINSPLIT_", "PYTHON"))}
        inside = {name: self._placed(value) for name, value in self.variables.items()}
        return {**outside, **inside, "PATH": f"{self.folder / 'venv' / 'bin'}:{os.environ['PATH']}"}

    def run(self, command: str) -> None:
        """Run a command of the shell."""
        self.path(".").mkdir(parents=True, exist_ok=True)
        placed = _NOT_NEEDED + self._placed(command).replace("--owner kinsplit ", "")
        subprocess.run(["/bin/bash", "-c", placed], cwd=self.path("."), env=self.environment, check=True)

    def copy(self, sources: list[str], target: str) -> None:
        """Copy files and the contents of folders from the build context."""
        for source in sources:
            if not is_in_context(source):
                raise SystemExit(
                    f"COPY {source}: it is not in the build context. Add it, and !{source} to .dockerignore."
                )
            place = self.path(target)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                place = place / Path(source).name if target.endswith("/") else place
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, place)

    def _placed(self, text: str) -> str:
        return _PATH.sub(lambda found: str(self.folder / found[1]), text)


def build(folder: Path) -> Stage:
    """Run all instructions and return the last stage."""
    stages: dict[str, Stage] = {}
    for name, arguments in instructions((ROOT / "Dockerfile").read_text()):
        print(f"{name} {arguments[:100]}", flush=True)
        match name:
            case "FROM":
                image, _, label = arguments.partition(" AS ")
                wanted, own = image.removeprefix("python:").removesuffix("-slim"), "{}.{}".format(*sys.version_info)
                if wanted != own:
                    raise SystemExit(f"FROM {image}: this is Python {own}. Run python{wanted} .ci/image.py.")
                stage = stages[label or "image"] = Stage(folder / (label or "image"))
                subprocess.run([sys.executable, "-m", "venv", stage.folder / "venv"], check=True)
            case "WORKDIR":
                stage.work = arguments
                stage.path(".").mkdir(parents=True, exist_ok=True)
            case "COPY":
                *sources, target = arguments.split()
                stage.copy(sources, target)
            case "RUN":
                if mount := re.match(r"--mount=from=(\w+),source=(\S+),target=(\S+) ", arguments):
                    shutil.copytree(stages[mount[1]].path(mount[2]), stage.path(mount[3]))
                stage.run(arguments.removeprefix(mount[0] if mount else ""))
            case "ENV":
                stage.variables |= dict(pair.split("=", 1) for pair in shlex.split(arguments))
            case "ENTRYPOINT" | "CMD" | "HEALTHCHECK":
                stage.commands[name] = json.loads(arguments[arguments.index("[") :])
            case "USER" | "EXPOSE" | "VOLUME":
                pass
            case _:
                raise SystemExit(f"{name}: .ci/image.py doesn't know this instruction. Add it there.")
    return stage


def serve(stage: Stage) -> None:
    """Index the sample course in a finished image, start its service, and search there once it says that it is well."""
    entry, default, check = (stage.commands[name] for name in ("ENTRYPOINT", "CMD", "HEALTHCHECK"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    stage.variables |= {"KINSPLIT_PORT": str(port), "KINSPLIT_HOST": "127.0.0.1"}
    place = {"cwd": stage.path("."), "env": stage.environment}
    subprocess.run([*entry, "index", stage.path("/app/examples/course")], check=True, **place)
    with subprocess.Popen([*entry, *default], **place) as service:
        try:
            end = time.monotonic() + _SECONDS
            while subprocess.run(check, capture_output=True, check=False, **place).returncode:
                if service.poll() is not None or time.monotonic() > end:
                    raise SystemExit("The service isn't well. Its log is above.")
                time.sleep(1)
            address = f"http://127.0.0.1:{port}/search?q={_QUESTION.replace(' ', '+')}"
            with urllib.request.urlopen(address, timeout=60) as answer:
                first = json.load(answer)["passages"][0]
            print(f"{_QUESTION} -> {first['source_id']}: {' '.join(first['text'].split())[:200]}")
        finally:
            service.terminate()


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    if folder.exists():
        raise SystemExit(f"{folder} exists. Name a new folder, so that nothing in it is left from before.")
    began = time.monotonic()
    stage = build(folder)
    print(f"Built in {time.monotonic() - began:.0f} s", flush=True)
    serve(stage)


if __name__ == "__main__":
    main()
