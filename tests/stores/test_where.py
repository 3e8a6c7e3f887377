"""Tests of filters in the notation of the command line."""

import pytest

from kinsplit.errors import InvalidParameterError
from kinsplit.stores.filters import parse_where


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("year=2020", {"year": {"$in": ["2020", 2020]}}),
        ("share=0.5", {"share": {"$in": ["0.5", 0.5]}}),
        ("share!=-1e3", {"share": {"$nin": ["-1e3", -1000.0]}}),
        ("draft=true", {"draft": {"$in": ["true", True]}}),
        ("author!=null", {"author": {"$nin": ["null", None]}}),
        ("author.name=Ada", {"author.name": {"$in": ["Ada"]}}),
        ("day>=2024-05-31", {"day": {"$gte": "2024-05-31"}}),
        ("day<2024-05-31T12:00:00Z", {"day": {"$lt": "2024-05-31T12:00:00Z"}}),
        ("year>=2020.5", {"year": {"$gte": 2020.5}}),
        ("isbn=0" + "9" * 40, {"isbn": {"$in": ["0" + "9" * 40]}}),
        ("day=2024-05-31", {"day": {"$in": ["2024-05-31"]}}),
    ],
)
def test_a_value_is_what_it_reads_as_and_its_text(text, where):
    assert parse_where("--where", [text]) == where


def test_a_bound_is_a_number_or_a_date():
    with pytest.raises(InvalidParameterError, match=r"--where: needs a number or a date after day>= .*2024-05-31"):
        parse_where("--where", ["day>=31.05.2024"])
