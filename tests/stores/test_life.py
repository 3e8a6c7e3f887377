"""Tests that a collection whose name, copy or backup was being changed is the old or the new one after a kill."""

import os
import random
import time

import pytest
from fault_worker import VERSIONS, fill
from kinsplit_testing import SCHEMA
from life_worker import CONTENTS, WRITTEN, change_forever, change_once
from test_faults import edge, kill, state

from kinsplit.backup import back_up, restore
from kinsplit.stores import open_catalog, open_store
from kinsplit.stores.maintenance import copy, verify

pytest.importorskip("pyarrow")

__all__ = ["edge"]

KILLS = int(os.environ.get("KINSPLIT_TEST_KILLS", "4"))


@pytest.fixture(params=["edge", "postgres"])
def address(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def contents(address, tmp_path):
    """State of each of the two contents, which the collections "notes" and "next" have, and two backups."""
    found = []
    for name, version, path in zip(("notes", "next"), VERSIONS, CONTENTS, strict=True):
        with open_store(address, name, SCHEMA) as store:
            fill(store, version)
            found.append(state(store))
            back_up(store, name, tmp_path / path)
    back_up_again = tmp_path / WRITTEN
    back_up_again.write_bytes((tmp_path / CONTENTS[0]).read_bytes())
    return found


def check(address, folder, contents):
    with open_catalog(address) as catalog:
        infos = {info.name: info for info in catalog.collections()}
        # Restored ones wait for their name under another.
        drafts = {name for name in infos if ".restoring-" in name}
        assert infos.keys() - drafts - {"copied"} in ({"notes", "next"}, {"notes", "spare"})
        for name in infos.keys() - drafts - {"copied"}:
            assert infos[name].documents == len(VERSIONS[0])
            with open_store(address, name, SCHEMA) as store:
                assert state(store) in contents, name
                assert verify(store) == []
        for name in drafts:
            catalog.drop(name)
        if "spare" in infos:
            catalog.rename("spare", "next")
    with open_store(address, "notes") as source, open_store(address, "copied", SCHEMA) as target:
        copy(source, target)
        assert state(target) == state(source)
    restored = f"memory:{folder}"
    restore(folder / WRITTEN, restored, "notes", replace=True)
    with open_store(restored, "notes") as store:
        assert state(store) in contents


# A kill may interrupt the first load of a copy, which the next opening completes and says.
@pytest.mark.filterwarnings("ignore:.*its first load was interrupted")
def test_a_kill_leaves_the_old_or_the_new_state(address, processes, contents, tmp_path):
    rng = random.Random(17)
    begun = time.perf_counter()
    for _ in change_once(address, tmp_path, 0):
        pass
    seconds = time.perf_counter() - begun
    for _ in range(KILLS):
        ours, theirs = processes.Pipe()
        process = processes.Process(target=change_forever, args=(address, str(tmp_path), theirs), daemon=True)
        process.start()
        theirs.close()
        assert ours.poll(60)
        assert ours.recv() == "ready"
        time.sleep(rng.uniform(0, seconds))
        kill(process, ours)
        check(address, tmp_path, contents)
    for number in range(2):
        for _ in change_once(address, tmp_path, number):
            pass
    check(address, tmp_path, contents)
