"""Settings of all tests."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.hostile_server import Hostile, serving

# Derandomised, so that a run depends on the code alone; a counterexample becomes a test of its own.
settings.register_profile(
    "kinsplit",
    max_examples=int(os.environ.get("KINSPLIT_TEST_EXAMPLES", "25")),
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("kinsplit")
# Must run before any test imports the contract tests.
pytest.register_assert_rewrite("kinsplit_testing")


def pytest_configure() -> None:
    """Keep temporary files in memory where there is room, since stores wait for the disk at every write."""
    memory = Path("/dev/shm")
    if "TMPDIR" not in os.environ and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 8e9:
        os.environ["TMPDIR"] = tempfile.tempdir = str(memory)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Take a worker more than there are processors, since tests wait for other processes a third of their time."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    """Keep what the modules imported from being searched for garbage again and again."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def no_cache_of_the_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Put converted and distilled models into a folder of this run, which its workers share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "kinsplit-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KINSPLIT_CACHE", str(folder))
        yield


@pytest.fixture
def fast_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace all models that are given by name with fast substitutes, for examples that show an interface."""
    from kinsplit import embedding, language_models
    from kinsplit.embedding import registry as embedders
    from kinsplit.language_models import registry as models

    monkeypatch.setattr(embedders, "_shared", lambda spec: embedding.create("hash"))
    monkeypatch.setattr(models, "_shared", lambda spec, timeout: language_models.create("hash"))


@pytest.fixture
def hostile(socket_enabled: None) -> Iterator[Hostile]:
    """A server that sends whatever the test wants."""
    with serving() as running:
        yield running
