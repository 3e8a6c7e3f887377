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
        ids: Ids of the chunks.
        source_ids: Ids of their documents.
        vectors: float32[chunks, dimension].
    """

    ids: Sequence[str]
    source_ids: Sequence[str]
    vectors: npt.NDArray[np.float32]


def write_embeddings(path: Path, embeddings: Embeddings) -> None:
    """Write embeddings.

    Args:
        path: Path of the file, which should end with ".npz".
        embeddings: Embeddings to write.
    """
    values = (np.array(embeddings.ids, np.str_), np.array(embeddings.source_ids, np.str_), embeddings.vectors)
    with path.open("wb") as file:  # np.savez would add ".npz" to another name.
        np.savez(file, allow_pickle=False, **dict(zip(_KEYS, values, strict=True)))


def read_embeddings(path: Path) -> Embeddings:
    """Read embeddings; pickled arrays are refused, so that nothing in the file is executed.

    Args:
        path: Path of the file.

    Raises:
        LoadError: The file is not an `.npz` file, an array is missing, pickled or of another type, or lengths differ.
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
    """The export of one chunking.

    Attributes:
        label: Label of the chunking.
        chunks: Number of its chunks.
        qrels: Relevant chunks of each question that has any.
        files: Paths of the files.
    """

    label: str
    chunks: int
    qrels: Qrels
    files: tuple[Path, ...]


def stems(labels: Sequence[str]) -> dict[str, str]:
    """Return a file name stem for each label, of letters, digits and "-._".

    Raises:
        InvalidParameterError: Two labels have the same stem.
    """
    found: dict[str, str] = {}
    for label in labels:
        stem = re.sub(r"[^\w.-]+", "_", label).strip("_.") or "chunks"
        if stem.casefold() in map(str.casefold, found.values()):
            rule = "must differ from the others, also as a file name"
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
        folder: Folder of the files, which is created if it doesn't exist.
        chunkings: Leaves by label.
        questions: Questions with labels.
        rule: Rule that makes a chunk relevant.
        embedder: Embedder of the chunks with their contexts; None for no embeddings.
        progress: Called with the number of embedded chunks.

    Raises:
        InvalidParameterError: Two labels have the same file name, or an id can't be written.
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
