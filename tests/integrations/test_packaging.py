"""Optional frameworks, and correct type stubs."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

from kinsplit.integrations.stubs import stubs


def run(script: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", dedent(script)], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


_MISSING = """
    import importlib
    import sys

    def attempt(blocked, package):
        known = set(sys.modules)
        sys.modules[blocked] = None
        try:
            importlib.import_module(f"kinsplit.integrations.{package}")
        except ImportError as error:
            print(f"{type(error).__name__}: {error}")
        for name in set(sys.modules) - known:
            if name == blocked or name.startswith("kinsplit.integrations."):
                del sys.modules[name]

    attempt("llama_index", "llama_index")
    attempt("langchain_core", "langchain")
    attempt("langchain_text_splitters", "langchain")
    attempt("tqdm", "llama_index")
"""


def test_a_missing_framework_is_named_with_its_extra_and_so_is_what_it_needs() -> None:
    missing = run(_MISSING)
    assert missing == [
        f'MissingExtraError: {package} is not installed. Run: pip install "kinsplit[{extra}]"'
        for package, extra in (
            ("llama-index-core", "llama-index"),
            ("langchain-core", "langchain"),
            ("langchain-text-splitters", "langchain"),
            ("tqdm", "llama-index"),
        )
    ]


_LANGCHAIN = """
    import sys
    from kinsplit.integrations.langchain import KinsplitTokenTextSplitter, text_splitter

    print({"llama_index", "langchain_core.vectorstores", "httpx", "qdrant_edge"} & set(sys.modules))

    from kinsplit.errors import MissingExtraError
    from kinsplit.tokenizers import resolve

    sys.modules["tiktoken"] = None
    for call in (
        lambda: resolve("tiktoken:cl100k_base"),
        lambda: KinsplitTokenTextSplitter.from_tiktoken_encoder(model_name="gpt-4"),
    ):
        try:
            call()
        except MissingExtraError as error:
            print(error)
"""


def test_langchain_loads_neither_llama_index_nor_stores_and_names_the_extra_of_a_tokenizer() -> None:
    loaded, *missing = run(_LANGCHAIN)
    assert loaded == "set()"
    assert missing == ['tiktoken is not installed. Run: pip install "kinsplit[tiktoken]"'] * 2


_ADDED = """
    import sys
    from importlib import import_module

    for framework, adapter, name in (
        (("langchain_core.documents", "langchain_text_splitters"), "langchain", "text_splitter"),
        (("llama_index.core",), "llama_index", "node_parser"),
    ):
        for module in framework:
            import_module(module)
        known = set(sys.modules)
        getattr(import_module(f"kinsplit.integrations.{adapter}"), name)
        added = {module.partition(".")[0] for module in set(sys.modules) - known}
        print(*sorted(added - sys.stdlib_module_names))
"""


def test_importing_an_adapter_loads_nothing_besides_its_framework() -> None:
    assert run(_ADDED) == ["kinsplit", "kinsplit"]


def test_llama_index_does_not_load_langchain() -> None:
    script = "import sys, kinsplit.integrations.llama_index; print('langchain_core' in sys.modules)"
    assert run(script) == ["False"]


def test_the_stubs_are_those_of_the_strategies() -> None:
    for path, content in stubs().items():
        assert path.read_text(encoding="utf-8") == content, "run: python -m kinsplit.integrations.stubs"
