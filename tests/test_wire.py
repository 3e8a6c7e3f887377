"""One JSON form of chunks and passages, of which every door shows the same keys with the same values."""

from __future__ import annotations

import json

from kinsplit import Document, Index
from kinsplit.chunk import FIELDS
from kinsplit.mcp import to_found
from kinsplit.retrieval import Passages
from kinsplit.server.models import to_found_passage
from kinsplit.wire import chunk_row, passage_row

TEXT = "Owls hunt at night. They hear mice under snow.\n\nLarks sing at dawn. They rise from the grass.\n"
HIDDEN = {"absolute_path": "/home/owl/birds.md", "_mine": "4"}


def _passage():  # type: ignore[no-untyped-def]
    with Index("memory:", embedder="hash") as index:
        index.add([Document("birds.md", TEXT, metadata={"year": 2024, **HIDDEN})])
        return index.search("When do larks sing?", top_k=1)[0]


def test_a_chunk_has_the_keys_of_its_fields_and_no_hidden_metadata() -> None:
    chunk = _passage().best.chunk
    row = chunk_row(chunk)
    shown = {field.shown for field in FIELDS if field.shown is not None}
    assert row.keys() == shown | {"pages", "metadata"}
    assert HIDDEN.keys() <= chunk.metadata.keys()
    assert row["metadata"]["year"] == 2024
    assert not HIDDEN.keys() & row["metadata"].keys()
    json.dumps(row)


def test_every_door_shows_the_row_of_a_passage() -> None:
    passage = _passage()
    row = passage_row(passage, 1)
    assert row["source_id"] == "birds.md"
    assert not HIDDEN.keys() & row["metadata"].keys()
    service = to_found_passage(1, passage, None, None).model_dump(mode="json")
    for hit in service["hits"]:
        assert hit.pop("ranges")
    assert service.pop("highlight") is None
    assert service.pop("view") is None
    assert service == json.loads(json.dumps(row))
    (tool,) = to_found("default", Passages([passage])).model_dump(mode="json")["passages"]
    assert tool.pop("citation") == passage.citation
    assert tool.items() <= {**row, "pages": None}.items()
