"""Registries of named parts, with those of other packages."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from kinsplit import Document, registry, strategy_names
from kinsplit.errors import InvalidParameterError
from kinsplit.parsers import create
from kinsplit.parsers import registry as strategies
from kinsplit.registry import PluginWarning, Registry

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


@pytest.fixture
def announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """The entry points that other packages announce; a test adds to them."""
    found: list[EntryPoint] = []
    monkeypatch.setattr(registry, "entry_points", lambda group: [each for each in found if each.group == group])
    (tmp_path / "other_verse.py").write_text(VERSE)
    (tmp_path / "other_broken.py").write_text("import no_such_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(strategies, "STRATEGIES", Registry("strategies", "strategy", dict(strategies.STRATEGIES._own)))
    return found


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


def test_a_broken_one_is_named_and_left_out(announced: list[EntryPoint]) -> None:
    announced += [
        EntryPoint("verse", "other_verse:VerseStrategy", "kinsplit.strategies"),
        EntryPoint("broken", "other_broken:Strategy", "kinsplit.strategies"),
        EntryPoint("sentence", "other_verse:VerseStrategy", "kinsplit.strategies"),
    ]
    with pytest.warns(PluginWarning, match="'sentence' of other_verse:VerseStrategy is left out .* its name is taken"):
        assert strategy_names()[-2:] == ["broken", "verse"]
    with (
        pytest.warns(PluginWarning, match=r"'broken' of other_broken:Strategy is left out .*no_such_module"),
        pytest.raises(
            InvalidParameterError,
            match=r"^strategy: must be the name of a strategy .* Known strategies: character, .*, verse\.",
        ),
    ):
        create("broken")
    assert strategy_names()[-1] == "verse"
    assert create("sentence").name == "sentence"


@pytest.mark.parametrize("name", ["sentences", "", None, 5, ["sentence"]])
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
