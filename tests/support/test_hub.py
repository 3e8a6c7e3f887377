"""A name that the Hub doesn't have costs one question, and no minute."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace

import huggingface_hub
import pytest
from huggingface_hub.errors import EntryNotFoundError, GatedRepoError, RepositoryNotFoundError

from kinsplit.embedding.backends.torch import load_model
from kinsplit.errors import EmbeddingError, KinsplitError, TokenizerError
from kinsplit.retrieval.rerank.cross_encoder import CrossEncoderReranker
from kinsplit.support.extras import check_repository
from kinsplit.tokenizers import resolve

Answer = type[Exception] | None


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answer], list[str]]:
    """Let the Hub answer every question in one way, and return what it is asked."""
    asked: list[str] = []
    # Nothing here gets as far as to load a model, and importing what would load it takes ten seconds.
    loaders = SimpleNamespace(SentenceTransformer=None, CrossEncoder=None)
    monkeypatch.setitem(sys.modules, "sentence_transformers", loaders)

    def answering(error: Answer) -> list[str]:
        def answer(url: str, **_: object) -> None:
            asked.append(url)
            if error is not None:
                raise error.__new__(error)  # Their constructors want whole responses.

        monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", answer)
        return asked

    return answering


@pytest.mark.parametrize(
    ("load", "error"),
    [
        (lambda: CrossEncoderReranker("nobody/nothing").rerank("a", ["b"]), EmbeddingError),
        (lambda: load_model("nobody/nothing"), EmbeddingError),
        (lambda: resolve("hf:nobody/nothing"), TokenizerError),
    ],
    ids=["cross-encoder", "embedder", "tokenizer"],
)
@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        (RepositoryNotFoundError, "the Hugging Face Hub has no model of that name"),
        (GatedRepoError, "its licence has to be accepted"),
        (ConnectionError, "the Hugging Face Hub can't be reached"),
    ],
)
def test_a_name_that_leads_nowhere_is_asked_for_once(
    hub: Callable[[Answer], list[str]],
    load: Callable[[], object],
    error: type[KinsplitError],
    answer: type[Exception],
    rule: str,
) -> None:
    asked = hub(answer)
    with pytest.raises(error, match=rule):
        load()
    assert len(asked) == 1


def test_a_model_without_an_owner_is_also_looked_for_at_its_makers(hub: Callable[[Answer], list[str]]) -> None:
    asked = hub(RepositoryNotFoundError)
    with pytest.raises(EmbeddingError, match="has no model of that name"):
        load_model("nothing")
    assert ["/sentence-transformers/" in url for url in asked] == [False, True]


@pytest.mark.parametrize("answer", [None, EntryNotFoundError])
def test_a_repository_that_is_there_is_left_to_its_loader(hub: Callable[[Answer], list[str]], answer: Answer) -> None:
    assert hub(answer) == []
    check_repository("somebody/something")


def test_what_is_in_the_cache_is_not_asked_for(
    hub: Callable[[Answer], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = hub(ConnectionError)
    monkeypatch.setattr(
        huggingface_hub,
        "try_to_load_from_cache",
        lambda name, file, revision: "/cache/x" if file == "modules.json" else None,
    )
    check_repository("somebody/something")
    assert asked == []
