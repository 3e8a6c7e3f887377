"""What an installation takes: packages, megabytes and seconds, and the platforms that have wheels.

`resolve` asks the package index alone and installs nothing; it fails if the default installation misses its targets, or
if an extra brings PyTorch or CUDA without saying so. `partners` asks whether all extras install together with the most
used packages of LlamaIndex and LangChain, and fails if one doesn't. `measure` installs everything into fresh
environments, and times imports and first splits there; of extras with PyTorch, it asks the package index what pip would
download. `weigh` shows what the packages of the default installation take. All print tables for docs/installation.md,
or write them there.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.request
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
PLATFORMS = {
    "Linux x86": "x86_64-manylinux_2_28",
    "Linux ARM": "aarch64-manylinux_2_28",
    "Alpine x86": "x86_64-unknown-linux-musl",
    "Alpine ARM": "aarch64-unknown-linux-musl",
    "Mac Intel": "x86_64-apple-darwin",
    "Mac ARM": "aarch64-apple-darwin",
    "Windows x86": "x86_64-pc-windows-msvc",
    "Windows ARM": "aarch64-pc-windows-msvc",
}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
#: Extras that bring PyTorch, as they say.
TORCH = {"docling", "static", "torch"}
#: Extras for the development of kinsplit.
OURS = {"benchmarks", "dev", "docs"}
#: Packages of extras that have no wheel and install anywhere, since they hold Python alone.
PURE = ("rouge-score",)
#: Bars of the default installation: packages besides kinsplit and NumPy, and megabytes besides NumPy, with the bytecode
#: that pip compiles.
MOST_PACKAGES, MOST_MEGABYTES = 15, 40
PEERS = ("chonkie", "langchain-text-splitters", "llama-index-core", "semchunk")
#: Packages of the frameworks that are installed together with kinsplit most often.
PARTNERS = (
    "langchain",
    "langchain-anthropic",
    "langchain-aws",
    "langchain-chroma",
    "langchain-community",
    "langchain-docling",
    "langchain-elasticsearch",
    "langchain-google-genai",
    "langchain-huggingface",
    "langchain-milvus",
    "langchain-mongodb",
    "langchain-ollama",
    "langchain-openai",
    "langchain-pinecone",
    "langchain-postgres",
    "langchain-qdrant",
    "langchain-redis",
    "langchain-unstructured",
    "langchain-weaviate",
    "llama-index",
    "llama-index-embeddings-huggingface",
    "llama-index-embeddings-openai",
    "llama-index-llms-ollama",
    "llama-index-llms-openai",
    "llama-index-readers-docling",
    "llama-index-readers-file",
    "llama-index-vector-stores-chroma",
    "llama-index-vector-stores-elasticsearch",
    "llama-index-vector-stores-faiss",
    "llama-index-vector-stores-lancedb",
    "llama-index-vector-stores-milvus",
    "llama-index-vector-stores-pinecone",
    "llama-index-vector-stores-postgres",
    "llama-index-vector-stores-qdrant",
    "llama-index-vector-stores-weaviate",
)
_HEAVY = re.compile(r"^(torch|triton|nvidia[-_].*|cuda[-_].*)==", re.MULTILINE)
_WITHOUT_WHEELS = re.compile(r"(?:Wheels are (?:available|required) for|wheels for) `([\w.-]+)`")


def extras() -> list[str]:
    """Return the extras that users install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [name for name in project["optional-dependencies"] if name not in OURS]


class Resolution(NamedTuple):
    """What a resolution found.

    Attributes:
        packages: Number of packages besides kinsplit; None if one has no wheel.
        missing: The package without a wheel.
        heavy: Packages of PyTorch and CUDA.
    """

    packages: int | None
    missing: str = ""
    heavy: tuple[str, ...] = ()


