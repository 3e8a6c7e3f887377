"""A converted model, opened: from the cache folder, or converted first."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from kinsplit.embedding import conversion, quantisation
from kinsplit.embedding.kept_model import read_kept
from kinsplit.embedding.openvino_backend import OpenVinoBackend


def open_converted(key: str, source: Callable[[], str], backend: str) -> OpenVinoBackend:
    """Open a model in OpenVINO's form.

    Args:
        key: Names the model with all that decides its vectors.
        source: Returns the model's folder; only called to convert it.
        backend: "openvino" (or "auto"), "openvino-float32" or "int8".

    Raises:
        MissingExtraError: "int8" without NNCF.
        EmbeddingError: The model can't be loaded, converted or quantised.
    """
    runtime = f"openvino{version('openvino')}"
    precision = "f32" if backend == "openvino-float32" else None

    def convert(folder: Path) -> None:
        conversion.convert(source(), folder)

    def quantise(folder: Path) -> None:
        # Reading it first makes sure that it is there and whole.
        read_kept(plain, convert, lambda found: quantisation.quantise(found, folder))

    plain = f"{key}-{runtime}-v{conversion.VERSION}"
    if backend != "int8":
        return read_kept(plain, convert, lambda folder: OpenVinoBackend(folder, precision))
    name = f"{key}-int8-{quantisation.quantiser()}-{runtime}-v{quantisation.VERSION}"
    return read_kept(name, quantise, lambda folder: OpenVinoBackend(folder, label="openvino int8"))
