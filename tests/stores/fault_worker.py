"""Worker process that syncs until it is killed."""

import random
from itertools import cycle
from unittest.mock import patch

from kinsplit_testing import SCHEMA, TEXTS, embed, make_chunks, make_document, save

from kinsplit.stores import open_store

COLLECTION = "faults"


def _documents(version):
    """Return a version of the documents; between the two, texts are inserted, dropped, changed, swapped and moved."""
    documents = {}
    for number in range(3):
        rng = random.Random(number)
        texts = [f"{rng.choice(TEXTS)} {number}.{place}" for place in range(24)]
        if version:
            texts.insert(0, f"An introduction to document {number}.")
            del texts[rng.randrange(1, 20)]
            place = rng.randrange(1, 20)
            texts[place] = f"{rng.choice(TEXTS)} Rewritten in document {number}."
            texts.insert(rng.randrange(1, 20), f"One more text of document {number}.")
            del texts[len(texts) - 2 * number :]
        source_id = f"doc{number}"
        leaves = make_chunks(source_id, texts, 0, version=version)
        parents = make_chunks(source_id, [" ".join(texts[i : i + 6]) for i in range(0, len(texts), 6)], 1)
        documents[source_id] = [*leaves, *parents, make_document(leaves, f"Document {number}")]
    return documents


#: Chunks by source, in both versions.
VERSIONS = (_documents(0), _documents(1))
VECTORS = embed([chunk for version in VERSIONS for chunks in version.values() for chunk in chunks])


def sync_forever(address, pipe):
    """Sync both versions in turn; send a message once the collection is open and after each pass."""
    # Several writes per document, so that the process can be killed between them.
    with (
        patch("kinsplit.stores.engines.edge.engine._BATCH", 8),
        patch("kinsplit.stores.engines.edge.engine._SETTLE_SECONDS", 0),
        patch("kinsplit.stores.engines.edge.engine._SETTLE_SHARE", 0),
        patch("kinsplit.stores.engines.postgres.store._BATCH", 8),
    ):
        store = open_store(address, COLLECTION, SCHEMA)
        pipe.send("open")
        for version in cycle(reversed(VERSIONS)):
            for source_id, chunks in version.items():
                store.sync(source_id, chunks, VECTORS)
            pipe.send("pass")


def fill(store, version):
    for source_id, chunks in version.items():
        save(store, source_id, chunks)
