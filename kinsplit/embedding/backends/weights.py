"""The weights of encoders, in the formats and under the names of transformers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kinsplit.embedding.backends.encoder import Array, Encoder
from kinsplit.errors import EmbeddingError, MissingExtraError
from kinsplit.support.extras import needs

#: Architectures, as their `config.json` calls them.
FAMILIES = ("bert", "camembert", "distilbert", "electra", "mpnet", "roberta", "xlm-roberta")
# Activation functions, as `config.json` calls them, and the names of `Operations.activate`.
_ACTIVATIONS = {
    **{name: name for name in ("gelu", "relu", "tanh")},
    **dict.fromkeys(("gelu_fast", "gelu_new", "gelu_pytorch_tanh"), "gelu_tanh"),
}
# Families whose positions count from the padding token; MPNet's has a fixed id, whatever its configuration says.
_COUNTED = ("camembert", "mpnet", "roberta", "xlm-roberta")
_MPNET_PAD = 1
# Names of tensors in other families and in older files, and BERT's.
_RENAMED = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"^(bert|camembert|distilbert|electra|mpnet|roberta)\.", ""),
        (r"\.gamma$", ".weight"),
        (r"\.beta$", ".bias"),
        (r"^transformer\.layer\.", "encoder.layer."),
        (r"attention\.(q_lin|attn\.q)\.", "attention.self.query."),
        (r"attention\.(k_lin|attn\.k)\.", "attention.self.key."),
        (r"attention\.(v_lin|attn\.v)\.", "attention.self.value."),
        (r"attention\.(out_lin|attn\.o)\.", "attention.output.dense."),
        (r"(sa_layer_norm|attention\.LayerNorm)\.", "attention.output.LayerNorm."),
        (r"ffn\.lin1\.", "intermediate.dense."),
        (r"(ffn\.lin2)\.", "output.dense."),
        (r"\.output_layer_norm\.", ".output.LayerNorm."),
    )
)
# Tensors inside an encoder that are no weights.
_BUFFERS = re.compile(r"embeddings\.(position_ids|token_type_ids)$")


def why_unknown(config: Mapping[str, Any]) -> str | None:
    """Return the reason why an architecture can't be computed here, or None."""
    family, activation = config.get("model_type"), _activation(config)
    if family not in FAMILIES:
        return f"its architecture {family!r} is none of {', '.join(FAMILIES)}"
    if activation not in _ACTIVATIONS:
        return f"its activation {activation!r} is none of {', '.join(_ACTIVATIONS)}"
    if (kind := config.get("position_embedding_type", "absolute")) != "absolute":
        return f"its position embeddings are {kind!r}, not 'absolute'"
    return "it is a decoder" if config.get("is_decoder") else None


def _activation(config: Mapping[str, Any]) -> str:
    return str(config.get("hidden_act", config.get("activation", "gelu")))


def read_encoder(folder: Path) -> Encoder:
    """Read an encoder whose architecture is known (see `why_unknown`) from a folder of transformers.

    Raises:
        MissingExtraError: The weights are in PyTorch's format, and PyTorch is not installed.
        EmbeddingError: The weights can't be read, or are not those of the architecture.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    family = config["model_type"]
    layers = int(config.get("num_hidden_layers") or config["n_layers"])
    try:
        read = {_rename(name): tensor for file in _weight_files(folder) for name, tensor in _tensors(file).items()}
        weights = {name: np.asarray(tensor, dtype=np.float32) for name, tensor in read.items()}
    except MissingExtraError:
        raise
    except Exception as error:  # safetensors and torch raise exceptions of several kinds.
        raise EmbeddingError(f"{folder}: the weights can't be read ({error}). Copy or download them again.") from error
    if problem := _difference(weights, layers):
        raise EmbeddingError(f"{folder}: the weights are not those of {family!r}: {problem}. Use the backend 'torch'.")
    pad = _MPNET_PAD if family == "mpnet" else config.get("pad_token_id", 1)
    return Encoder(
        weights,
        layers,
        heads=int(config.get("num_attention_heads") or config["n_heads"]),
        epsilon=float(config.get("layer_norm_eps", 1e-12)),
        activation=_ACTIVATIONS[_activation(config)],
        counted_from=pad if family in _COUNTED else None,
    )


def has_weights(folder: Path) -> bool:
    """Return whether a folder holds weights that `read_encoder` can read."""
    return any((folder / name).is_file() for name in (*_SAFETENSORS, PICKLED))


_SAFETENSORS = ("model.safetensors", "model.safetensors.index.json")
#: File of weights in PyTorch's format.
PICKLED = "pytorch_model.bin"


def _weight_files(folder: Path) -> list[Path]:
    whole, index = (folder / name for name in _SAFETENSORS)
    if whole.is_file():
        return [whole]
    if index.is_file():
        parts = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        return [folder / name for name in sorted(set(parts.values()))]
    return [folder / PICKLED]


def _tensors(file: Path) -> dict[str, Array]:
    if file.name != PICKLED:
        from safetensors.numpy import load_file

        return load_file(file)
    with needs("torch"):
        import torch
    return {name: tensor.float().numpy() for name, tensor in torch.load(file, weights_only=True).items()}


def _rename(name: str) -> str:
    for pattern, own in _RENAMED:
        name = pattern.sub(own, name)
    return name


_LAYER = (
    *("attention.self.query", "attention.self.key", "attention.self.value"),
    *("attention.output.dense", "attention.output.LayerNorm"),
    *("intermediate.dense", "output.dense", "output.LayerNorm"),
)


def _difference(weights: Mapping[str, Array], layers: int) -> str | None:
    """Return how the names of an encoder's tensors differ from those that are used."""
    norms = {f"embeddings.LayerNorm.{kind}" for kind in ("weight", "bias")}
    needed = {"embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight", *norms}
    parts = [f"encoder.layer.{index}.{part}" for index in range(layers) for part in _LAYER]
    needed |= {f"{part}.{kind}" for part in parts for kind in ("weight", "bias")}
    more = {"embeddings.token_type_embeddings.weight", "encoder.relative_attention_bias.weight"}
    if missing := sorted(needed - set(weights)):
        return f"{missing[0]} is missing"
    own = (name for name in weights if name.startswith(("embeddings.", "encoder.")) and not _BUFFERS.match(name))
    other = sorted(set(own) - needed - more)
    return f"{other[0]} is unknown" if other else None
