"""Upper limits of a single request; those of the options of a search are in `kinsplit.options.HTTP`."""

from __future__ import annotations

#: Characters of a question; longer than any embedding model reads whole.
QUERY = 2_000
#: Characters of one filter condition, and conditions per request.
CONDITION, CONDITIONS = 2_000, 20
#: Characters of a text to preview, and the chunks and characters of its preview.
TEXT, CHUNKS, CHARACTERS = 200_000, 5_000, 1_000_000
#: Bytes of memory for one preview.
MEMORY = 2 * 2**30
#: Language model calls for one preview.
CALLS = 40
#: Characters of the texts rendered for one response, and seconds that passages wait for it.
RENDERED, RENDER_PATIENCE = 400_000, 2
#: Pixels across a picture of a page.
WIDTH = 2_400
#: Documents, or chunks of a document, per response.
PAGE = 500
#: Metadata keys listed as filters, and values of each.
FACETS, VALUES = 50, 100
#: Files per upload, uploads that are received at a time, and seconds for one to be sent and indexed.
UPLOADS, RECEIVED, UPLOAD_SECONDS = 100, 4, 600
#: Characters of an id or a name.
NAME = 1_000
