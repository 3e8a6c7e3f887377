"""Files for other evaluation tools: qrels, a chunk manifest, and embeddings."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kinsplit.chunk import Chunk, embedded_text
from kinsplit.embedding import Embedder, Progress
from kinsplit.errors import InvalidParameterError, LoadError
from kinsplit.evaluation.labels import Question
from kinsplit.evaluation.qrels.alignment import Alignment, Qrels
from kinsplit.evaluation.qrels.manifests import write_manifest
from kinsplit.evaluation.qrels.rule import SpanRule
from kinsplit.evaluation.qrels.trec import write_qrels

_KEYS = ("ids", "docids", "embeddings")


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Vectors of chunks.

    Attributes:
        ids: The chunks' ids.
        source_ids: The ids of their documents.
        vectors: float32[chunks, dimension].
    """

    ids: Sequence[str]
    source_ids: Sequence[str]
    vectors: npt.NDArray[np.float32]


def write_embeddings(path: Path, embeddings: Embeddings) -> None:
    """Write embeddings.

    Args:
        path: The file, whose name should end with ".npz".
        embeddings: What is written.
    """
    values = (np.array(embeddings.ids, np.str_), np.array(embeddings.source_ids, np.str_), embeddings.vectors)
    with path.open("wb") as file:  # np.savez would add ".npz" to another name.
        np.savez(file, allow_pickle=False, **dict(zip(_KEYS, values, strict=True)))


def read_embeddings(path: Path) -> Embeddings:
    """Read embeddings; nothing in the file is run, since pickled arrays are refused.

    Args:
        path: The file.

    Raises:
        LoadError: It is no `.npz`, an array is missing, pickled or of another kind, or their lengths differ.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            ids, source_ids, vectors = (file[key] for key in _KEYS)
    except (ValueError, KeyError, EOFError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise LoadError(path, f"must be an .npz file with {', '.join(_KEYS)}, none of them pickled.") from error
    if ids.dtype.kind != "U" or source_ids.dtype.kind != "U" or vectors.dtype.kind != "f" or vectors.ndim != 2:
        raise LoadError(path, "ids and docids must be text, and embeddings a table of floating-point numbers.")
    if not ids.shape == source_ids.shape == vectors.shape[:1]:
        raise LoadError(path, "ids, docids and embeddings must have one entry for each chunk.")
    return Embeddings(ids.tolist(), source_ids.tolist(), vectors.astype(np.float32, copy=False))


@dataclass(frozen=True)
class Exported:
    """What was written of one chunking.

    Attributes:
        label: Its name.
        chunks: How many it has.
        qrels: The relevant chunks of each question that has any.
        files: What was written.
    """

    label: str
    chunks: int
    qrels: Qrels
    files: tuple[Path, ...]


def stems(labels: Sequence[str]) -> dict[str, str]:
    """Return for each label what its files are called, which has only letters, digits and "-._" in it.

    Raises:
        InvalidParameterError: Two would have the same files.
    """
    found: dict[str, str] = {}
    for label in labels:
        stem = re.sub(r"[^\w.-]+", "_", label).strip("_.") or "chunks"
        if stem.casefold() in map(str.casefold, found.values()):
            rule = "must have names that differ, also as names of files"
            raise InvalidParameterError("label", rule, label, "Give it another one: --strategy LABEL=NAME.")
        found[label] = stem
    return found


def export(
    folder: Path,
    chunkings: Mapping[str, Sequence[Chunk]],
    questions: Sequence[Question],
    rule: SpanRule,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
) -> list[Exported]:
    """Write `qrels_LABEL.txt`, `chunks_LABEL.jsonl` and, with an embedder, `embeddings_LABEL.npz` for each chunking.

    Args:
        folder: Where the files go; made where it is missing.
        chunkings: The chunks, leaves only, by label.
        questions: With labels.
        rule: When a chunk is relevant.
        embedder: Embeds the chunks, as `kinsplit index` does, each with its context.
        progress: Told of what is embedded.

    Raises:
        InvalidParameterError: Two labels or an id make no names of files or lines.
    """
    names = stems(list(chunkings))
    folder.mkdir(parents=True, exist_ok=True)
    exported = []
    for label, chunks in chunkings.items():
        qrels = Alignment(chunks).qrels(questions, rule)
        files = [folder / f"qrels_{names[label]}.txt", folder / f"chunks_{names[label]}.jsonl"]
        write_qrels(files[0], qrels)
        write_manifest(files[1], chunks)
        if embedder is not None:
            files.append(folder / f"embeddings_{names[label]}.npz")
            vectors = embedder.embed([embedded_text(chunk) for chunk in chunks], progress)
            ids, source_ids = [chunk.id for chunk in chunks], [chunk.source_id for chunk in chunks]
            write_embeddings(files[2], Embeddings(ids, source_ids, vectors))
        exported.append(Exported(label, len(chunks), qrels, tuple(files)))
    return exported
