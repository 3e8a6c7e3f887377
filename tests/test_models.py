"""Specs of models and their cards."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Literal

import pytest

from kinsplit import SearchOptions, create_strategy, embedding
from kinsplit.embedding.protocol import card_of
from kinsplit.errors import InvalidParameterError
from kinsplit.indexing.configuration import Configuration
from kinsplit.models import ModelCard, ModelSpec, make
from kinsplit.registry import Registry, function
from tests.index.helpers import RecordingEmbedder

SPECS = [
    "bundled",
    "hash:32",
    "st:BAAI/bge-m3?device=cuda:1&pooling=cls",
    r"st:C:\models\one",
    "openai:org/model:free?base_url=http://[::1]:8000/v1&query_prefix=a %26 b: &dimensions=8",
    "llm:ollama:llama3:8b?window=4096&longest=50",
]


@pytest.mark.parametrize("spec", [" st:/tmp/model", "st : /tmp/model", "st: ", "\tbundled"])
def test_blanks_are_part_of_a_name(spec: str) -> None:
    # Otherwise a collection could name a folder with code that the check of stored specs doesn't see.
    with pytest.raises(InvalidParameterError, match="embedder: must be one of"):
        embedding.create(spec)
    assert embedding.create("st: /tmp/model").model == " /tmp/model"  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", SPECS)
def test_text_object_and_table_are_the_same_spec(text: str, tmp_path: Path) -> None:
    spec = ModelSpec.parse(text)
    assert str(spec) == text
    table = {"provider": spec.provider, "name": spec.name, **spec.options}
    assert ModelSpec(**table) == ModelSpec.of(table) == ModelSpec.of({"spec": text}) == ModelSpec.of(spec) == spec
    file = tmp_path / "kinsplit.toml"
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in table.items())
    file.write_text(f"[models.own]\n{lines}\n")
    assert Configuration.read(file).models == {"own": spec}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("own = 5", r"kinsplit.toml: models.own: must be the spec of a model \(got 5\)"),
        ("own.spec = 5", "models.own: must be the spec of a model"),
        ("own.name = 'x'", "models.own: must be the spec of a model"),
        ("own.spec = 'st:m?x'", "models.own: must have options like"),
    ],
)
def test_a_wrong_table_is_one_error(line: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "kinsplit.toml"
    file.write_text(f"[models]\n{line}\n")
    with pytest.raises(InvalidParameterError, match=message):
        Configuration.read(file)


def test_a_spec_as_an_object_makes_the_same_model() -> None:
    assert embedding.create(ModelSpec(provider="hash", name="8", window=5)).name == "hash:8?window=5"
    assert embedding.resolve(ModelSpec(provider="hash", name="8")) is embedding.resolve("hash:8")


class Part:
    """A model of a provider with options of every type."""

    def __init__(
        self,
        name: str,
        around: object = None,
        count: int | None = None,
        share: float = 0.5,
        on: bool = False,
        way: Literal["a", "b"] = "a",
        api_key: str = "",
    ) -> None:
        self.given = (name, around, count, share, on, way, api_key)


PARTS: Registry[type[Part]] = Registry(
    "parts", "part", {"own": f"{__name__}:Part", "other": f"{__name__}:Part"}, function, {"own": ("own:NAME",)}
)


def test_values_have_the_types_of_the_parameters() -> None:
    assert make(PARTS, "own:m?count=3&share=0.25&on=true&way=b", around=5).given == ("m", 5, 3, 0.25, True, "b", "")  # type: ignore[attr-defined]
    assert make(PARTS, ModelSpec(provider="own", name="m", count=3, on=True)).given[2:5] == (3, 0.5, True)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("own", "part: must be one of own:NAME"),
        ("other", "part: must name a model after its provider"),
        ("own:m?cuont=3", "part: has no option 'cuont' .* Did you mean 'count'. It has: count, share, on, way"),
        ("own:m?around=3", "has no option 'around'"),
        ("own:m?api_key=secret", "must not hold a key"),
        ("own:m?count=many", "count must be a whole number"),
        ("own:m?share=x", "share must be a number"),
        ("own:m?on=5", "on must be true or false"),
        ("own:m?way=c", "way must be one of a, b"),
        ("own:m?count=1&count=2", "each once"),
        ("own:m?name=x", "must have options like"),
        ("own:m:count=3", "has the option 'count' in the wrong place"),
    ],
)
def test_a_wrong_spec_is_one_error(spec: str, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message) as caught:
        make(PARTS, spec)
    assert "secret" not in str(caught.value)


def test_a_fingerprint_holds_what_vectors_depend_on() -> None:
    card = ModelCard(weights="w", window=512, dimension=8, pooling="mean", languages=("en",), licence="mit")
    assert card.fingerprint == "w?dimensions=8&window=512&pooling=mean"
    changes = {
        "window": 99,
        "dimension": 4,
        "pooling": "cls",
        "query_prefix": "q",
        "passage_prefix": "p",
        "weights": "v",
    }
    changed = {card.model_copy(update={name: value}).fingerprint for name, value in changes.items()}
    assert len(changed | {card.fingerprint}) == 1 + len(changes)
    assert card.model_copy(update={"licence": None, "languages": ()}).fingerprint == card.fingerprint
    assert ModelCard(weights="w", window=sys.maxsize).fingerprint == "w"


def test_an_embedder_without_a_card_gets_one() -> None:
    own = RecordingEmbedder()
    assert card_of(own).dimension == own.dimension
    assert card_of(embedding.create("bundled")) == embedding.create("bundled").card  # type: ignore[attr-defined]


def test_strategies_and_searches_take_a_spec_as_an_object() -> None:
    assert SearchOptions(rerank=ModelSpec(provider="late", earlier=0.5)).rerank == "late?earlier=0.5"
    made = create_strategy("semantic", embedder=ModelSpec(provider="hash", name="8"))
    assert made.fingerprint == create_strategy("semantic", embedder="hash:8").fingerprint
