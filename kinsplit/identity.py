"""Ids and hashes of chunks and documents."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

#: Namespace of all chunk ids, so that ids are the same on every machine.
KINSPLIT = uuid.uuid5(uuid.NAMESPACE_URL, "https://pypi.org/project/kinsplit")
_NAMESPACE = KINSPLIT.bytes
# The digit with the variant of a UUID, by that of the hash.
_VARIANTS = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))


def chunk_id(source_id: str, fingerprint: str, level: int, index: int) -> str:
    """Return the id of a chunk, a version-5 UUID as a string, which Qdrant accepts as a point id.

    The ids of a chunk's neighbours can be computed the same way. The level is 0 for leaves, 1 for their parents, and so
    on, or `DOCUMENT`; the index is the position among the chunks of that level.
    """
    name = f"{source_id}|{fingerprint}|{level}|{index}".encode("utf-8", "surrogatepass")
    digest = hashlib.sha1(_NAMESPACE + name, usedforsecurity=False).hexdigest()
    # The same bits as uuid.uuid5 returns, without a UUID object, since this runs at least once per chunk.
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-{_VARIANTS[digest[16]]}{digest[17:20]}-{digest[20:32]}"


def text_id(text: str, source: object = "text") -> str:
    """Return an id for a text that has none, the same on every machine: its source, which may be shared, and a hash."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{source}#{digest}"


#: Metadata keys of the names of a course, and of all that holds a document.
COURSE_NAMES = ("course", "course_title")
COURSE = (*COURSE_NAMES, "subject")

# Stems that name nothing: hashes, UUIDs and numbers.
_NAMELESS = re.compile(r"(?:[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+|text|)", re.IGNORECASE)
_EXTENSION = re.compile(r"(?<=.)(?:\.\w{1,8}){1,2}$")


@lru_cache(10_000)
def name_of(source_id: str) -> str:
    """Return the words of a document's file, without folder and extension.

    Ids that are hashes, UUIDs or numbers have no words.
    """
    last = re.split(r"[/\\]", source_id.partition("?")[0].rstrip("/\\"))[-1]
    stems = (_EXTENSION.sub("", part).replace("_", " ") for part in last.split("#"))
    return " ".join(stem for stem in stems if not _NAMELESS.fullmatch(stem))


def title_of(metadata: Mapping[str, Any]) -> str:
    """Return the title of a document, or an empty text."""
    title = metadata.get("title")
    return title if isinstance(title, str) else ""


def course_of(metadata: Mapping[str, Any]) -> str:
    """Return the names of what holds a document, as far as its metadata has them: course, its title, and subject."""
    return " ".join(name for key in COURSE if isinstance(name := metadata.get(key), str))


def fingerprint(strategy: str, parameters: Mapping[str, Any]) -> str:
    """Return 16 hexadecimal digits that change with a strategy's name or parameters."""
    data = json.dumps([strategy, parameters], sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(data.encode(), digest_size=8).hexdigest()


#: What stands for an address, or for the path of a folder, in a spec that is stored.
UNSTORED = "..."
_ADDRESS = re.compile(r"(?<=[?&]base_url=)[^&]+|(?<=[?&]host=)[^&]+")
# The folder above that of a model of sentence-transformers, which may hold code that runs when the model is loaded.
_FOLDER = re.compile(r"(?<=^st:)(?:[.~/\\]|[A-Za-z]:[/\\]).*[/\\](?=.)", re.DOTALL)


def without_location(spec: str) -> str:
    """Return the spec of a model without address and path: what a collection may store of it.

    The same model on another server, or in another folder, is the same model.
    """
    return _FOLDER.sub(f"{UNSTORED}/", _ADDRESS.sub(UNSTORED, spec))


def content_hash(text: str, context: str = "") -> str:
    """Return the hash of a chunk's embedded text: 128 bits as 32 hexadecimal digits."""
    data = f"{context}\x1f{text}" if context else text
    return hashlib.blake2b(data.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


#: Metadata key of other text that a chunk's vectors depend on, besides its text and context.
DOCUMENT_CONTEXT = "_surroundings"


def embedding_hash(text: str, context: str, metadata: Mapping[str, Any]) -> str:
    """Return the content hash of a chunk, which also covers `DOCUMENT_CONTEXT` in its metadata."""
    around = metadata.get(DOCUMENT_CONTEXT)
    return content_hash(text, f"{context}\x1f{around}" if around else context)


def document_hash(hashes: Iterable[str], title: str = "") -> str:
    """Return the content hash of the chunk that represents a whole document: 128 bits as 32 hexadecimal digits.

    Args:
        hashes: Content hashes of its leaves.
        title: Its title, whose words are among its terms.
    """
    return content_hash("\n".join(hashes), title)
