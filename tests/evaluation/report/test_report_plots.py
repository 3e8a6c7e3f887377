"""The plots: any results are drawn without a warning, and strategies can be distinguished."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.image import imread

from kinsplit.evaluation.report.charts import (
    SERIES,
    budget_curves,
    comparison_chart,
    curves,
    documents_height,
    draw_documents,
    draw_lengths,
    drawn,
    emphasised,
    label,
    lengths_height,
    look,
    png,
    svg,
)
from kinsplit.evaluation.results import Results
from tests.evaluation.hostile import hostile
from tests.evaluation.made_results import comparison, results

SHAPES = {
    "one strategy and document": results(strategies=1, documents=1, comparisons=[]),
    "nine strategies": results(strategies=9, documents=200, questions=2),
    "hostile": hostile(),
}


def _texts(axes: Axes) -> list[Any]:
    low, high = axes.get_xlim()
    ticks = [tick.label1 for tick in axes.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    texts = [*axes.texts, axes.title, axes._left_title, axes._right_title, *ticks]
    return [text for text in texts if text.get_text() and text.get_visible()]


@pytest.mark.parametrize("made", SHAPES.values(), ids=SHAPES)
def test_every_text_lies_inside_the_picture_and_on_no_other(made: Results) -> None:
    for draw, tall in ((draw_lengths, lengths_height(made)), (draw_documents, documents_height(made))):
        with drawn(tall) as figure:
            draw(figure, made)
            figure.canvas.draw()
            whole = figure.bbox
            boxes = [text.get_window_extent() for axes in figure.axes for text in _texts(axes)]
        assert len(boxes) > len(made.strategies)
        for box in boxes:
            assert box.x0 >= whole.x0 - 1
            assert box.x1 <= whole.x1 + 1
            assert box.y0 >= whole.y0 - 1
            assert box.y1 <= whole.y1 + 1
        for first, second in itertools.combinations(boxes, 2):
            assert not first.overlaps(second)


def test_all_chunks_are_in_the_histograms() -> None:
    made = results(3)
    with drawn(lengths_height(made)) as figure:
        draw_lengths(figure, made)
        drawn_counts = [int(axes.patches[0].get_data().values.sum()) for axes in figure.axes]

    assert drawn_counts == [len(strategy.lengths) for strategy in made.strategies]


def test_a_few_very_long_chunks_do_not_hide_the_others() -> None:
    made = results(2)
    long = [s.model_copy(update={"lengths": [200] * 50 + [300] * 50 + [90_000]}) for s in made.strategies]
    with drawn(3) as figure:
        draw_lengths(figure, made.model_copy(update={"strategies": long}))
        axes = figure.axes[0]
        counts = axes.patches[0].get_data().values

    assert axes.get_xscale() == "log"
    assert counts.sum() == 101
    assert np.count_nonzero(counts) == 3


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["course/a.md", "course/b.md"], ["a.md", "b.md"]),
        (["a/x.md", "b/x.md"], ["a/x.md", "b/x.md"]),
        (["a", "b"], ["a", "b"]),
    ],
)
def test_documents_are_named_without_the_folder_that_all_share(names: list[str], shown: list[str]) -> None:
    made = results(1)
    counted = made.strategies[0].model_copy(update={"chunks_per_document": dict.fromkeys(names, 3)})
    with drawn(3) as figure:
        draw_documents(figure, made.model_copy(update={"strategies": [counted]}))
        assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == shown


def test_a_picture_is_a_png_with_something_on_it(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with drawn(2) as figure:
        draw_documents(figure, results(1))
        content = png(figure)
    (tmp_path / "plot.png").write_bytes(content)
    pixels = imread(tmp_path / "plot.png")

    assert b"Software" not in content
    assert pixels.shape == (300, 990, 4)
    assert len(np.unique(pixels.reshape(-1, 4), axis=0)) > 3


def test_colours_follow_the_page() -> None:
    with drawn(2) as figure:
        draw_documents(figure, results(2))
        element = svg(figure, "x")

    assert "var(--series-0)" in element
    assert "var(--series-1)" in element
    assert "var(--ink)" in element
    assert not any(color in element for color in SERIES)
    assert "<!--" not in element


def test_no_two_of_eighteen_strategies_look_alike() -> None:
    looks = [look(place) for place in range(18)]

    assert len(set(looks)) == 18
    assert len({look.marker for look in looks[:6]}) == len({look.color for look in looks[:6]}) == 6


def test_of_many_curves_the_best_and_the_baseline_stand_out() -> None:
    made = results(15)
    strong = emphasised(made)

    assert len(strong) == 6
    assert "sentence" in strong
    assert "token 512" not in strong
    assert [budget for budget, _ in curves(made)["sentence"]] == [100, 200, 500, 1000, 2000]
    assert budget_curves(made).count("var(--grid)") > budget_curves(results(3)).count("var(--grid)")


def test_charts_without_anything_to_show_are_empty() -> None:
    assert budget_curves(results(2, budgets=(1000,))) == ""
    assert comparison_chart(results(1, comparisons=[])) == ""


def test_better_worse_and_chance_have_their_own_shapes() -> None:
    def shapes(p_value: float, mean: float) -> str:
        return comparison_chart(results(2, comparisons=[comparison("structure", mean, p_value)]))

    better, worse, chance = shapes(0.01, 0.1), shapes(0.01, -0.1), shapes(0.5, 0.1)
    assert "var(--series-0)" in better
    assert "var(--series-0)" not in worse
    assert "var(--series-1)" in worse
    assert "var(--series-" not in chance


def test_labels_are_drawable_and_short() -> None:
    assert label("東京 🐇\n\x00$a$") == "\ufffd\ufffd \ufffd\ufffd\ufffd\\$a\\$"
    assert label("a" * 100, 24) == "a" * 12 + "…" + "a" * 11
