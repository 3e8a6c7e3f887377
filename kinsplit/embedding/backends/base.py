"""What runs a model: the protocol, and the input that is put together for it."""

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
from kinsplit.errors import InvalidParameterError

Batch = Sequence[Window]


class Backend(Protocol):
    """A loaded model.

    Attributes:
        label: What it runs on, in words.
        facts: What the model declares.
        batch_tokens: Most tokens of a batch that it runs well with, padding included.
    """

    label: str
    facts: ModelFacts
    batch_tokens: int

    def vectors(self, batches: Sequence[Batch], prompt: str, is_query: bool) -> Iterator[NDArray[np.float32]]:
        """Yield the vectors of each batch, in order, each of length 1: float32, shape (len(batch), dimension).

        Args:
            batches: Windows, whose encodings hold the prompt already.
            prompt: What was put before each.
            is_query: Whether they are questions; some models read these otherwise.
        """
        ...

    def token_vectors(self, batches: Sequence[Batch]) -> Iterator[list[NDArray[np.float32]]]:
        """Yield, for each batch and each of its windows, the vectors of all tokens: float32, shape (tokens, width)."""
        ...


def sorted_batches(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Put inputs of like length together, so that little is padded.

    Args:
        lengths: Of the inputs, in tokens.
        batch_tokens: Most tokens of a batch, padding included; a longer input is a batch of its own.

    Returns:
        The places of the inputs; the longest first, so that memory is short at once or never.
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    batches, start = [], 0
    while start < len(order):
        stop = start + max(1, batch_tokens // max(1, lengths[order[start]]))
        batches.append(order[start:stop])
        start = stop
    return batches


_DEVICE = re.compile(r"auto|cpu|mps|(cuda|xpu)(:\d+)?")
# What an NVIDIA driver (also under Windows and in its Linux) and an AMD driver leave; Apple's processors need none.
_DRIVERS = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd", r"C:\Windows\System32\nvcuda.dll")


def check_device(device: str) -> str:
    """Return a device's name if it is one.

    Raises:
        InvalidParameterError: It is none.
    """
    if not _DEVICE.fullmatch(device):
        rule = "must be 'auto', 'cpu', 'cuda', 'cuda:NUMBER', 'mps' or 'xpu'"
        raise InvalidParameterError("device", rule, device, "Leave it out for the default.")
    return device


def choose_device(device: str) -> str:
    """Return the device that "auto" means here, the fastest that PyTorch can use; any other as it is."""
    if device != "auto":
        return device
    if not _may_have_accelerator():  # Importing torch only to ask takes seconds.
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _may_have_accelerator() -> bool:
    if sys.platform == "darwin":
        return platform.machine() == "arm64"
    return any(Path(driver).exists() for driver in _DRIVERS)
