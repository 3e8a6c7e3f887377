from __future__ import annotations

from tests.cli.conftest import course_index

__all__ = ["course_index"]
