"""Options are declared once, and every door derives from the declaration."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

from kinsplit.cli.app import _load
from kinsplit.options import AddOptions, AnswerOptions, EvaluationOptions, IndexOptions, RankingName, SearchOptions
from kinsplit.retrieval import rankings
from kinsplit.server import settings
from tests.cli.conftest import environment

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "kinsplit"
#: Puts another option into the model before any door is imported.
_DUMMY = """
from pydantic import Field
from kinsplit import options

class SearchOptions(options.SearchOptions):
    dummy: int = Field(default=7, ge=0, le=9, description="Dummy of a test.")

class IndexOptions(options.IndexOptions):
    kind: int = Field(default=7, ge=0, le=9, description="Kind of a test.")

options.SearchOptions, options.IndexOptions = SearchOptions, IndexOptions
"""
#: Modules in which a search or an answer is asked for.
DOORS = {
    *("index.py", "answering/__init__.py", "answering/run.py", "cli/commands/search.py", "cli/commands/ask.py"),
    *("server/request_options.py", "server/routes/search.py", "server/routes/ask.py", "mcp.py"),
    *("integrations/langchain/retriever.py", "integrations/llama_index/retriever.py", "integrations/shared/results.py"),
}
#: Modules in which an index is made or added to.
INDEX_DOORS = {
    *("index.py", "watch.py", "indexing/run.py", "integrations/ray/run.py"),
    *("cli/commands/index.py", "cli/commands/watch.py", "cli/commands/chunk.py"),
}
#: Commands that evaluate.
EVALUATING = ("evaluate", "compare", "tune", "qrels")
#: Options with a form of their own at a door, such as `KEY=VALUE`; `Index.find` also has a level.
OWN_FORMS = {"where", "rerank", "level"}
#: What a stage of a search makes of the options.
VALUES = {"retrieval/expand.py Expansion"}
#: Programs that print whether each door has the option.
_DOORS = {
    "Python": "from kinsplit import Index\nIndex('memory:', embedder='hash')._options({'dummy': 8}).dummy == 8",
    "LangChain": (
        "from kinsplit import Index\nfrom kinsplit.integrations.langchain import KinsplitRetriever\n"
        "KinsplitRetriever(Index('memory:', embedder='hash'), dummy=8).dummy == 8"
    ),
    "LlamaIndex": (
        "from kinsplit import Document, Index\nfrom kinsplit.integrations.llama_index import KinsplitRetriever\n"
        "index, given, search = Index('memory:', embedder='hash'), {}, Index.search\n"
        "index.add([Document('owls', 'Owls hunt at night.')])\n"
        "Index.search = lambda index, asked, **options: given.update(options) or search(index, asked, **options)\n"
        "KinsplitRetriever(index, dummy=8).retrieve('When do owls hunt?')\ngiven['dummy'] == 8"
    ),
    "command line": (
        "from kinsplit.cli.app import _load\n"
        "all('dummy' in [each.name for each in _load(name).params] for name in ('search', 'ask', 'evaluate'))"
    ),
    "service": (
        "from kinsplit.server.routes import ask, search\nfrom fastapi import FastAPI\nimport json\n"
        "app = FastAPI()\napp.include_router(search.router)\napp.include_router(ask.router)\nfound = app.openapi()\n"
        "'dummy' in json.dumps(found['paths']['/search']) and 'dummy' in json.dumps(found['components'])"
    ),
    "index in Python": "from kinsplit import Index\nIndex('memory:', embedder='hash', kind=8).count() == 0",
    "index on the command line": (
        "from kinsplit.cli.app import _load\n"
        "all('kind' in [each.name for each in _load(name).params] for name in ('index', 'watch', 'chunk'))"
    ),
    "configuration file": (
        "from kinsplit.indexing.configuration import Configuration\nConfiguration(index={'kind': 8}).index.kind == 8"
    ),
    "MCP": (
        "from kinsplit.mcp import _with_options\nimport inspect\n"
        "async def search(question: str, **options): ...\n"
        "'dummy' in inspect.signature(_with_options(search)).parameters"
    ),
    "generated files": (
        "import runpy\nmade = runpy.run_path('docs/options.py')['generated']()\n"
        "[text.count(name) for text in made.values() for name in ('dummy:', '`dummy`', ' kind:', '`kind`')]"
        " == [2, 0, 2, 0, 0, 1, 0, 1]"
    ),
}


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("options_generator", ROOT / "docs" / "options.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("door", _DOORS)
def test_an_option_is_added_to_every_door_by_its_declaration(door: str) -> None:
    *before, last = _DOORS[door].splitlines()
    code = "\n".join([_DUMMY, *before, f"print({last})"])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("True", 0), done.stderr


@pytest.fixture(scope="module")
def declared() -> dict[str, set[str]]:
    """Names with a default that each class and function declares, by its place."""
    return {
        f"{path.relative_to(PACKAGE).as_posix()} {node.name}": set(_declared(node))
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_an_option_of_a_search_is_declared_once(declared: dict[str, set[str]]) -> None:
    names = SearchOptions.model_fields.keys() | AnswerOptions.model_fields.keys()
    several = {place for place, found in declared.items() if len(names & found) > 2}
    assert several == VALUES | {"options.py ExpansionOptions", "options.py SearchOptions"}
    assert set().union(*(names & found for place, found in declared.items() if place.split()[0] in DOORS)) == OWN_FORMS


def test_an_option_of_an_index_is_declared_once(declared: dict[str, set[str]]) -> None:
    names = IndexOptions.model_fields.keys() | AddOptions.model_fields.keys()
    assert {
        place: names & found for place, found in declared.items() if place.split()[0] in INDEX_DOORS if names & found
    } == {}
    # In a file, these are names.
    assert names & declared["indexing/configuration.py IndexSettings"] == {"strategy", "embedder", "context_model"}


def test_an_option_of_an_evaluation_is_declared_once(declared: dict[str, set[str]]) -> None:
    names, doors = EvaluationOptions.model_fields.keys(), {f"cli/commands/{name}.py" for name in EVALUATING}
    doors.add("evaluation/experiment/experiment.py")
    found = {place: names & own for place, own in declared.items() if place.split()[0] in doors if names & own}
    assert found == {"cli/commands/qrels.py qrels": {"embedder"}}  # Which writes vectors only if it is given.


def _declared(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ClassDef):
        fields = (each for each in node.body if isinstance(each, ast.AnnAssign) and each.value is not None)
        return [each.target.id for each in fields if isinstance(each.target, ast.Name)]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        arguments = node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        given = positional[len(positional) - len(arguments.defaults) :] if arguments.defaults else []
        return [each.arg for each in (*given, *arguments.kwonlyargs)]
    return []


def test_the_generated_files_are_those_of_the_options(generator: ModuleType) -> None:
    for path, text in generator.generated().items():
        assert path.read_text(encoding="utf-8") == text, "run: python docs/options.py"


def test_the_names_of_the_rankings_are_those_of_the_options() -> None:
    assert get_args(RankingName) == tuple(each.name for each in rankings())
    assert [each.name for each in rankings() if each.weighs] == ["kin"]


def test_splitting_loads_no_options() -> None:
    code = "import sys, kinsplit; kinsplit.split('Owls hunt.'); print('kinsplit.options' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(("command", "door"), [("serve", "SERVE"), ("mcp", "MCP")])
def test_the_settings_of_the_service_are_options_of_its_commands(command: str, door: str) -> None:
    offered = vars(settings)[door].fields()
    assert offered.keys() <= {each.name for each in _load(command).params}
    assert vars(settings)[door].without.keys() <= settings.ServiceSettings.model_fields.keys()


def test_a_command_without_its_extra_names_it(tmp_path: Path) -> None:
    code = "import sys; sys.modules['pydantic_settings'] = None; from kinsplit.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", "--port", "1", "--json"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert 'pip install \\"kinsplit[server]\\"' in done.stderr
