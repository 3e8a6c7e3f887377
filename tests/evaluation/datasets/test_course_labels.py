"""The sample course's labels fit its lectures as the loaders read them."""

from __future__ import annotations

import json
from pathlib import Path

from kinsplit.loaders import load

EXAMPLES = Path(__file__).parents[3] / "examples"
ROWS = [json.loads(line) for line in (EXAMPLES / "course_labels.jsonl").read_text(encoding="utf-8").splitlines()]


def test_every_span_holds_its_answer() -> None:
    texts = {document.id: document.text for loaded in load([EXAMPLES / "course"]) for document in loaded.documents}

    for row in ROWS:
        found = [texts[row["docid"]][start:end] for start, end in row["spans"]]
        assert found == row["answers"], row["query_id"]
        assert all(answer.strip() == answer != "" for answer in found)
        assert row["spans"] == sorted(row["spans"])


def test_eighty_questions_about_fifteen_files() -> None:
    assert len({row["query_id"] for row in ROWS}) == len({row["query"] for row in ROWS}) == len(ROWS) == 80
    assert len({row["docid"] for row in ROWS}) == 15
