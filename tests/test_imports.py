"""Imports point one way, and importing stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import kinsplit

PACKAGE = Path(kinsplit.__file__).parent

#: Parts that each part may import besides itself; all of them are listed above it.
LAYERS: dict[str, set[str]] = {
    "errors": set(),
    "hints": set(),
    "markup": {"errors"},
    "spans": set(),
    "identity": set(),
    "registry": {"errors", "hints"},
    "kinds": set(),
    "text": {"kinds", "spans"},
    "foreign": {"errors", "identity", "kinds", "spans", "text"},
    "chunk": {"errors", "foreign", "hints", "identity", "kinds", "markup", "spans"},
    "details": set(),
    "support": {"errors", "hints"},
    "tokenizers": {"errors", "hints", "spans", "support"},
    "models": {"errors", "hints", "registry", "support"},
    "model_servers": {"errors", "identity", "models", "support"},
    "embedding": {
        *("chunk", "errors", "hints", "identity", "model_servers", "models", "registry", "spans", "support"),
        "tokenizers",
    },
    "language_models": {"errors", "model_servers", "models", "spans", "registry", "support", "tokenizers"},
    "loaders": {"chunk", "errors", "foreign", "kinds", "registry", "spans", "support", "text"},
    "parsers": {
        "registry",
        "chunk",
        "embedding",
        "errors",
        "hints",
        "identity",
        "language_models",
        "models",
        "spans",
        "support",
        "text",
        "tokenizers",
    },
    "stores": {"chunk", "details", "embedding", "errors", "hints", "identity", "registry", "spans", "support"},
    "options": {
        *("embedding", "errors", "language_models", "loaders", "models", "parsers", "registry", "stores", "support"),
    },
    "keywords": {"embedding", "loaders", "options", "parsers"},
    "doors": {"options"},
    "frames": {"chunk", "errors", "spans", "stores", "support"},
    "backup": {"chunk", "embedding", "errors", "frames", "spans", "stores", "support"},
    "retrieval": {
        *("chunk", "embedding", "errors", "identity", "language_models", "markup", "models", "options", "parsers"),
        *("hints", "registry", "spans"),
        *("stores", "support", "text", "tokenizers"),
    },
    "view": {"chunk", "errors", "markup", "retrieval"},
    "indexing": {
        "doors",
        "models",
        "options",
        *("chunk", "embedding", "errors", "identity", "language_models", "loaders", "parsers", "retrieval", "spans"),
        *("stores", "support", "tokenizers"),
        "keywords",
    },
    "index": {
        "hints",
        "keywords",
        "options",
        *("chunk", "embedding", "errors", "identity", "indexing", "language_models", "loaders", "parsers", "retrieval"),
        *("stores", "support", "tokenizers"),
    },
    "watch": {"embedding", "errors", "index", "indexing", "loaders", "support", "keywords", "options"},
    "wikipedia": {"errors", "support"},
    "answering": {
        "keywords",
        "options",
        *("chunk", "embedding", "errors", "index", "language_models", "parsers", "retrieval", "spans", "support"),
        *("text", "tokenizers"),
    },
    "inventory": {
        *("embedding", "errors", "language_models", "model_servers", "models", "registry", "retrieval", "support"),
    },
    "wire": {"answering", "chunk", "retrieval"},
    "evaluation": {
        "doors",
        "keywords",
        "options",
        *("answering", "chunk", "embedding", "errors", "identity", "index", "indexing"),
        "language_models",
        *("loaders", "markup", "parsers", "registry", "retrieval", "spans", "stores", "support", "text", "tokenizers"),
    },
    "integrations": {
        "doors",
        "hints",
        "keywords",
        "options",
        *("chunk", "embedding", "errors", "frames", "identity", "index", "indexing", "loaders", "parsers", "retrieval"),
        *("details", "foreign", "spans", "stores", "support", "tokenizers"),
    },
    "server": {
        "doors",
        "keywords",
        "options",
        *(
            "answering",
            "chunk",
            "embedding",
            "errors",
            "identity",
            "index",
            "indexing",
            "language_models",
            "model_servers",
        ),
        *("loaders", "markup", "parsers", "registry", "retrieval", "spans", "stores", "support", "tokenizers"),
        *("watch", "wire"),
    },
    "mcp": {"doors", "answering", "chunk", "errors", "hints", "identity", "retrieval", "server", "support", "wire"},
    "cli": {
        "doors",
        "keywords",
        "options",
        *("answering", "backup", "chunk", "embedding", "errors", "evaluation", "index"),
        *(
            "indexing",
            "integrations",
            "inventory",
            "loaders",
            "markup",
            "mcp",
            "model_servers",
            "models",
            "parsers",
            "registry",
            "retrieval",
            "server",
            "stores",
            "support",
            "tokenizers",
            "watch",
            "wikipedia",
            "wire",
        ),
    },
    "__init__": {
        "hints",
        "loaders",
        "options",
        "chunk",
        "errors",
        "frames",
        "index",
        "parsers",
        "retrieval",
        "spans",
        "view",
    },
    "__main__": {"cli"},
}

#: Packages that only some parts may import.
ONLY_IN: dict[str, set[str]] = {
    "torch": {"embedding"},
    "sentence_transformers": {"embedding", "retrieval"},
    "llama_index": {"integrations", "evaluation"},
    "langchain_core": {"integrations"},
    "langchain_text_splitters": {"integrations"},
    "pypdfium2": {"loaders", "server"},
    "PIL": {"server"},
    "nh3": {"server"},
    "mdit_py_plugins": {"server"},
    "latex2mathml": {"server"},
    "webvtt": {"loaders"},
    "xlrd": {"loaders"},
    "httpx": {"support", "model_servers", "language_models", "stores", "wikipedia"},
    "openai": {"model_servers", "embedding", "language_models"},
    "watchfiles": {"watch"},
    "pandas": {"frames"},
    "pyarrow": {"backup", "frames", "integrations"},
    "ray": {"integrations"},
    "psycopg": {"stores"},
    "qdrant_client": {"stores", "integrations"},
    "ir_measures": {"evaluation"},
    "sacrebleu": {"evaluation"},
    "rouge_score": {"evaluation"},
    "matplotlib": {"evaluation"},
    "jinja2": {"evaluation"},
    "optuna": {"evaluation"},
    "tomlkit": {"indexing"},
    "fastapi": {"server"},
    "mcp": {"mcp", "cli"},
    "mcp_types": {"mcp"},
    "starlette": {"mcp", "server"},
    "uvicorn": {"mcp", "server"},
    "pydantic_settings": {"server"},
    "prometheus_client": {"server"},
    "opentelemetry": {"support"},
    "typer": {"cli"},
    "rich": {"cli", "markup", "view"},
}


def _part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            base = node.module or ""
            found.update(f"{base}.{alias.name}" if base == "kinsplit" else base for alias in node.names)
    return found


def test_imports_point_one_way() -> None:
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        part = _part(path)
        for name in _imports(path):
            top, _, rest = name.partition(".")
            target = rest.partition(".")[0]
            if top == "kinsplit" and target and target not in LAYERS[part] | {part, "__version__"}:
                wrong.append(f"{path.relative_to(PACKAGE)}: {part} must not import kinsplit.{target}")
            if part not in ONLY_IN.get(top, {part}):
                wrong.append(f"{path.relative_to(PACKAGE)}: only {sorted(ONLY_IN[top])} may import {top}")
    assert wrong == []


def test_no_part_imports_from_one_above_it() -> None:
    below: set[str] = set()
    for part, allowed in LAYERS.items():
        assert allowed <= below, f"{part} stands above {allowed - below}"
        below.add(part)
    assert below == {_part(path) for path in PACKAGE.rglob("*.py")}


def test_importing_kinsplit_loads_neither_a_model_nor_a_framework() -> None:
    code = (
        "import sys, kinsplit\n"
        "heavy = {'torch', 'numpy', 'pydantic', 'llama_index', 'langchain_core', 'langchain_text_splitters',"
        " 'sentence_transformers', 'qdrant_edge', 'typer', 'rich', 'markdown_it', 'jinja2', 'opentelemetry', 'pyarrow',"
        " 'ray'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_parsers_load_neither_a_model_nor_a_framework() -> None:
    code = (
        "import sys, kinsplit.parsers as p\n"
        "p.create('sentence').split('The parts of a text that you know and that they have were what this was. ' * 9)\n"
        "heavy = {'torch', 'llama_index', 'langchain_core', 'sentence_transformers', 'transformers', 'qdrant_edge',"
        " 'httpx', 'opentelemetry', 'pyarrow', 'ray'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
