"""From one store to another without embedding again."""

from __future__ import annotations

from kinsplit.stores.protocol import ChunkStore
from kinsplit.stores.schema import check_schema


def copy(source: ChunkStore, target: ChunkStore) -> int:
    """Bring every chunk of a store, with its vectors, into another one, one document after the other.

    A document that the target holds already becomes equal to the source's; what only the target holds stays. A copy
    that was broken off is finished by the next one.

    Args:
        source: Read only.
        target: Opened with `source.schema`.

    Returns:
        The number of leaves that the target now has from the source, with which their parents and documents come.

    Raises:
        SchemaMismatchError: The two were made with different models or strategies.
    """
    check_schema("The target", target.schema, source.schema)
    copied = 0
    for source_id in source.sources():
        pairs = source.export(source_id)
        target.sync(source_id, [chunk for chunk, _ in pairs], {chunk.content: vectors for chunk, vectors in pairs})
        copied += sum(chunk.level == 0 for chunk, _ in pairs)
    return copied
