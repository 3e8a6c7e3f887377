"""The backend for converted models on the CPU with OpenVINO, without PyTorch."""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.backends.base import Batch, padded
from kinsplit.embedding.backends.encoder import SENTENCE, TOKENS
from kinsplit.embedding.backends.model_files import read_facts

if TYPE_CHECKING:
    from openvino import CompiledModel, InferRequest

_lock = threading.RLock()


@contextmanager
def without_telemetry() -> Iterator[None]:
    """Keep OpenVINO and NNCF from reporting their use.

    Unless a file in the home folder forbids it, both send events to Google Analytics when they convert a model, and
    write an identifier into the home folder. A program that reads users' documents must not do that without consent.
    """
    from openvino_telemetry.utils.opt_in_checker import ConsentCheckResult, OptInChecker
    from openvino_telemetry.utils.sender import TelemetrySender

    with _lock, ExitStack() as patches:
        patches.enter_context(patch.object(OptInChecker, "check", return_value=ConsentCheckResult.DECLINED))
        patches.enter_context(patch.object(TelemetrySender, "send"))
        yield


#: File of the converted model, and its inputs, of which the last one is optional.
MODEL, INPUTS = "model.xml", ("input_ids", "attention_mask", "token_type_ids")
# OpenVINO compiles kernels per shape, so lengths are rounded up to a multiple of this.
_STEP = 8
_PRECISIONS = {"bf16": "bfloat16", "f32": "float32"}


class OpenVinoBackend:
    """A converted model of a folder that `model_cache` made, which is thread-safe.

    Args:
        precision: "bf16" or "f32"; None takes bfloat16 if the CPU supports it.
        label: See `Backend`; None describes the precision.
        output: Name of the output that `vectors` yields.

    Raises:
        Exception: A file is missing or damaged.
    """

    batch_tokens = 2048

    def __init__(
        self, folder: Path, precision: str | None = None, label: str | None = None, output: str = SENTENCE
    ) -> None:
        self.facts = read_facts(folder)
        self._file = folder / MODEL
        self._precision = precision or best_precision()
        self.label = label or f"openvino {_PRECISIONS[self._precision]}"
        self._main = self._compile(output)

    def vectors(self, batches: Sequence[Batch], prompt: str, is_query: bool) -> Iterator[NDArray[np.float32]]:
        """See `Backend.vectors`; the encodings contain the prompt, and queries are encoded like other texts."""
        del prompt, is_query
        for _, vectors in self._run(self._main, batches):
            yield vectors

    def token_vectors(self, batches: Sequence[Batch]) -> Iterator[list[NDArray[np.float32]]]:
        """See `Backend.token_vectors`."""
        for batch, vectors in self._run(self._tokens, batches):
            yield [own[: len(window.encoding.ids)] for window, own in zip(batch, vectors, strict=True)]

    @functools.cached_property
    def _tokens(self) -> CompiledModel:
        return self._compile(TOKENS)

    def _run(self, model: CompiledModel, batches: Sequence[Batch]) -> Iterator[tuple[Batch, NDArray[np.float32]]]:
        """Keep every stream busy, and yield the results in order."""
        # One more than the number of streams, so that none waits for Python.
        wanted = min(len(batches), model.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS") + 1)
        idle = [model.create_infer_request() for _ in range(wanted)]
        running: deque[tuple[Batch, InferRequest]] = deque()
        for batch in batches:
            if not idle:
                yield self._result(running, idle)
            request = idle.pop()
            request.start_async(self._input(model, batch))
            running.append((batch, request))
        while running:
            yield self._result(running, idle)

    @staticmethod
    def _result(
        running: deque[tuple[Batch, InferRequest]], idle: list[InferRequest]
    ) -> tuple[Batch, NDArray[np.float32]]:
        batch, request = running.popleft()
        request.wait()
        found = np.array(request.get_output_tensor(0).data, dtype=np.float32)  # A copy, since the request is reused.
        idle.append(request)
        return batch, found

    def _input(self, model: CompiledModel, batch: Batch) -> dict[str, NDArray[np.int64]]:
        longest = max(len(window.encoding.ids) for window in batch)
        arrays = padded(batch, self.facts.pad, min(-(-longest // _STEP) * _STEP, self.facts.card.window))
        return dict(zip(INPUTS[: len(model.inputs)], arrays, strict=False))

    def _compile(self, output: str) -> CompiledModel:
        model = _core().read_model(self._file)
        for result in model.get_results():
            if output not in result.input_value(0).get_names():
                model.remove_result(result)
        # Streams run batches in parallel; pinned threads of two processes would compete for one core.
        hints = {"PERFORMANCE_HINT": "THROUGHPUT", "ENABLE_CPU_PINNING": False}
        return _core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": self._precision, **hints})


def has_openvino() -> bool:
    """Return whether OpenVINO is installed."""
    return find_spec("openvino") is not None


def best_precision() -> str:
    """Return "bf16" if the CPU supports bfloat16 (AVX512-BF16, AMX), else "f32"."""
    return "bf16" if "BF16" in _core().get_property("CPU", "OPTIMIZATION_CAPABILITIES") else "f32"


@functools.cache
def _core() -> Any:
    with without_telemetry():  # The import alone writes an identifier into the home folder.
        import openvino

        return openvino.Core()
