"""Quantisation of converted models to 8-bit integers."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from kinsplit.embedding.backends.model_files import read_facts
from kinsplit.embedding.backends.openvino import MODEL
from kinsplit.embedding.backends.telemetry import without_telemetry
from kinsplit.embedding.windows import read_windows
from kinsplit.errors import EmbeddingError, MissingExtraError

#: Part of a quantised model's name in the cache: raise it when the quantisation changes.
VERSION = 1
_CALIBRATION = Path(__file__).with_name("calibration.txt")


def quantiser() -> str:
    """Return name and version of the quantisation library.

    Raises:
        MissingExtraError: The library is not installed.
    """
    try:
        return f"nncf{version('nncf')}"
    except PackageNotFoundError:
        raise MissingExtraError("nncf", "int8") from None


def quantise(source: Path, folder: Path) -> None:
    """Quantise a converted model post-training, with the ranges of its activations on calibration.txt.

    Args:
        source: The converted model's folder.
        folder: Folder for the result.

    Raises:
        MissingExtraError: NNCF is not installed.
        EmbeddingError: NNCF can't quantise this model.
    """
    quantiser()
    facts = read_facts(source)
    facts.save(folder)
    paragraphs = _CALIBRATION.read_text(encoding="utf-8").split("\n\n")
    windows = [parts[0].encoding.ids for parts in read_windows(paragraphs, facts.tokenizer, facts.window)]
    inputs = [np.array([ids], dtype=np.int64) for ids in windows]
    try:
        with without_telemetry(), warnings.catch_warnings(action="ignore"):
            import nncf
            import openvino

            with _silent():
                quantised = nncf.quantize(
                    openvino.Core().read_model(source / MODEL),
                    nncf.Dataset(inputs, lambda ids: {"input_ids": ids, "attention_mask": np.ones_like(ids)}),
                    subset_size=len(inputs),
                    model_type=nncf.ModelType.TRANSFORMER,
                )
            openvino.save_model(quantised, folder / MODEL, compress_to_fp16=False)
    except Exception as error:  # NNCF raises exceptions of any kind.
        raise EmbeddingError(f"{source.name} can't be quantised: {error}. Use the backend 'openvino'.") from error


@contextmanager
def _silent() -> Iterator[None]:
    """Keep NNCF's progress bars and messages off stdout, where commands print results."""
    logger = logging.getLogger("nncf")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        logger.setLevel(level)
