"""Small models with random weights in the formats of transformers, made in the test: there is no network."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from kinsplit.embedding.bundled import model_folder

#: Mark of tests that compare with sentence-transformers.
needs_torch = pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="the extra torch is not installed")

_VOCABULARY, _POSITIONS, _WIDTH, _INNER, _LAYERS = 30522, 64, 32, 64, 2
# Names of the tensors of a layer: query, key, value, output, its norm, the two of the feed-forward part, its norm.
_LAYER = (
    *(f"attention.self.{part}" for part in ("query", "key", "value")),
    *("attention.output.dense", "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm"),
)
_MPNET = (*(f"attention.attn.{part}" for part in "qkvo"), "attention.LayerNorm", *_LAYER[5:])
_DISTILBERT = (
    *(f"attention.{part}_lin" for part in "qkv"),
    *("attention.out_lin", "sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm"),
)


def make_model(folder: Path, family: str = "bert", pooling: str = "mean", prompts: dict[str, str] | None = None) -> str:
    """Write a sentence-transformers model with the bundled vocabulary and a window of 48 tokens; return its folder."""
    made = folder / "model"
    write_transformer(made, family, dict(encoder(family)))
    types = ("Transformer", "Pooling", "Normalize")
    paths = ("", "1_Pooling", "2_Normalize")
    modules = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (kind, path) in enumerate(zip(types, paths, strict=True))
    ]
    write(made / "modules.json", modules)
    write(made / "sentence_bert_config.json", {"max_seq_length": 48, "do_lower_case": False})
    switches = {"cls": "pooling_mode_cls_token", "max": "pooling_mode_max_tokens"}
    name = switches.get(pooling, "pooling_mode_mean_tokens")
    write(made / "1_Pooling" / "config.json", {"word_embedding_dimension": _WIDTH, name: True})
    write(made / "config_sentence_transformers.json", {"prompts": prompts or {}})
    return str(made)


def make_pairs(folder: Path, family: str = "bert", labels: int = 1) -> Path:
    """Write a cross-encoder with random weights and a window of 48 tokens."""
    prefix = {"xlm-roberta": "roberta"}.get(family, family)
    tensors = {f"{prefix}.{name}": tensor for name, tensor in encoder(family)}
    dense, last = {
        "bert": (f"{prefix}.pooler.dense", "classifier"),
        "distilbert": ("pre_classifier", "classifier"),
    }.get(family, ("classifier.dense", "classifier.out_proj"))
    tensors |= dict(linear(dense, _WIDTH, _WIDTH)) | dict(linear(last, labels, _WIDTH))
    kind = {"bert": "Bert", "distilbert": "DistilBert", "electra": "Electra", "mpnet": "MPNet", "roberta": "Roberta"}
    named = {"architectures": [f"{kind[family]}ForSequenceClassification"]}
    names = [f"LABEL_{number}" for number in range(labels)]
    named |= {"id2label": dict(enumerate(names)), "label2id": {name: number for number, name in enumerate(names)}}
    write_transformer(folder, family, tensors, named)
    return folder


def write_transformer(folder: Path, family: str, tensors: dict[str, Any], more: dict[str, Any] | None = None) -> None:
    """Write configuration, weights and tokenizer of a transformer."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes = {
        "hidden_size": _WIDTH,
        "num_hidden_layers": _LAYERS,
        "num_attention_heads": 2,
        "intermediate_size": _INNER,
        "layer_norm_eps": 1e-12,
        "hidden_act": "gelu",
    }
    if family == "distilbert":
        sizes = {"dim": _WIDTH, "n_layers": _LAYERS, "n_heads": 2, "hidden_dim": _INNER, "activation": "gelu"}
    config = {"model_type": family, "vocab_size": _VOCABULARY, "max_position_embeddings": _POSITIONS, "pad_token_id": 0}
    if family == "electra":
        sizes["embedding_size"] = _WIDTH // 2
    write(folder / "config.json", config | sizes | (more or {}))
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    for name in ("tokenizer.json", "special_tokens_map.json"):
        shutil.copy(model_folder() / name, folder)
    stored = json.loads((model_folder() / "tokenizer_config.json").read_text())
    write(folder / "tokenizer_config.json", stored | {"model_max_length": 48})


def encoder(family: str) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of an encoder, named as transformers names them."""
    width = _WIDTH // 2 if family == "electra" else _WIDTH
    yield "embeddings.word_embeddings.weight", random("embeddings.word_embeddings.weight", _VOCABULARY, width)
    yield "embeddings.position_embeddings.weight", random("embeddings.position_embeddings.weight", _POSITIONS, width)
    if family not in ("mpnet", "distilbert"):
        yield "embeddings.token_type_embeddings.weight", random("embeddings.token_type_embeddings.weight", 2, width)
    yield from norm("embeddings.LayerNorm", width)
    if family == "electra":
        yield from linear("embeddings_project", _WIDTH, width)
    if family == "mpnet":
        yield "encoder.relative_attention_bias.weight", random("encoder.relative_attention_bias.weight", 32, 2)
    parts = {"mpnet": _MPNET, "distilbert": _DISTILBERT}.get(family, _LAYER)
    for layer in range(_LAYERS):
        prefix = f"{'transformer' if family == 'distilbert' else 'encoder'}.layer.{layer}."
        for name in parts[:4]:
            yield from linear(prefix + name, _WIDTH, _WIDTH)
        yield from norm(prefix + parts[4], _WIDTH)
        yield from linear(prefix + parts[5], _INNER, _WIDTH)
        yield from linear(prefix + parts[6], _WIDTH, _INNER)
        yield from norm(prefix + parts[7], _WIDTH)


def linear(name: str, outputs: int, inputs: int) -> Iterator[tuple[str, Any]]:
    """Yield the two tensors of a linear layer."""
    yield f"{name}.weight", random(f"{name}.weight", outputs, inputs)
    yield f"{name}.bias", random(f"{name}.bias", outputs)


def norm(name: str, width: int) -> Iterator[tuple[str, Any]]:
    """Yield the two tensors of a layer norm."""
    yield f"{name}.weight", 1 + random(f"{name}.weight", width)
    yield f"{name}.bias", random(f"{name}.bias", width)


def random(name: str, *shape: int) -> Any:
    """Return a random tensor, which its name determines."""
    return np.random.default_rng([*name.encode()]).normal(0, 0.3, shape).astype(np.float32)


def write(file: Path, content: Any) -> None:
    """Write a file of JSON."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content))
