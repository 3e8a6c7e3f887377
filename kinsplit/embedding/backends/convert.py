"""Conversion of networks to OpenVINO's graphs of operations."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.backends.encoder import Array, Network
from kinsplit.embedding.backends.model_files import ModelFacts, read_facts
from kinsplit.embedding.backends.numpy import NumpyBackend
from kinsplit.embedding.backends.openvino import INPUTS, MODEL, OpenVinoBackend, without_telemetry
from kinsplit.embedding.windows import read_windows
from kinsplit.errors import EmbeddingError, MissingExtraError

if TYPE_CHECKING:
    from openvino import Output

#: Part of a converted model's name in the cache: raise it when the conversion changes.
CONVERT_VERSION = 2
#: Texts that are embedded to verify a conversion: of different lengths, so that padding matters.
PROBE = ("A class is a blueprint for objects.", "", "naïve café 東京 🤣", "The quick brown fox jumps. " * 12)
#: Maximum difference between the values of a converted model's vectors and the expected ones, both in float32.
_TOLERANCE = 1e-3


def convert(network: Network, facts: ModelFacts, folder: Path, expected: NDArray[np.float32] | None = None) -> None:
    """Convert a network, and verify that the result gives the expected vectors.

    Args:
        network: The network.
        facts: Declarations of the model.
        folder: Folder for the result.
        expected: Vectors of the texts `PROBE`; None for those that NumPy computes.

    Raises:
        EmbeddingError: The network can't be converted, or the result gives different vectors.
    """
    facts.save(folder)
    try:
        with without_telemetry():
            import openvino

            openvino.save_model(_graph(network), folder / MODEL, compress_to_fp16=False)
    except Exception as error:  # OpenVINO raises exceptions of any kind.
        raise EmbeddingError(f"The model can't be converted: {error}. {_REMEDY}") from error
    backend = OpenVinoBackend(folder, "f32", output=network.main)
    windows = [parts[0] for parts in read_windows(PROBE, backend.facts.tokenizer, backend.facts.window)]
    (found,) = backend.vectors([windows], "", is_query=False)
    if expected is None:
        (expected,) = NumpyBackend(network, facts).vectors([windows], "", is_query=False)
    difference = float(np.abs(found - expected).max())
    if not difference <= _TOLERANCE:  # False for NaN too.
        raise EmbeddingError(f"Converted, the model gives vectors {difference:.2g} off. {_REMEDY}")


_REMEDY = "Use the backend 'torch' for it."


def _graph(network: Network) -> Any:
    import openvino
    from openvino import opset15

    shape = openvino.PartialShape([-1, -1])
    inputs = [opset15.parameter(shape, np.int64, name) for name in INPUTS[: 3 if network.reads_types else 2]]
    for node, name in zip(inputs, INPUTS, strict=False):
        node.output(0).set_names({name})
    ids, mask, types = [*(node.output(0) for node in inputs), None][:3]
    outputs = network.outputs(_Graph(), ids, mask, types)
    for name, output in outputs.items():
        output.set_names({name})
    return openvino.Model([opset15.result(output) for output in outputs.values()], inputs)


class _Graph:
    """Operations that become nodes of a graph; see `Operations`."""

    def __init__(self) -> None:
        from openvino import opset15

        self._opset: Any = opset15

    def look_up(self, table: Array, ids: Output) -> Output:
        return self._node("gather", self._constant(table), ids, self._int(0))

    def positions(self, ids: Output) -> Output:
        length = self._node("gather", self._node("shape_of", ids, "i64"), self._int(1), self._int(0))
        return self._node("range", self._int(0), length, self._int(1), "i64")

    def counted_positions(self, ids: Output, pad: int) -> Output:
        mask = self._node("convert", self._node("not_equal", ids, self._int(pad)), "i64")
        counted = self._node("multiply", self._node("cum_sum", mask, self._int(1)), mask)
        return self.add(counted, self._int(pad))

    def distances(self, ids: Output, offset: int) -> Output:
        places = self.positions(ids)
        keys, queries = (self._node("unsqueeze", places, self._int(axis)) for axis in (0, 1))
        return self.add(self._node("subtract", keys, queries), self._int(offset))

    def add(self, first: Output, second: Output) -> Output:
        return self._node("add", first, second)

    def linear(self, tensor: Output, weight: Array, bias: Array) -> Output:
        return self.add(self._node("matmul", tensor, self._constant(weight), False, True), self._constant(bias))

    def layer_norm(self, tensor: Output, weight: Array, bias: Array, epsilon: float) -> Output:
        normal = self._node("mvn", tensor, self._ints(-1), True, epsilon, "INSIDE_SQRT")
        return self.add(self._node("multiply", normal, self._constant(weight)), self._constant(bias))

    def activate(self, tensor: Output, function: str) -> Output:
        kinds = {"gelu": "ERF", "gelu_tanh": "TANH"}
        return self._node("gelu", tensor, kinds[function]) if function in kinds else self._node(function, tensor)

    def mask_bias(self, mask: Output) -> Output:
        padding = self._node("subtract", self._float(1), self._node("convert", mask, "f32"))
        return self._node("unsqueeze", self._node("multiply", padding, self._float(-1e9)), self._ints(1, 2))

    def heads_first(self, tensor: Output) -> Output:
        return self._node("unsqueeze", self._node("transpose", tensor, self._ints(2, 0, 1)), self._int(0))

    def attention(self, query: Output, key: Output, value: Output, bias: Output, heads: int) -> Output:
        width = query.get_partial_shape()[2].get_length()
        shape, swapped = self._ints(0, 0, heads, width // heads), self._ints(0, 2, 1, 3)
        parts = [self._node("reshape", part, shape, True) for part in (query, key, value)]
        split = [self._node("transpose", part, swapped) for part in parts]
        read = self._node("transpose", self._node("scaled_dot_product_attention", *split, bias), swapped)
        return self._node("reshape", read, self._ints(0, 0, width), True)

    def first(self, tokens: Output) -> Output:
        return self._node("gather", tokens, self._int(0), self._int(1))

    def mean(self, tokens: Output, mask: Output) -> Output:
        weight = self._node("unsqueeze", self._node("convert", mask, "f32"), self._int(2))
        total = self._node("reduce_sum", self._node("multiply", tokens, weight), self._int(1))
        return self._node("divide", total, self._node("reduce_sum", weight, self._int(1)))

    def unit(self, vectors: Output) -> Output:
        return self._node("normalize_l2", vectors, self._int(1), 1e-12, "max")

    def _node(self, name: str, *arguments: Any) -> Output:
        return cast("Output", getattr(self._opset, name)(*arguments).output(0))

    def _constant(self, array: Array) -> Output:
        return self._node("constant", np.require(array, requirements="C"))

    def _ints(self, *values: int) -> Output:
        return self._constant(np.array(values, dtype=np.int64))

    def _int(self, value: int) -> Output:
        return self._constant(np.array(value, dtype=np.int64))

    def _float(self, value: float) -> Output:
        return self._constant(np.array(value, dtype=np.float32))


#: Part of a quantised model's name in the cache: raise it when the quantisation changes.
QUANTISE_VERSION = 1
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
