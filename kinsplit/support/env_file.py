"""Variables of the environment from a `.env` file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kinsplit.errors import LoadError

#: The file, in the current folder.
NAME = ".env"


@contextmanager
def env_file() -> Iterator[None]:
    """Add the variables of `.env` in the current folder to the environment until the block ends.

    Variables that are set take precedence; empty ones count as unset, here and there.

    Raises:
        LoadError: The file can't be read as UTF-8.
    """
    from dotenv import dotenv_values

    try:
        found = dotenv_values(NAME, encoding="utf-8") if Path(NAME).is_file() else {}
    except (OSError, UnicodeDecodeError) as error:
        reason = "is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error.strerror)
        raise LoadError(NAME, f"{reason}. Correct it, or run the command in another folder.") from None
    before = {name: os.environ.get(name) for name, value in found.items() if value and not os.environ.get(name)}
    os.environ.update({name: value for name, value in found.items() if name in before and value})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
