"""The page in a browser: on a desktop and on a phone, in light and in dark, with kind and with hostile texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinsplit.evaluation.report import write_report
from kinsplit.evaluation.results import Results
from tests.evaluation.browser import measure
from tests.evaluation.hostile import hostile
from tests.evaluation.made_results import results

MADE = {
    "four strategies": results(),
    "fifteen strategies": results(strategies=15, documents=60, questions=3),
    "hostile": hostile(),
}


@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_nothing_overflows_overlaps_or_asks_the_network(tmp_path: Path, made: Results, width: int) -> None:
    (page, *_) = write_report(made, tmp_path / "report.html")
    found, errors = measure(page, width)

    assert errors == ""
    assert found["scrolled"] <= found["width"], "the page scrolls sideways"
    assert found["width"] in range(width - 20, width + 1)
    assert found["beyond"] == []
    assert found["clipped"] == []
    assert found["overlapping"] == []
    assert found["requests"] == []
    assert found["hacked"] is None
    assert found["scripts"] == 1


def test_a_table_is_sorted_by_a_click(tmp_path: Path) -> None:
    (page, *_) = write_report(results(), tmp_path / "report.html")
    found, _ = measure(page, 1280)

    assert found["before"] == ["sentence", "structure", "token 512", "semantic"]
    assert found["after"] == ["structure", "semantic", "sentence", "token 512"]
    assert found["sorted"] == "descending"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_colours_can_be_told_from_what_they_stand_on(tmp_path: Path, dark: bool) -> None:
    (page, *_) = write_report(results(), tmp_path / "report.html")
    colors = measure(page, 1280, dark=dark)[0]["colors"]

    assert (_luminance(colors["--paper"]) < 0.1) == dark
    for ink in ("--ink", "--faint", "--link"):
        for ground in ("--paper", "--panel"):
            assert _contrast(colors[ink], colors[ground]) >= 4.5, (ink, ground)
    for ground in ("--mark", "--warn"):
        assert _contrast(colors["--ink"], colors[ground]) >= 4.5, ground
    for series in range(6):
        assert _contrast(colors[f"--series-{series}"], colors["--paper"]) >= 3, series


def _contrast(first: str, second: str) -> float:
    """Return the ratio of the Web Content Accessibility Guidelines, from 1 to 21."""
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: str) -> float:
    digits = color.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(2 * digit for digit in digits)
    shares = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
