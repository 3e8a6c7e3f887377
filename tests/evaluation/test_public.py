"""The public names of the evaluation: all are documented, with a working example of each."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kinsplit import evaluation

API = Path(__file__).parents[2] / "docs" / "evaluation-api.md"
TEXT = API.read_text(encoding="utf-8")


def test_every_public_name_is_documented_and_has_an_example() -> None:
    assert evaluation.__all__ == sorted(evaluation.__all__) == dir(evaluation)
    for name in evaluation.__all__:
        assert getattr(evaluation, name).__doc__
        (section,) = [part for part in TEXT.split("\n## ") if f"`{name}`" in part.splitlines()[0]]
        assert re.search(rf"(>>>|\.\.\.) .*\b{name}[.(]", section), name
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        evaluation.Nonsense  # noqa: B018


def test_importing_the_package_loads_none_of_its_modules() -> None:
    code = "import sys, kinsplit.evaluation as _; print(sum(n.startswith('kinsplit.evaluation.') for n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"
