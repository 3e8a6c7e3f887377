"""Registries of named parts, with those of other packages."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kinsplit import Document, registry, strategy_names
from kinsplit.cli.app import COMMANDS, app
from kinsplit.embedding.registry import EMBEDDERS
from kinsplit.errors import InvalidParameterError
from kinsplit.evaluation.measures.registry import MEASURES
from kinsplit.language_models.registry import LANGUAGE_MODELS
from kinsplit.loaders.registry import READERS
from kinsplit.options import OPTIONS, IndexOptions, SearchOptions
from kinsplit.parsers import create
from kinsplit.parsers.registry import STRATEGIES
from kinsplit.registry import PluginWarning, Registry
from kinsplit.retrieval.rerank import RERANKERS
from kinsplit.server.app import ROUTES
from kinsplit.stores.address import STORES

#: A strategy as another package writes it: one line of verse is a chunk.
VERSE = """
from kinsplit.parsers import Strategy
from kinsplit.parsers.base import Cut
from kinsplit.spans import Span


class VerseStrategy(Strategy):
    name = "verse"
    summary = "One line of verse a chunk"
    origin = "a test"
    version = "1"

    def _cut(self, texts):
        return [[[Cut((span,)) for span in _lines(text)]] for text in texts]


def _lines(text):
    start = 0
    for line in text.splitlines(keepends=True):
        if line.strip():
            yield Span(start, start + len(line.rstrip()))
        start += len(line)
