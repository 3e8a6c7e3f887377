"""`kinsplit sample`: write the sample course, to try things with."""

from __future__ import annotations

import shutil
from pathlib import Path

from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import LoadError, require

_PACKAGE = Path(__file__).parents[2]
# In a wheel the course lies in the package, and in a clone of the repository next to it.
_PLACES = (_PACKAGE / "examples", _PACKAGE.parent / "examples")
#: The sample: the course, the questions of the demo, and labelled questions.
FILES = ("course", "course_questions.json", "course_labels.jsonl")


def sample(folder: Path = Path("examples"), /, *, terminal: Terminal) -> None:
    """Write the sample course into a folder: lectures, exercises and code of a course in Python, with questions.

    Args:
        folder (FOLDER): Folder for the course and two files of questions.
    """
    made = [folder / name for name in FILES]
    there = next((path for path in made if path.exists()), None)
    require(there is None, "FOLDER", "must not have the sample yet", there, "Name another folder, or delete it.")
    folder.mkdir(parents=True, exist_ok=True)
    for path in made:
        source = sample_folder() / path.name
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, path)
    terminal.outcome([str(path) for path in made], *map(str, made))


def sample_folder() -> Path:
    """Return the folder of the sample in this installation.

    Raises:
        LoadError: The installation has lost it.
    """
    for place in _PLACES:
        if (place / FILES[0]).is_dir():
            return place
    remedy = "Run: pip install --force-reinstall --no-deps kinsplit"
    raise LoadError(_PLACES[0], f"the sample course is missing. {remedy}")
