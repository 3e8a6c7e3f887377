"""Records as units: whole while they fit, else cut between their lines."""

from __future__ import annotations

from typing import Any

from kinsplit import Document, create_strategy


def chunks(text: str, size: int, **document: Any) -> list[str]:
    strategy = create_strategy("structure", unit="character", chunk_size=size, min_chunk_size=0)
    return [chunk.text for chunk in strategy.chunk(Document("d", text, **document))]


def test_a_record_that_does_not_fit_is_cut_between_its_lines() -> None:
    entry = "2026-11-26 12:00:00 Owls failed. See below.\n    at Owl.hunt(Owl.java:3)\n    at Main.main(Main.java:9)"
    assert chunks(entry, 50) == [line.strip() for line in entry.splitlines()]


def test_records_that_are_indented_as_a_whole_are_units() -> None:
    text = "jobs:\n    steps:\n\n    - name: a\n      run: owls hunt\n    - name: b\n      run: larks sing"
    found = chunks(text, 40)
    assert found[-2:] == ["- name: a\n      run: owls hunt", "- name: b\n      run: larks sing"]


def test_a_document_of_rows_is_cut_between_them_whatever_they_look_like() -> None:
    text = "Owls hunt at night. They hear mice.\nLarks sing at dawn. They fly high."
    assert chunks(text, 50, kind="rows") == text.splitlines()
