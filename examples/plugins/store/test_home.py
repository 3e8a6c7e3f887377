"""The store keeps the contract of all stores."""

from pathlib import Path

import pytest
from kinsplit_testing import ChunkStoreContract


class TestHome(ChunkStoreContract):
    exclusive = True
    holds_names = True

    @pytest.fixture
    def address(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        monkeypatch.setenv("KINSPLIT_HOME", str(tmp_path))
        return "home:notes"
