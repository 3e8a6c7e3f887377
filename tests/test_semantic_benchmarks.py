"""Measures of the benchmarks of semantic splitting, on texts with known figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinsplit.embedding.hashing import HashEmbedder

pytest.importorskip("segeval", reason="segeval comes with the extra benchmarks")

with pytest.MonkeyPatch.context() as path:
    path.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    import boundaries
    import segmented
    import semantic
    import semantic_systems

PARTS = ["One two three four. Five six.", "Seven eight nine. Ten eleven twelve.", "Thirteen fourteen fifteen sixteen."]
TEXT = segmented.Segmented("\n\n".join(PARTS), (31, 69))


def test_parts_are_joined_where_the_boundaries_say() -> None:
    assert segmented._join(PARTS, "\n\n") == TEXT
    assert [TEXT.text[place:].split()[0] for place in TEXT.boundaries] == ["Seven", "Thirteen"]


def test_cutting_at_the_boundaries_is_no_error_and_white_space_makes_no_difference() -> None:
    assert boundaries.score(TEXT, PARTS) == (0, 0, 1)
    assert boundaries.score(TEXT, [" ".join(part.split()) + "\n" for part in PARTS]) == (0, 0, 1)


def test_cutting_nowhere_and_everywhere_is_wrong() -> None:
    nowhere = boundaries.score(TEXT, [TEXT.text])
    everywhere = boundaries.score(TEXT, TEXT.text.split())
    assert 0.3 < nowhere[0] <= 1
    assert 0.3 < everywhere[0] <= 1
    assert (nowhere[2], everywhere[2]) == (1 / 3, 16 / 3)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_system_makes_chunks_of_all_that_is_not_white_space() -> None:
    text = " ".join(["Cats purr when they are happy and warm.", "Stocks fell as rates rose again."] * 12)
    solid = "".join(text.split())
    for system in (*semantic_systems.OWN, *semantic_systems.PEERS):
        try:
            split = system.make(HashEmbedder(16))
        except ImportError:
            continue
        assert ["".join("".join(chunks).split()) for chunks in split([text, text])] == [solid] * 2, system.name


def test_what_is_timed_beside_the_limit_is_named_as_the_targets_name_it() -> None:
    timed = semantic.compare(semantic.tasks(["Cats purr. Stocks fell."], HashEmbedder(16), peers=False), 1)
    assert list(timed) == [semantic._PASS, semantic._OWN]
    met = [outcome.met for outcome in semantic.outcomes(timed, {})]
    assert len(met) == 5
    assert set(met[1:]) == {None}
