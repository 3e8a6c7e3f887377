"""Maintenance of collections: copies, and verification that they are intact."""

from __future__ import annotations

from kinsplit.stores.maintenance.copy import Copied, copy
from kinsplit.stores.maintenance.verify import Inconsistency, verify

__all__ = ["Copied", "Inconsistency", "copy", "verify"]
