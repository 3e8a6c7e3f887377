"""Warnings about the settings of a server that starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinsplit.cli.output.terminal import Terminal

if TYPE_CHECKING:
    from kinsplit.server.settings import ServiceSettings


def warn_of_settings(settings: ServiceSettings, terminal: Terminal, *, offers_uploads: bool) -> None:
    """Warn of variables that are not settings, and of an address that is open to everybody.

    Args:
        settings: The settings.
        terminal: The terminal to write to.
        offers_uploads: Whether clients can also change the documents.
    """
    from kinsplit.server.settings import unknown_variables

    for name in unknown_variables():
        terminal.warning(f"{name} is not a setting. See docs/service.md for the list of all settings.")
    if not settings.is_local and not settings.api_keys:
        terminal.warning(
            f"Anyone who can reach {settings.host} can read {'and change ' if offers_uploads else ''}the indexed "
            "documents. Set KINSPLIT_API_KEYS to require a key."
        )