"""


#: The registries, each with a part as another package writes it and its use, and an object that is no such part.
KINDS: dict[str, tuple[Registry[Any], str, Callable[[Any], object], str]] = {
    "strategies": (
        STRATEGIES,
        "from other_verse import VerseStrategy as PART",
        lambda part: part().name,
        "5",
    ),
    "stores": (STORES, "from kinsplit.stores.engines.memory import ENGINE as PART", lambda part: part.installed, "5"),
    "embedders": (EMBEDDERS, "PART = lambda rest: rest.upper()", lambda part: part("x"), "5"),
    "language_models": (LANGUAGE_MODELS, "PART = lambda rest, timeout: rest", lambda part: part("x", 1.0), "5"),
    "rerankers": (RERANKERS, "PART = lambda rest, embedder: rest", lambda part: part("x", None), "5"),
    "readers": (READERS, "from kinsplit.loaders.formats.plain import TEXT as PART", lambda part: part[0].reader, "()"),
    "commands": (COMMANDS, "def PART(): return 1", lambda part: part(), "5"),
    "routes": (ROUTES, "from kinsplit.server.routes.chunk import router as PART", lambda part: part.routes, "5"),
    "options": (
        OPTIONS,
        "from kinsplit.options import SearchExtension as PART",
        lambda part: part.model_fields == {},
        "5",
    ),
    "measures": (MEASURES, "from kinsplit.evaluation.measures.words import FAMILIES as PART", len, "(5,)"),
}


@pytest.fixture
def announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """The entry points that other packages announce; a test adds to them."""
    found: list[EntryPoint] = []
    monkeypatch.setattr(registry, "entry_points", lambda group: [each for each in found if each.group == group])
    (tmp_path / "other_verse.py").write_text(VERSE)
    (tmp_path / "other_broken.py").write_text("import no_such_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    registries = [known for known, *_ in KINDS.values()]
    for each in registries:
        each.refresh()
    yield found
    for each in registries:
        each.refresh()


def test_a_strategy_of_another_package_is_one_of_them(announced: list[EntryPoint]) -> None:
    announced.append(EntryPoint("verse", "other_verse:VerseStrategy", "kinsplit.strategies"))
    assert strategy_names()[-1] == "verse"
    assert "other_verse" not in sys.modules
    made = create("verse")
    chunks = made.chunk(Document("owl", "The owl and the cat\n\nwent to sea.\n"))
    assert [chunk.text for chunk in chunks] == ["The owl and the cat", "went to sea."]
    monkeyed = type(made)
    first = made.fingerprint
    monkeyed.version = "2"
    assert create("verse").fingerprint != first
    assert not made.repeatable


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_takes_parts_of_other_packages(kind: str, announced: list[EntryPoint], tmp_path: Path) -> None:
    known, sound, use, wrong = KINDS[kind]
    own = known.names()
    # kinsplit's own options have no names here, so that only another package's part can have the same one.
    taken = own[0] if own else "absent"
    assert known.kind == kind
    module = f"other_{kind}"
    (tmp_path / f"{module}.py").write_text(f"{sound}\nBAD = {wrong}\n")
    announced += [
        EntryPoint(name, f"{module}:{attribute}", f"kinsplit.{kind}")
        for name, attribute in (("zeta", "PART"), ("bad", "BAD"), ("absent", "NOTHING"), (taken, "PART"))
    ]
    announced.append(EntryPoint("broken", "other_broken:PART", f"kinsplit.{kind}"))
    known.refresh()

    with pytest.warns(PluginWarning, match=f"'{taken}' of other_{kind}:.* is left out of the {kind}: its name is"):
        assert known.names() == [*own, "absent", "bad", "broken", "zeta"]
    assert module not in sys.modules, "a part is loaded at its first use"
    assert use(known.load("zeta"))
    with pytest.warns(PluginWarning) as told:
        everything = known.load_all()
    assert [str(each.message).split("'")[1] for each in told] == ["absent", "bad", "broken"]
    assert list(everything) == known.names() == [*own, "zeta"]
    assert known.parse("zeta:x") == ("zeta", "x")
    assert known.forms()[-2:] == ["zeta", "zeta:..."]
    with pytest.raises(
        InvalidParameterError,
        match=f"{known.field}: must be the name of a .* Known {kind}: {own[0] if own else 'zeta'}",
    ):
        known.load("bad")
    with pytest.raises(InvalidParameterError, match=rf"{known.field}: must be one of .*got 'bad'.*install its package"):
        known.of_spec("bad:secret")


def test_descriptions_of_options_name_forms_that_exist() -> None:
    described = {EMBEDDERS: IndexOptions.model_fields["embedder"], RERANKERS: SearchOptions.model_fields["rerank"]}
    for known, field in described.items():
        named = re.findall(r"[\w-]+:[A-Z][\w/]+", field.description or "")
        assert named
        assert set(named) <= set(known.forms())


def test_the_help_leaves_out_a_broken_command(announced: list[EntryPoint]) -> None:
    announced.append(EntryPoint("broken", "other_broken:PART", "kinsplit.commands"))
    shown = CliRunner().invoke(app, ["--help"])
    assert shown.exit_code == 0
    assert "fetch-wikipedia" in shown.stdout
    assert shown.stderr.startswith("Warning: 'broken' of other_broken:PART is left out of the commands")
    assert CliRunner().invoke(app, ["broken"]).exit_code == 2


@pytest.mark.parametrize("name", ["sentences", "", 5, ["sentence"]])
def test_an_unknown_name_is_one_error(name: object) -> None:
    with pytest.raises(
        InvalidParameterError,
        match=r"^strategy: must be the name of a strategy .* Known strategies: character, word, token",
    ):
        create(name)  # type: ignore[arg-type]


#: Modules of kinsplit that splitting loads, at most: the core is closed.
BARS = {
    "import kinsplit; kinsplit.split('Owls hunt. They hear mice.')": 40,
    "from kinsplit.integrations.langchain import text_splitter as f; f('sentence').split_text('Owls hunt.')": 60,
    "from kinsplit.integrations.llama_index import node_parser as f; from llama_index.core import Document; "
    "f('sentence').get_nodes_from_documents([Document(text='Owls hunt.')])": 60,
}
_NEVER = {"embedding", "language_models", "model_servers", "stores", "retrieval", "index", "loaders"}


@pytest.mark.parametrize("code", BARS)
def test_splitting_loads_the_core_alone(code: str) -> None:
    probe = f"import sys; {code}; print(*(name for name in sys.modules if name.split('.')[0] == 'kinsplit'))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert len(loaded) <= BARS[code]
    assert {name.split(".")[1] for name in loaded if "." in name} & _NEVER == set()
