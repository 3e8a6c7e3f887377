"""The default path in an environment without PyTorch: the demo from zero, and vectors against sentence-transformers'.

`python benchmarks/without_torch.py embed VECTORS.npy` in an environment without PyTorch, then
`python benchmarks/without_torch.py compare VECTORS.npy` in one with the extra "torch".
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from kinsplit.embedding import create

app = typer.Typer(add_completion=False)


def _texts() -> list[str]:
    """Return 200 texts of many lengths, within the model's window, and scripts."""
    course = sorted((Path(__file__).parent.parent / "examples" / "course").rglob("*.md"))
    words = " ".join(path.read_text(encoding="utf-8") for path in course).split()
    plain = [" ".join(words[start : start + 1 + start % 120]) for start in range(0, 1800, 10)]
    odd = ["", " \n\t", "x" * 300, "3.14 + 2 = 5.14", "def f(x): return x**2", "[CLS] [MASK]", "🤣🇩🇪", "naïve café"]
    other = [
        "שלום עולם",
        "مرحبا بالعالم",
        "東京タワー",
        "Привет, мир",
        "สวัสดี",
        "नमस्ते",
        "Ελληνικά",
        "a\u0301 \u202e\u0007",
    ]
    return [
        *plain,
        *odd,
        *other,
        *(f"{text} {text.upper()}" for text in ("one", "two words", "many more words", "four")),
    ]


@app.command()
def embed(
    vectors: Annotated[Path, typer.Argument(help="File for the vectors.")],
    backend: Annotated[str, typer.Option(help="Backend of the bundled model.")] = "auto",
) -> None:
    """Run the demo with an empty cache folder and no data, then embed the texts."""
    present = [name for name in ("torch", "transformers", "sentence_transformers") if find_spec(name)]
    if present:
        sys.exit(f"{', '.join(present)} can be imported here. Use an environment without PyTorch.")
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"KINSPLIT_CACHE": f"{folder}/cache"}
        begin = time.perf_counter()
        command = [sys.executable, "-m", "kinsplit", "demo"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024  # Linux counts in KiB.
    print(done.stdout[-1500:], done.stderr[-1500:], sep="\n")
    print(f"kinsplit demo: exit code {done.returncode}, {seconds:.1f} s from zero, {peak:,.0f} MiB at most")
    texts, embedder = _texts(), create("bundled" if backend == "auto" else f"bundled?backend={backend}")
    np.save(vectors, embedder.embed(texts))
    print(f"{len(texts)} texts embedded on {embedder.runs_on}")  # type: ignore[attr-defined]


@app.command()
def compare(vectors: Annotated[Path, typer.Argument(help="File that `embed` wrote.")]) -> None:
    """Compare the vectors with those that sentence-transformers itself computes."""
    from backends import reference

    found, expected = np.load(vectors), reference(_texts())
    cosines = (found * expected).sum(axis=1)
    print(f"{len(found)} texts: mean cosine {cosines.mean():.7f}, lowest {cosines.min():.7f}")
    print(f"largest difference of a value {np.abs(found - expected).max():.1e}")


if __name__ == "__main__":
    app()
