"""Chunks as tables with one row each, in pandas and Arrow."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_type_hints

from kinsplit.chunk import FIELDS, Beside, Chunk, select
from kinsplit.errors import require
from kinsplit.stores.json_values import to_json
from kinsplit.support.extras import needs

if TYPE_CHECKING:
    import pandas
    import pyarrow

_COLUMNS = {field.shown or str(field.stored): field.attribute for field in FIELDS}
_TYPES = {
    **get_type_hints(Chunk),
    **{name: get_type_hints(own.fget)["return"] for name, own in vars(Chunk).items() if isinstance(own, property)},
}
# The other columns are texts.
_INTEGERS = frozenset(name for name in _COLUMNS.values() if _TYPES[name] in (int, int | None))
_FLAGS = frozenset(name for name in _COLUMNS.values() if _TYPES[name] is bool)


def to_dataframe(chunks: Iterable[Chunk]) -> pandas.DataFrame:
    """Return chunks as a pandas DataFrame.

    Args:
        chunks: The chunks, of one or several documents.

    Returns:
        One row per chunk. The columns are the fields of `Chunk`, under the names that rows of JSON have too, such as
        `id`, `source_id`, `chunk_index`, `start`, `end` and `text`; `spans` are lists of two offsets, `beside` and
        `metadata` mappings. Lone surrogates become U+FFFD.

    Raises:
        MissingExtraError: pandas is not installed.

    Example:
        >>> to_dataframe(chunks)["start"].tolist()
        [0]
    """
    with needs("frames"):
        import pandas
    rows = [{**_row(chunk), "metadata": dict(chunk.metadata)} for chunk in chunks]
    frame = pandas.DataFrame(rows, columns=[*_COLUMNS, "metadata"])
    # An integer that some rows lack would make the column one of floats, and an empty column one of objects.
    kinds = {**dict.fromkeys(_INTEGERS, "Int64"), **dict.fromkeys(_FLAGS, "bool")}
    return frame.astype({column: kinds[name] for column, name in _COLUMNS.items() if name in kinds})


def to_arrow(chunks: Iterable[Chunk]) -> pyarrow.Table:
    """Return chunks as an Arrow table, which Parquet, DuckDB, Polars, Lance and `datasets` read.

    The schema doesn't depend on the chunks, so the tables of several batches can be concatenated.

    Args:
        chunks: The chunks, of one or several documents.

    Returns:
        One row per chunk, with the columns of `to_dataframe`; `metadata` is JSON.

    Raises:
        MissingExtraError: pyarrow is not installed.
        InvalidParameterError: A value in the metadata can't be represented in JSON.

    Example:
        >>> to_arrow(chunks).num_rows
        1
    """
    with needs("frames"):
        import pyarrow
    rows = [
        {**_row(chunk), "metadata": json.dumps(to_json(chunk.metadata, "metadata"), ensure_ascii=False)}
        for chunk in chunks
    ]
    text = pyarrow.string()
    beside = {each.name: text for each in fields(Beside)} | {"headings": pyarrow.list_(text)}
    kinds = {"spans": pyarrow.list_(pyarrow.list_(pyarrow.int64(), 2)), "beside": pyarrow.struct(beside)}
    kinds |= dict.fromkeys(_INTEGERS, pyarrow.int64()) | dict.fromkeys(_FLAGS, pyarrow.bool_())
    columns = [(column, kinds.get(name, text)) for column, name in _COLUMNS.items()]
    return pyarrow.Table.from_pylist(rows, schema=pyarrow.schema([*columns, ("metadata", text)]))


def _row(chunk: Chunk) -> dict[str, Any]:
    require(
        isinstance(chunk, Chunk), "chunks", "must be chunks", type(chunk).__name__, "Of passages give their chunks."
    )
    return {key: to_json(value, key) for key, value in select(chunk, _COLUMNS).items()}
