"""Cross-encoders as sentence-transformers runs them. Beside other tests that import it, which takes ten seconds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kinsplit.retrieval import CrossEncoderReranker
from tests.embedding.tiny_models import make_pairs, needs_torch


@needs_torch
@pytest.mark.filterwarnings("ignore::kinsplit.retrieval.rerank.protocol.RerankWarning")
@pytest.mark.parametrize("family", ["bert", "roberta", "electra", "distilbert"])
def test_scores_are_those_of_sentence_transformers(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sentence_transformers import CrossEncoder

    folder, texts = make_pairs(tmp_path, family), ["loops repeat", "", "Ünïcode 東京", "loops " * 50]
    expected = CrossEncoder(str(folder), device="cpu").predict([("what do loops", text) for text in texts])
    for available in (True, False):
        own = sys.modules[CrossEncoderReranker.__module__]
        monkeypatch.setattr(own, "has_openvino", lambda available=available: available)
        found = CrossEncoderReranker(str(folder)).rerank("what do loops", texts)
        assert [r.score for r in found] == pytest.approx(expected.tolist(), abs=1e-5)