def resolution(extra: str | None, platform: str, python: str) -> Resolution:
    """Resolve kinsplit for a platform, with wheels only, against the package index."""
    command = [_uv(), "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:"]
    command += ["--python-platform", platform, "--python-version", python, str(ROOT / "pyproject.toml")]
    if extra is not None:
        command += ["--extra", extra, *(option for name in PURE for option in ("--no-binary", name))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        found = _WITHOUT_WHEELS.findall(done.stderr)
        return Resolution(None, found[0] if found else " ".join(done.stderr.split()))
    return Resolution(
        len(re.findall(r"^[\w.-]+==", done.stdout, re.MULTILINE)), heavy=tuple(_HEAVY.findall(done.stdout))
    )


def _uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.is_file() else shutil.which("uv")
    if found is None:
        sys.exit("uv is not installed. Run: pip install uv")
    return found


def resolve() -> tuple[str, list[str]]:
    """Resolve the default installation and every extra.

    Returns:
        A table of packages by extra and platform, and the faults.
    """
    names: list[str | None] = [None, *extras()]
    wanted = [(name, platform, python) for name in names for platform in PLATFORMS.values() for python in PYTHONS[:1]]
    wanted += [(None, platform, python) for platform in PLATFORMS.values() for python in PYTHONS[1:]]
    with ThreadPoolExecutor(4) as pool:
        resolutions = dict(zip(wanted, pool.map(lambda each: resolution(*each), wanted), strict=True))
    faults = []
    for (name, platform, python), one in resolutions.items():
        where = f"{name or 'kinsplit'} for {platform} and Python {python}"
        if name is None and (one.packages is None or one.packages - 1 > MOST_PACKAGES):
            found = one.packages or f"no wheel of {one.missing}"
            faults.append(f"{where}: {found}, more than {MOST_PACKAGES} and NumPy")
        if one.heavy and name not in TORCH:
            faults.append(f"{where}: brings {', '.join(one.heavy)}")
        if one.packages is None and platform == PLATFORMS["Linux x86"]:
            faults.append(f"{where}: no wheel of {one.missing}")
    rows = [
        [
            f"`kinsplit[{name}]`" if name else "`kinsplit`",
            *(_cell(resolutions[name, platform, PYTHONS[0]]) for platform in PLATFORMS.values()),
        ]
        for name in names
    ]
    return _table(["further packages", *PLATFORMS], rows), faults


def _cell(one: Resolution) -> str:
    return f"no {one.missing}" if one.packages is None else str(one.packages)


def partners() -> tuple[str, list[str]]:
    """Resolve all extras together with each partner, with wheels only.

    Returns:
        A table of the partners' versions, and the faults.
    """
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(PARTNERS, pool.map(_with_partner, PARTNERS), strict=True))
    faults = [f"kinsplit[all] with {name}: {reason}" for name, (version, reason) in found.items() if not version]
    rows = [[f"`{name}`", version or "none"] for name, (version, _) in found.items()]
    return _table(["package", "newest version beside `kinsplit[all]`"], rows), faults


def _with_partner(name: str) -> tuple[str, str]:
    """Return the version that a partner has beside all extras, or "" and the reason that there is none."""
    command = [_uv(), "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--extra", "all"]
    command += ["--python-platform", PLATFORMS["Linux x86"], "--python-version", PYTHONS[0]]
    command += [str(ROOT / "pyproject.toml"), "-"]
    done = subprocess.run(command, input=name, capture_output=True, text=True, check=False)
    version = re.search(rf"^{re.escape(name)}==(\S+)", done.stdout, re.MULTILINE)
    return (version[1] if version else "", " ".join(done.stderr.split()))


class Installed(NamedTuple):
    """A fresh environment with one requirement.

    Attributes:
        seconds: Time of the installation, downloads included.
        megabytes: Size of what it installed.
        numpy: Share of NumPy in it, in megabytes.
        packages: Number of packages besides the one that was asked for.
    """

    seconds: float
    megabytes: float
    numpy: float
    packages: int


