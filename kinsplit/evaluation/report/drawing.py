"""What all plots share: colours, fonts, and files that are equal byte for byte when the numbers are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from typing import Any, NamedTuple

from matplotlib import font_manager, style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font

#: Colours of text, of what is less important, and of grid lines. The page replaces each by one that suits its theme.
INK, FAINT, GRID = "#1d2128", "#596070", "#d4d8e0"
#: Okabe and Ito's colours for all kinds of colour vision, the light ones darker, so that they can be seen on white.
SERIES = ("#0072b2", "#c14a00", "#00845f", "#a8508a", "#8f6400", "#3f4a5a")
_VARIABLES = {INK: "--ink", FAINT: "--faint", GRID: "--grid"} | {
    color: f"--series-{number}" for number, color in enumerate(SERIES)
}
_FONT = "DejaVu Sans"
_STYLE = {
    "font.family": _FONT,
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "svg.hashsalt": "kinsplit",
}
_WIDTH = 6.6  # inches


class Look(NamedTuple):
    """How a strategy is drawn: no two of eighteen alike, even without colours."""

    color: str
    marker: str
    line: str


def look(place: int) -> Look:
    """Return how the strategy at a place of the results is drawn."""
    kinds = len(SERIES)
    lines = ("-", "--", ":")
    return Look(SERIES[place % kinds], "os^Dvp"[place % kinds], lines[place // kinds % len(lines)])


@contextmanager
def drawn(height: float) -> Iterator[Figure]:
    """Begin a figure that no file or setting of the user's changes.

    Args:
        height: Inches.
    """
    with style.context(["default", _STYLE]):
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def label(text: str, longest: int = 32) -> str:
    """Return text as a plot can draw it: shortened, and with a sign for each character that the font lacks."""
    shown = text if len(text) <= longest else f"{text[: longest // 2]}…{text[-(longest - longest // 2 - 1) :]}"
    known = "".join(character if ord(character) in _characters() else "\ufffd" for character in shown)
    return known.replace("$", r"\$")  # A pair of them would begin a formula.


def png(figure: Figure) -> bytes:
    """Return a figure as a PNG file, on white."""
    file = BytesIO()
    figure.savefig(file, format="png", dpi=150, metadata={"Software": None})
    return file.getvalue()


def svg(figure: Figure, name: str) -> str:
    """Return a figure as an element of a page, in the page's colours.

    Args:
        figure: The figure.
        name: Sets its ids apart from those of other figures on the page.
    """
    file = BytesIO()
    nothing: dict[str, Any] = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(file, format="svg", transparent=True, metadata=nothing)
    element = file.getvalue().decode()
    element = element[element.index("<svg") :]
    element = re.sub(r"<metadata>.*?(?:</metadata>|\Z)|<!--.*?(?:-->|\Z)", "", element, flags=re.DOTALL)
    element = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", element)
    for color, variable in _VARIABLES.items():
        element = element.replace(color, f"var({variable})")
    # What the picture shows is said by the page, beside it.
    return element.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)


@cache
def _characters() -> frozenset[int]:
    font = FT2Font(font_manager.findfont(_FONT))
    return frozenset(font.get_charmap()) - frozenset(range(32))
