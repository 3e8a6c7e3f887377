"""The file of n-grams by which languages are detected, made from the model of py3langid.

`python -m tests.parsers.units.language_files` writes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from kinsplit.parsers.units import languages

FILE = Path(languages.__file__).with_name("ngrams") / "ngrams.npz"

# N-grams that are kept: those that tell most about all languages, about each, and about the likeliest two.
_KEPT, _KEPT_OF_EACH, _KEPT_OF_TWO = 10_000, 25, 1250
_STEPS = 31
# With fewer n-grams a text has less evidence, which then counts more. With this factor and these numbers, the language
# of all shared data is the same as by py3langid, and that of 1,045 of 1,068 texts of Django's translations.
_FACTOR = 2.5


def arrays() -> dict[str, Any]:
    """Return the arrays of the file."""
    model = LanguageIdentifier.from_model_file(MODEL_FILE)
    names, shares = _names(model), np.exp(model.nb_ptc.astype(np.float64))
    numbers = _telling(shares)
    place = {names[number]: at for at, number in enumerate(numbers)}
    kept = shares[numbers]
    for name, row in zip(names, shares, strict=True):
        ends = (place.get(name[start:]) for start in range(len(name)))
        if name not in place and (at := next((end for end in ends if end is not None), None)) is not None:
            kept[at] += row
    logarithms = np.log(kept)
    above = logarithms - logarithms.min(axis=1, keepdims=True)
    step = above.max() / _STEPS
    return {
        "languages": np.array(model.nb_classes),
        "ngrams": np.array([*place]),
        "weights": np.round(above / step).astype(np.uint8),
        "scale": np.float32(step * _FACTOR),
        "prior": (model.nb_pc * _FACTOR).astype(np.float32),
    }


def _names(model: LanguageIdentifier) -> list[bytes]:
    """Return the n-gram of each row: the shortest path through the states that leads to it."""
    moves = np.array(model.tk_nextmove).reshape(-1, 256)
    rows, outputs = np.array(model.tk_row), model.tk_output
    paths: dict[int, bytes] = {0: b""}
    names: dict[int, bytes] = {}
    reached = [0]
    while reached:
        following = []
        for state in reached:
            for byte, target in enumerate(moves[rows[state]].tolist()):
                if target not in paths:
                    paths[target] = paths[state] + bytes([byte])
                    names.setdefault(outputs[target], paths[target])
                    following.append(target)
        reached = following
    return [names[number] for number in range(len(model.nb_ptc))]


def _telling(shares: np.ndarray[Any, Any]) -> list[int]:
    information = shares * np.log(shares / shares.mean(axis=1, keepdims=True))
    second, first = np.sort(shares, axis=1)[:, -2:].T
    kept = {*np.argsort(-information.clip(0).sum(axis=1))[:_KEPT].tolist()}
    kept |= {*np.argsort(-information, axis=0)[:_KEPT_OF_EACH].ravel().tolist()}
    kept |= {*np.argsort(-(first - second) * np.log(first / second))[:_KEPT_OF_TWO].tolist()}
    return sorted(kept)


if __name__ == "__main__":
    np.savez_compressed(FILE, **arrays())
