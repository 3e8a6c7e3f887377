"""Cache of converted and distilled models, which are made at first use and again if they are damaged.

Networks are converted to OpenVINO's graphs of operations.
"""

from __future__ import annotations

import io
import logging
import re
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.backends.encoder import SENTENCE, Array, Network
from kinsplit.embedding.backends.model_files import ModelFacts, damage, read_facts, sign
from kinsplit.embedding.backends.numpy import NumpyBackend
from kinsplit.embedding.backends.openvino import INPUTS, MODEL, OpenVinoBackend, without_telemetry
from kinsplit.embedding.windows import read_windows
from kinsplit.errors import CacheWarning, EmbeddingError, MissingExtraError, require
from kinsplit.support.environment import cache_folder

if TYPE_CHECKING:
    from openvino import Output

#: Part of a converted model's name in the cache: raise it when the conversion changes.
CONVERT_VERSION = 3
#: Texts that are embedded to verify a conversion: of different lengths, so that padding matters.
PROBE = ("A class is a blueprint for objects.", "", "naïve café 東京 🤣", "The quick brown fox jumps. " * 12)
#: Maximum difference between the values of a converted model's vectors and the expected ones, both in float32.
_TOLERANCE = 1e-3


def convert(network: Network, facts: ModelFacts, folder: Path, expected: NDArray[np.float32] | None = None) -> None:
    """Convert a network, and verify that it gives the expected vectors of `PROBE`; None for those that NumPy computes.

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
    windows = [parts[0] for parts in read_windows(PROBE, backend.facts.tokenizer, backend.facts.card.window)]
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
QUANTISE_VERSION = 2
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
    windows = [parts[0].encoding.ids for parts in read_windows(paragraphs, facts.tokenizer, facts.card.window)]
    inputs = [np.array([ids], dtype=np.int64) for ids in windows]
    try:
        with without_telemetry(), warnings.catch_warnings(action="ignore"):
            import nncf
            import openvino

            with _silent():
                model = openvino.Core().read_model(source / MODEL)
                data = nncf.Dataset(inputs, lambda ids: {"input_ids": ids, "attention_mask": np.ones_like(ids)})
                kind = nncf.ModelType.TRANSFORMER
                quantised = nncf.quantize(model, data, subset_size=len(inputs), model_type=kind)
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


Vectors = NDArray[np.float32]
_NAME = re.compile(r"\w[\w.-]*")


def make_once(name: str, make: Callable[[Path], None]) -> Path:
    """Return a model's folder in the cache folder, and fill it by `make` first if it is missing.

    If several processes need it at once, one makes the folder and the others wait. The folder gets its name only when
    it is complete, so a process that is killed leaves no partial model; and it is signed, so that later damage is
    detected (see `kinsplit.embedding.backends.model_files`). The name should contain everything that the content
    depends on: the source's fingerprint, the kind, and the version of the conversion.

    Raises:
        InvalidParameterError: The name is more than letters and digits, with "-", "_" and "." inside.
        EmbeddingError: The cache folder can't be written.
    """
    rule = "must be letters and digits, with '-', '_' and '.' inside"
    require(_NAME.fullmatch(name), "name", rule, name, "Choose another name.")
    folder = cache_folder() / "models" / name
    if not folder.is_dir():
        _make(folder, make)
    return folder


def _make(folder: Path, make: Callable[[Path], None]) -> None:
    from filelock import FileLock

    draft, lock = (folder.with_name(f".{folder.name}.{kind}") for kind in ("draft", "lock"))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        turn = FileLock(lock)
        turn.acquire()
    except OSError as error:
        remedy = "Set the environment variable KINSPLIT_CACHE to a folder that can be written."
        raise EmbeddingError(f"{folder.parent}: a model can't be kept there ({error}). {remedy}") from error
    try:
        if folder.is_dir():  # Another process made it meanwhile.
            return
        shutil.rmtree(draft, ignore_errors=True)  # Left by a process that was killed.
        draft.mkdir()
        make(draft)
        sign(draft)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        turn.release()


T = TypeVar("T")


def read_cached(name: str, make: Callable[[Path], None], read: Callable[[Path], T]) -> T:
    """Read a model from the cache folder, and make it first if it is missing or damaged.

    If the cache folder can't be written, the model is made in a temporary folder, which is deleted after reading.

    Raises:
        EmbeddingError: The model can't be made, or can't be read although it was just made.
    """
    try:
        folder = make_once(name, make)
    except EmbeddingError as error:
        # Only a cache folder that can't be written has this cause; errors of `make` are passed on.
        if not isinstance(error.__cause__, OSError):
            raise
        warnings.warn(f"{error} Until then it is converted again in every process.", CacheWarning, stacklevel=2)
        with tempfile.TemporaryDirectory(prefix="kinsplit-", ignore_cleanup_errors=True) as temporary:
            make(Path(temporary))
            return _read(read, Path(temporary))
    problem = damage(folder)
    if problem is None:
        try:
            return read(folder)
        except Exception as error:  # OpenVINO raises exceptions of any kind.
            problem = f"it can't be read: {' '.join(str(error).split())[:200]}"
    _remove(folder)
    rule = f"{folder}: this converted model is damaged or of an earlier version"
    warnings.warn(f"{rule} ({problem}). It is made again.", CacheWarning, stacklevel=2)
    return _read(read, make_once(name, make))


def _read(read: Callable[[Path], T], folder: Path) -> T:
    try:
        return read(folder)
    except Exception as error:
        rule = f"{folder}: this model can't be read, although it was just made ({error})"
        raise EmbeddingError(f"{rule}. Use the backend 'torch', or report this.") from error


def _remove(folder: Path) -> None:
    """Remove a damaged model in one step, so that no other process sees part of it."""
    away = cache_folder() / "models" / f".{folder.name}.{uuid.uuid4().hex}"
    try:
        folder.rename(away)
    except FileNotFoundError:
        return  # Another process removed it.
    except OSError as error:
        raise EmbeddingError(f"{folder}: this converted model is damaged ({error}). Delete the folder.") from error
    shutil.rmtree(away, ignore_errors=True)


def open_converted(
    key: str,
    read: Callable[[], tuple[Network, ModelFacts]],
    backend: str,
    expected: Vectors | None = None,
    output: str = SENTENCE,
) -> OpenVinoBackend:
    """Open a model that is converted for OpenVINO; `read` is called only to convert it.

    Args:
        key: Key of the model, and of everything that affects its vectors.
        read: Function that reads the model.
        backend: "openvino" (or "auto"), "openvino-float32" or "int8".
        expected: Known vectors of the texts `PROBE`, if there are any.
        output: See `OpenVinoBackend`.

    Raises:
        MissingExtraError: "int8" without NNCF.
        EmbeddingError: The model can't be loaded, converted or quantised.
    """
    runtime = f"openvino{version('openvino')}"
    precision = "f32" if backend == "openvino-float32" else None

    def make(folder: Path) -> None:
        convert(*read(), folder, expected)

    def make_int8(folder: Path) -> None:
        # Reading ensures that the converted model exists and is complete.
        read_cached(plain, make, lambda found: quantise(found, folder))

    plain = f"{key}-{runtime}-v{CONVERT_VERSION}"
    if backend != "int8":
        return read_cached(plain, make, lambda folder: OpenVinoBackend(folder, precision, output=output))
    name = f"{key}-int8-{quantiser()}-{runtime}-v{QUANTISE_VERSION}"
    return read_cached(name, make_int8, lambda folder: OpenVinoBackend(folder, label="openvino int8"))