def install(requirement: str, folder: Path) -> Installed:
    """Install a requirement into a fresh environment, without pip's cache."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    before, own = _megabytes([packages]), len([*packages.glob("*.dist-info")])
    command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-cache-dir", requirement]
    start = time.perf_counter()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    total = _megabytes([packages]) - before
    numpy = _megabytes(packages.glob("numpy*"))
    return Installed(seconds, total, numpy, len([*packages.glob("*.dist-info")]) - own - 1)


def download(extra: str) -> tuple[float, int]:
    """Return the megabytes that pip downloads for an extra on Linux, and the number of packages, by the package index.

    For extras with PyTorch: what pip installs depends on the index that it is given.
    """
    command = [_uv(), "pip", "compile", "--quiet", "--format", "pylock.toml", "--only-binary", ":all:"]
    command += ["--python-platform", PLATFORMS["Linux x86"], "--python-version", PYTHONS[0], "--extra", extra]
    command += [option for name in PURE for option in ("--no-binary", name)]
    done = subprocess.run([*command, str(ROOT / "pyproject.toml")], check=True, capture_output=True, text=True)
    packages = tomllib.loads(done.stdout)["packages"]
    return sum(map(_size, packages)) / 1e6, len(packages)


def _size(package: dict[str, Any]) -> int:
    """Return the size of a package's file in bytes; not every index has it in its metadata."""
    file = (package.get("wheels") or [package.get("sdist", {})])[0]
    if "size" in file:
        return int(file["size"])
    with urllib.request.urlopen(urllib.request.Request(file["url"], method="HEAD"), timeout=60) as answer:
        return int(answer.headers["Content-Length"])


def _megabytes(folders: Iterable[Path]) -> float:
    files = (Path(at) / name for folder in folders for at, _, names in os.walk(folder) for name in names)
    return sum(file.stat().st_size for file in files) / 1e6


def measure(wanted: Sequence[str]) -> tuple[str, list[str]]:
    """Install kinsplit, its extras and the peers.

    Args:
        wanted: Installations to measure; none for all.

    Returns:
        A table of seconds, megabytes and packages, and the faults.
    """
    rows, faults = [], []
    with tempfile.TemporaryDirectory(prefix="kinsplit-install-") as base:
        wheel = _build(base)
        requirements = {"kinsplit": str(wheel)}
        requirements |= {f"kinsplit[{extra}]": f"{wheel}[{extra}]" for extra in extras() if extra not in TORCH}
        requirements |= {peer: peer for peer in PEERS}
        for extra in sorted(TORCH):
            if not wanted or f"kinsplit[{extra}]" in wanted:
                size, packages = download(extra)
                rows.append([f"`kinsplit[{extra}]`", "", f"{size:,.0f} to download", "", str(packages), ""])
                print(*rows[-1], file=sys.stderr, flush=True)
        for name, requirement in requirements.items():
            if wanted and name not in wanted:
                continue
            folder = Path(base) / "venv"
            one = install(requirement, folder)
            row = [f"`{name}`", f"{one.seconds:.0f}", f"{one.megabytes:,.0f}", f"{one.megabytes - one.numpy:,.0f}"]
            rows.append([*row, str(one.packages), _times(folder / "bin" / "python", name)])
            print(*rows[-1], file=sys.stderr, flush=True)
            shutil.rmtree(folder)
            if name == "kinsplit" and one.megabytes - one.numpy > MOST_MEGABYTES:
                faults.append(f"kinsplit: {one.megabytes - one.numpy:.0f} MB, more than {MOST_MEGABYTES}")
    return _table(
        ["installation", "seconds", "MB", "MB without NumPy", "further packages", "processor time"], rows
    ), faults


def _build(folder: str) -> Path:
    """Build the wheel of kinsplit."""
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", folder, str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (wheel,) = Path(folder).glob("*.whl")
    return wheel


#: Kinds of files that `weigh` tells apart, by their endings; all others are data.
_KINDS = {".py": "source", ".pyi": "source", ".pyc": "bytecode", ".so": "compiled"}


