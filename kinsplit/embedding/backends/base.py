"""The protocol of backends, their batches and their devices."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.backends.model_files import ModelFacts
from kinsplit.embedding.windows import Window
from kinsplit.errors import require

Batch = Sequence[Window]
Ints = NDArray[np.int64]


class Backend(Protocol):
    """A loaded model."""

    label: str
    facts: ModelFacts
    batch_tokens: int  # Maximum number of tokens of an efficient batch, including padding.

    def vectors(self, batches: Sequence[Batch], prompt: str, is_query: bool) -> Iterator[NDArray[np.float32]]:
        """Yield the vectors of each batch, in order, each of length 1: float32, shape (len(batch), dimension)."""
        ...

    def token_vectors(self, batches: Sequence[Batch]) -> Iterator[list[NDArray[np.float32]]]:
        """Yield the vectors of all tokens of each window in each batch: float32, shape (tokens, width)."""
        ...


def sorted_batches(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Return the indexes of batches of similar length, so that little padding is needed.

    A longer input than a batch may hold is a batch of its own. The longest come first, so that a shortage of memory
    shows at once.
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    batches, start = [], 0
    while start < len(order):
        stop = start + max(1, batch_tokens // max(1, lengths[order[start]]))
        batches.append(order[start:stop])
        start = stop
    return batches


def padded(batch: Batch, pad: int, length: int = 0) -> tuple[Ints, Ints, Ints]:
    """Return the ids, the mask (1 for tokens, 0 for padding) and the types of a batch's tokens.

    Their shape is (len(batch), longest window or `length`).
    """
    encoded = [window.encoding for window in batch]
    ids = np.full((len(batch), max(length, *(len(own.ids) for own in encoded))), pad, dtype=np.int64)
    mask, types = np.zeros_like(ids), np.zeros_like(ids)
    for row, own in enumerate(encoded):
        ids[row, : len(own.ids)] = own.ids
        mask[row, : len(own.ids)] = 1
        types[row, : len(own.ids)] = own.type_ids
    return ids, mask, types


_DEVICE = re.compile(r"auto|cpu|mps|(cuda|xpu)(:\d+)?")
# Files of an NVIDIA driver (also on Windows and WSL) and of an AMD driver; Apple's processors need none.
_DRIVERS = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd", r"C:\Windows\System32\nvcuda.dll")


def check_device(device: str) -> str:
    """Return a device's name after a check, or raise InvalidParameterError if it is not the name of a device."""
    rule = "must be 'auto', 'cpu', 'cuda', 'cuda:NUMBER', 'mps' or 'xpu'"
    require(_DEVICE.fullmatch(device), "device", rule, device, "Leave it out for the default.")
    return device


def choose_device(device: str) -> str:
    """Resolve "auto" to the fastest device that PyTorch can use, if it is installed; return any other one unchanged."""
    if device != "auto":
        return device
    if not _may_have_accelerator():  # The import of torch takes seconds.
        return "cpu"
    try:
        import torch
    except ImportError:
        return "cpu"

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _may_have_accelerator() -> bool:
    if sys.platform == "darwin":
        return platform.machine() == "arm64"
    return any(Path(driver).exists() for driver in _DRIVERS)
