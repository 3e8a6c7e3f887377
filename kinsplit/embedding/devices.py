"""What a model runs on."""

from __future__ import annotations

import platform
import re
import sys
from pathlib import Path

from kinsplit.errors import InvalidParameterError

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
