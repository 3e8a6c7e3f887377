"""What is wrong with a labelled set: all of it is seen, and the first is told with the number of the others."""

from __future__ import annotations

from pathlib import Path

from kinsplit.errors import LoadError
from kinsplit.evaluation.datasets.files import Row, shown


class Problems:
    """What was found to be wrong so far.

    Args:
        path: The file that is named where it holds nothing at all.
    """

    def __init__(self, path: Path) -> None:
        self.count = 0
        self._path = path
        self._described = ""

    def add(self, row: Row, query_id: object, field: str, rule: str, value: object, remedy: str) -> None:
        """Tell one problem.

        Args:
            row: Where.
            query_id: The question that it belongs to; None where that isn't known.
            field: The field.
            rule: What is allowed, as a sentence without a full stop.
            value: What is there.
            remedy: What to do about it.
        """
        self.count += 1
        if self.count == 1:
            query = "" if query_id is None else f", query {shown(query_id)}"
            self._path = row.path
            self._described = f"{row.place}{query}: {field} {rule} (got {shown(value)}). {remedy}"

    def check(self, *, empty: bool) -> None:
        """Raise the first problem.

        Args:
            empty: Whether there is no question at all, which is a problem too.

        Raises:
            LoadError: There is one.
        """
        if self.count:
            more = self.count - 1
            tail = f" {more:,} more problem{'' if more == 1 else 's'} in the labels." if more else ""
            raise LoadError(self._path, self._described + tail)
        if empty:
            raise LoadError(self._path, "holds no question. Write at least one.")
