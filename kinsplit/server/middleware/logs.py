"""Logs of one line per event, as text or as JSON."""

from __future__ import annotations

import json
import logging
import sys
import traceback
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO, cast

#: Id of the current request.
REQUEST_ID: ContextVar[str | None] = ContextVar("request id", default=None)

#: Innermost stack frames that are logged.
_FRAMES = 8


class LineFormatter(logging.Formatter):
    """Formats a record with its `facts` as one line."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        facts: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        request_id = REQUEST_ID.get()
        if request_id is not None:
            facts["request_id"] = request_id
        if record.exc_info and record.exc_info[0] is not None:
            facts["error"] = record.exc_info[0].__name__
        if self._as_json:
            return json.dumps(facts)  # Escapes line breaks and control characters.
        shown = (str(value) if key in ("time", "level") else json.dumps(value) for key, value in facts.items())
        return " ".join(f"{key}={value}" for key, value in zip(facts, shown, strict=True))


def log_failure(error: Exception, *, log_text: bool) -> None:
    """Log an error with its stack."""
    stack = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]
    facts: dict[str, Any] = {"error": type(error).__name__, "stack": stack[-_FRAMES:]}
    if log_text:
        facts["message"] = str(error)
    logging.getLogger("kinsplit.server").error("failed", extra={"facts": facts})


def configure_logs(*, as_json: bool, log_text: bool, stream: TextIO | None = None) -> None:
    """Send the logs of the service and of uvicorn, and Python's warnings, to one stream."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(LineFormatter(as_json=as_json))
    for name, level in (("kinsplit.server", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    log = logging.getLogger("kinsplit.server")

    def show(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: object) -> None:
        facts = {"warning": category.__name__, "location": f"{filename}:{lineno}"}
        log.warning("warning", extra={"facts": {**facts, "message": str(message)} if log_text else facts})

    warnings.showwarning = cast("Callable[..., None]", show)
