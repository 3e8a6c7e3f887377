"""Answers are kept by model and prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinsplit.errors import CacheWarning
from kinsplit.language_models.registry import HashModel
from kinsplit.language_models.servers import OllamaModel
from kinsplit.language_models.structured import AnswerCache, answer_cache
from kinsplit.support.disk_cache import FILE

MODEL = OllamaModel("llama3", host="a")


def test_an_answer_is_found_again_for_the_same_model_and_prompt_alone(tmp_path: Path) -> None:
    AnswerCache(tmp_path).put(MODEL, "p\ud800", [0, 3])
    again = AnswerCache(tmp_path)

    assert again.get(OllamaModel("llama3", host="a"), "p\ud800") == [0, 3]
    assert again.get(MODEL, "q") is None
    assert again.get(OllamaModel("llama3", host="b"), "p\ud800") is None
    assert again.get(OllamaModel("llama3:70b", host="a"), "p\ud800") is None


def test_the_answers_of_a_model_without_an_identity_are_not_kept(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path)
    cache.put(HashModel(), "p", [0])
    assert cache.get(HashModel(), "p") is None


def test_the_folder_is_the_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("KINSPLIT_CACHE", raising=False)
    cache = answer_cache()
    assert cache.folder == tmp_path / "xdg" / "kinsplit" / "answers"
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "own"))
    other = answer_cache()
    assert other.folder == tmp_path / "own" / "answers"
    assert answer_cache() is other


def test_a_folder_that_can_not_be_written_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "file"))
    with pytest.warns(CacheWarning, match=r"Answers of language models are not kept.*set KINSPLIT_CACHE"):
        cache = answer_cache()
    cache.put(MODEL, "p", [0])
    assert cache.get(MODEL, "p") is None
    assert answer_cache() is cache


def test_a_broken_cache_costs_no_answer(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path)
    cache.put(MODEL, "p", [0])
    for file in tmp_path.glob("*.sqlite*"):
        file.write_bytes(b"no database" * 1000)
    with pytest.warns(CacheWarning, match="Answers of language models are not kept"):
        again = AnswerCache(tmp_path)
    again.put(MODEL, "p", [0])
    assert again.get(MODEL, "p") is None


def test_the_cache_does_not_outgrow_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinsplit.language_models.structured.LIMIT", 200_000)
    cache = AnswerCache(tmp_path)
    numbers = list(range(2000))
    for i in range(200):
        cache.put(MODEL, str(i), numbers)
    assert cache.get(MODEL, "199") == numbers
    assert cache.get(MODEL, "0") is None
    assert (tmp_path / FILE).stat().st_size < 400_000
