"""Shared hypothesis generators. A new feature that reads text adds the text that would break it here."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from kinsplit.parsers.similarity import THRESHOLDS

#: Pieces of the texts that broke other splitters: repeats, odd white space, clusters, scripts, markup, code.
FRAGMENTS = (
    "No. ",
    "Yes. No. ",
    "chunk chunk",
    "alpha -- beta -- -- gamma ",
    "Dr. Smith paid $3.50 (e.g. in the U.S.) ... ",
    '"Really?" she said. ',
    "Wow!!! Wait . . . what?! ",
    "word " * 40,
    "A" * 130 + " ",
    "line one.\r\nline two.\r\n\r\nline three.\r\n",
    "\r\n",
    "\n",
    "\n\n",
    "\t",
    " ",
    "   ",
    "\u00a0\u2003",
    "\u2028",
    "今天天气很好。我们去公园吧！你想去吗？",
    "食べ物。「はい。」",
    "สวัสดีครับ ยินดีต้อนรับ",
    "यह एक वाक्य है। यह दूसरा है। क्षि",
    "كيف حالك؟ أنا بخير. ",
    "שלום עולם. ",
    "한국어 문장입니다. ",
    "Hi 👩‍👩‍👧‍👦 cafe\u0301 🤣🤣. ",
    "🇩🇪🇫🇷🇯🇵",
    "e" + "\u0301\u0323" * 12,
    "\u200b\ufeff\u00ad",
    "\x00\x07",
    "\x7f",
    "a\x7fb \ufffe\u2e43 0\U0001239a",
    "\ufffd",
    "\ud800",
    "<|endoftext|> [MASK] </s> ",
    "# Heading\n",
    "## Deeper ##\n\n",
    "Setext\n======\n",
    "```python\ndef f(x):\n\treturn\u00a01\n# no heading\n```\n",
    "~~~\n# c2\n~~~\n",
    "- one\n- two\n  - three\n\n1. four\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n",
    "<h2>HTML <b>title</b></h2><p>text</p>\n",
    "---\ntitle: x\n---\n",
    "== Wiki ==\n",
    "[text](../path/to/file.md) some;;text... and,, more. ",
)


#: Characters that tokenizers drop, with which texts may begin and end.
DROPPED = (
    "\u0301 " * 8,
    "\u200b",
    "\u200b\n" * 3,
    "\u00ad ",
    "\ufeff",
    "\u200f\u200e ",
    "\u0e31 ",
    "\u094d\u0903 ",
    "\u0378",
    "\x00 ",
    "\ue000\n",
)


def texts(max_fragments: int = 25) -> st.SearchStrategy[str]:
    """Return texts made of fragments and of arbitrary characters, including lone surrogates."""
    arbitrary = st.text(st.characters(), max_size=30)
    inside = st.lists(st.one_of(st.sampled_from(FRAGMENTS), arbitrary), max_size=max_fragments).map("".join)
    edge = st.sampled_from(("", *DROPPED))
    return st.tuples(edge, inside, edge).map("".join)


def valid_texts(max_fragments: int = 25) -> st.SearchStrategy[str]:
    """Return texts without lone surrogates, for values that pass through JSON or a database."""
    return texts(max_fragments).map(lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def sizes(least: int = 8, most: int = 120) -> st.SearchStrategy[int]:
    """Return chunk sizes so small that short texts give many chunks."""
    return st.integers(least, most)


@st.composite
def strategy_parameters(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """Return valid, small parameters of a strategy."""
    size = draw(sizes())
    unit = draw(st.sampled_from(["character", "word", "token"]))
    if name in {"character", "word"}:
        return {"chunk_size": size, "chunk_overlap": draw(st.integers(0, size - 1))}
    if name == "token":
        return {"chunk_size": size, "stride": draw(st.integers(1, size))}
    if name == "sentence":
        overlap = draw(st.sampled_from(["length", "sentences"]))
        if overlap == "sentences":
            return {"chunk_size": size, "unit": unit, "overlap_sentences": draw(st.integers(1, 3))}
        return {"chunk_size": size, "unit": unit, "chunk_overlap": draw(st.integers(0, size - 1))}
    if name == "structure":
        return {"chunk_size": size, "unit": unit, "min_chunk_size": draw(st.integers(0, size))}
    if name == "semantic":
        kind = draw(st.sampled_from(sorted(THRESHOLDS)))
        least = draw(st.integers(1, 4))
        return {
            "embedder": "hash",
            "chunk_size": size,
            "unit": unit,
            "threshold_kind": kind,
            "min_sentences": least,
            "max_sentences": draw(st.integers(least, least + 6).filter(lambda most: most > 1)),
            "overlap_sentences": draw(st.integers(0, 1)),
        }
    if name == "hierarchical":
        parents = draw(st.sampled_from([(4 * size,), (9 * size, 3 * size)]))
        children = draw(st.sampled_from(["limit", "sentence"]))
        sizes_ = {"parent_size": parents, "child_size": size, "unit": unit}
        return sizes_ | {"children": children, "headings": draw(st.booleans())}
    if name == "multigranular":
        return {"chunk_sizes": (size, 2 * size, 5 * size), "chunk_overlap": draw(st.integers(0, size - 1))}
    if name == "llm":
        least = draw(st.integers(1, 3))
        return {
            "model": draw(st.sampled_from(["hash", "none"])),
            "chunk_size": size,
            "unit": unit,
            "min_sentences": least,
            "max_sentences": draw(st.none() | st.integers(least, 9)),
            "segment_size": draw(sizes(20, 400)),
        }
    if name == "cluster":
        passage = draw(st.integers(8, size))
        overlap = draw(st.integers(0, (passage - 1) // 2))
        threshold = draw(st.sampled_from([-1.0, 0.2, 0.5, 0.75, 1.0]))
        sizes_ = {"chunk_size": size, "passage_size": passage, "passage_overlap": overlap}
        return {**sizes_, "threshold": threshold, "embedder": "hash"}
    raise NotImplementedError(f"give {name!r} a generator of its parameters")
