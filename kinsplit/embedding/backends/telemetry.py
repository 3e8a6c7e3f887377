"""No reports to others while a model is converted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

_lock = threading.RLock()


@contextmanager
def without_telemetry() -> Iterator[None]:
    """Keep OpenVINO and NNCF from reporting that they are used.

    Unless a file in the home folder forbids it, both send events to Google Analytics when they convert a model, and
    write an identifier into the home folder. Nothing that reads a user's documents may do that unasked.
    """
    from openvino_telemetry.utils.opt_in_checker import ConsentCheckResult, OptInChecker
    from openvino_telemetry.utils.sender import TelemetrySender

    with _lock, ExitStack() as patches:
        patches.enter_context(patch.object(OptInChecker, "check", return_value=ConsentCheckResult.DECLINED))
        patches.enter_context(patch.object(TelemetrySender, "send"))
        yield
