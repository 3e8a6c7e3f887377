"""Both frameworks are optional, and the type stubs tell the truth."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kinsplit.integrations.stubs import stubs


def run(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("package", "blocked", "message"),
    [
        ("llama_index", "llama_index", 'llama-index-core is not installed. Run: pip install "kinsplit[llama-index]"'),
        ("langchain", "langchain_core", 'langchain-core is not installed. Run: pip install "kinsplit[langchain]"'),
        (
            "langchain",
            "langchain_text_splitters",
            'langchain-text-splitters is not installed. Run: pip install "kinsplit[langchain]"',
        ),
    ],
)
def test_a_missing_framework_is_named_with_its_extra(package: str, blocked: str, message: str) -> None:
    output = run(f"import sys; sys.modules[{blocked!r}] = None\nimport kinsplit.integrations.{package}")
    assert f"kinsplit.errors.MissingExtraError: {message}" in output


@pytest.mark.parametrize(
    "call",
    [
        "from kinsplit.tokenizers import resolve; resolve('tiktoken:cl100k_base')",
        (
            "from kinsplit.integrations.langchain import KinsplitTokenTextSplitter as Splitter\n"
            "Splitter.from_tiktoken_encoder(model_name='gpt-4')"
        ),
    ],
    ids=["core", "langchain"],
)
def test_a_missing_tokenizer_names_its_own_extra_and_no_framework(call: str) -> None:
    output = run(f"import sys; sys.modules['tiktoken'] = None\n{call}")
    assert 'MissingExtraError: tiktoken is not installed. Run: pip install "kinsplit[tiktoken]"' in output


def test_any_other_import_error_is_left_alone() -> None:
    output = run("import sys; sys.modules['tqdm'] = None\nimport kinsplit.integrations.llama_index")
    assert "MissingExtraError" not in output
    assert "tqdm" in output


@pytest.mark.parametrize("other", ["langchain_core", "llama_index"])
def test_one_framework_does_not_load_the_other(other: str) -> None:
    package = {"langchain_core": "llama_index", "llama_index": "langchain"}[other]
    assert run(f"import sys, kinsplit.integrations.{package}; print({other!r} in sys.modules)").strip() == "False"


def test_the_stubs_are_those_of_the_strategies() -> None:
    for path, content in stubs().items():
        assert path.read_text(encoding="utf-8") == content, "run: python -m kinsplit.integrations.stubs"


def test_splitting_for_langchain_loads_neither_stores_nor_clients() -> None:
    heavy = "{'langchain_core.vectorstores', 'httpx', 'qdrant_edge'}"
    code = f"import sys; from kinsplit.integrations.langchain import text_splitter; print({heavy} & set(sys.modules))"
    assert run(code).strip() == "set()"
