import pytest

pytest.importorskip("psycopg")
pytest.importorskip("pgvector")

from kinsplit.stores.testing import ChunkStoreContract


class TestPostgres(ChunkStoreContract):
    @pytest.fixture
    def address(self, postgres: str) -> str:
        return postgres
