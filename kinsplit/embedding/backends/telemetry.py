"""Suppression of telemetry while a model is converted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

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
