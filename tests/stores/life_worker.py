"""Worker process that changes collections until it is killed."""

from itertools import cycle
from pathlib import Path

from kinsplit_testing import SCHEMA

from kinsplit.backup import back_up, restore
from kinsplit.stores import open_catalog, open_store
from kinsplit.stores.maintenance import copy

#: Name of the file that is written again and again.
WRITTEN = "written.parquet"
#: Backups of the two contents.
CONTENTS = ("first.parquet", "second.parquet")


def change_once(address, folder, number):
    """Copy, exchange, rename, back up, restore and drop; yield after each step."""
    folder = Path(folder)
    with open_store(address, "notes") as source, open_store(address, "copied", SCHEMA) as target:
        copy(source, target)
    yield
    with open_catalog(address) as catalog:
        catalog.switch("notes", "next")
        yield
        catalog.rename("next", "spare")
        catalog.rename("spare", "next")
        yield
        with open_store(address, "notes") as store:
            back_up(store, "notes", folder / WRITTEN)
        yield
        restore(folder / CONTENTS[number % 2], address, "notes", replace=True)
        yield
        catalog.drop("copied")


def change_forever(address, folder, pipe):
    """Change collections; send a message before the first step and after each."""
    pipe.send("ready")
    for number in cycle((0, 1)):
        for _ in change_once(address, folder, number):
            pipe.send("step")
        pipe.send("step")