def weigh() -> tuple[str, list[str]]:
    """Weigh the packages of the default installation.

    Returns:
        A table of the megabytes of each package, and no faults.
    """
    kinds = [*dict.fromkeys(_KINDS.values()), "data"]
    weights = []
    with tempfile.TemporaryDirectory(prefix="kinsplit-weigh-") as base:
        install(str(_build(base)), Path(base) / "venv")
        for package in distributions(path=[str(found) for found in Path(base).glob("venv/lib/python*/site-packages")]):
            own = dict.fromkeys(kinds, 0.0)
            for file in package.files or ():
                # Compiled libraries of NumPy have names such as libgfortran.so.5.
                suffix = ".so" if ".so" in file.suffixes else file.suffix
                own[_KINDS.get(suffix, "data")] += Path(str(file.locate())).stat().st_size / 1e6
            weights.append((package.name, sum(own.values()), own))
    small = [each for each in weights if each[1] < 1]
    rows = [
        [f"`{name}`", *(f"{megabytes:.1f}" for megabytes in (total, *own.values()))]
        for name, total, own in sorted(weights, key=lambda each: -each[1])
        if total >= 1 and name not in {"pip", "setuptools"}
    ]
    rest = [sum(each[2][kind] for each in small) for kind in kinds]
    rows.append([f"{len(small)} others", *(f"{megabytes:.1f}" for megabytes in (sum(rest), *rest))])
    return _table(["package", "MB", *kinds], rows), []


_TEXT = " ".join(["Owls hunt at night. By day they rest in hollow trees, where nobody disturbs them."] * 20)
_HELP = "import sys; sys.argv = ['kinsplit', '--help']; from kinsplit.cli import main; main()"
_RECURSIVE = "from langchain_text_splitters import RecursiveCharacterTextSplitter as Splitter; Splitter().split_text"
#: What is timed in a new process, by installation: its name, the code, and the code that it is compared with.
_TIMED = {
    "kinsplit": (
        ("import", "import kinsplit", "pass"),
        ("first split", f"import kinsplit; kinsplit.split({_TEXT!r})", "pass"),
        ("help", _HELP, "pass"),
    ),
    "kinsplit[langchain]": (
        (
            "import",
            "from kinsplit.integrations.langchain import text_splitter",
            "import langchain_core.documents, langchain_text_splitters",
        ),
    ),
    "kinsplit[llama-index]": (
        ("import", "from kinsplit.integrations.llama_index import node_parser", "import llama_index.core"),
    ),
    "chonkie": (
        ("import", "import chonkie", "pass"),
        ("first split", f"from chonkie import RecursiveChunker; RecursiveChunker().chunk({_TEXT!r})", "pass"),
    ),
    "langchain-text-splitters": (
        ("import", "import langchain_text_splitters", "pass"),
        ("first split", f"{_RECURSIVE}({_TEXT!r})", "pass"),
    ),
}


def _times(python: Path, name: str) -> str:
    """Return the milliseconds that code takes beyond other code."""
    cells = []
    for what, own, other in _TIMED.get(name, ()):
        beyond = "" if other == "pass" else f" beyond `{other}`"
        cells.append(f"{what} {_milliseconds(python, own) - _milliseconds(python, other):.0f} ms{beyond}")
    return ", ".join(cells)


def _milliseconds(python: Path, code: str) -> float:
    """Return the processor time of a new process, the least of ten after one to warm up."""
    found = []
    for _ in range(11):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([str(python), "-c", code], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found[1:]) * 1000


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def write(path: Path, name: str, table: str) -> None:
    """Replace a table in a page, between its two comments."""
    page = path.read_text(encoding="utf-8")
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    head, _, rest = page.partition(begin)
    path.write_text(f"{head}{begin}\n{table}\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["resolve", "partners", "measure", "weigh"])
    parser.add_argument("names", nargs="*", help="Installations to measure, such as 'kinsplit[search]'. Default: all.")
    parser.add_argument("--output", type=Path, help="Page whose table is replaced.")
    given = parser.parse_args()
    made = {"resolve": resolve, "partners": partners, "measure": lambda: measure(given.names), "weigh": weigh}
    table, faults = made[given.command]()
    if given.output:
        write(given.output, given.command, table)
    print(table)
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
