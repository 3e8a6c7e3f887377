"""The page in a browser: on desktop and phone, in light and dark, with harmless and hostile texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.browser import measure
from tests.evaluation.report.conftest import MADE

Findings = Mapping[tuple[str, int], dict[str, Any]]


@pytest.fixture(scope="module")
def light(page_of: Callable[[str], Path]) -> tuple[Findings, str]:
    """Measure every page on a phone and on a desktop."""
    return measure({(name, width): page_of(name) for name in MADE for width in (375, 1280)})


@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("name", MADE)
def test_nothing_overflows_overlaps_or_asks_the_network(light: tuple[Findings, str], name: str, width: int) -> None:
    found, errors = light[0][name, width], light[1]

    assert errors == ""
    assert found["scrolled"] <= found["width"], "the page scrolls sideways"
    assert found["width"] in range(width - 20, width + 1)
    assert found["hidden"] == 0, "the first table scrolls sideways"
    assert found["beyond"] == []
    assert found["clipped"] == []
    assert found["overlapping"] == []
    assert found["requests"] == []
    assert found["hacked"] is None
    assert found["scripts"] == 1


def test_a_table_is_sorted_by_a_click(light: tuple[Findings, str]) -> None:
    found = light[0]["four strategies", 1280]

    assert found["before"] == ["sentence", "structure", "token 512", "semantic"]
    assert found["after"] == ["structure", "semantic", "sentence", "token 512"]
    assert found["sorted"] == "descending"


def test_colours_can_be_told_from_what_they_stand_on(
    light: tuple[Findings, str], page_of: Callable[[str], Path]
) -> None:
    shown = ("four strategies", 1280)
    dark, _ = measure({shown: page_of(shown[0])}, dark=True)
    for colors, is_dark in ((light[0][shown]["colors"], False), (dark[shown]["colors"], True)):
        assert (_luminance(colors["--paper"]) < 0.1) == is_dark
        for ink in ("--ink", "--faint", "--link"):
            for ground in ("--paper", "--panel"):
                assert _contrast(colors[ink], colors[ground]) >= 4.5, (ink, ground)
        for ground in ("--mark", "--warn"):
            assert _contrast(colors["--ink"], colors[ground]) >= 4.5, ground
        for series in range(6):
            assert _contrast(colors[f"--series-{series}"], colors["--paper"]) >= 3, series


def _contrast(first: str, second: str) -> float:
    """Return the contrast ratio of the Web Content Accessibility Guidelines, from 1 to 21."""
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: str) -> float:
    digits = color.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(2 * digit for digit in digits)
    shares = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
