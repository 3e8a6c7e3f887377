"""How much one request may ask for."""

from __future__ import annotations

#: Characters of a question; longer than any that a model reads whole.
QUERY = 2_000
#: Characters of one filter, and filters in one request.
CONDITION, CONDITIONS = 2_000, 20
#: Passages.
TOP_K = 50
#: Siblings on each side of a hit.
WINDOW = 10
#: Tokens of all passages together.
BUDGET = 100_000
#: Characters of a text that is cut to be looked at, and the chunks and characters that may come of it.
TEXT, CHUNKS, CHARACTERS = 200_000, 5_000, 1_000_000
#: Bytes of memory that one such cut may take.
MEMORY = 2 * 2**30
#: Times that a language model is asked for that.
CALLS = 40
#: Documents, or chunks of one, in one answer.
PAGE = 500
#: Keys of metadata that are listed as filters, and values of each.
FACETS, VALUES = 50, 100
#: Characters of an id or a name.
NAME = 1_000
