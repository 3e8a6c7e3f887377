"""The browser in which tests look at pages."""

from __future__ import annotations

import shutil

import pytest

#: Programs by preference: the first one has no user interface and takes half the time.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def find_chromium() -> str:
    """Return the path of the browser; skip the test if there is none."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.skip("looking at pages needs chromium-headless-shell or chromium")
    return found
