"""A language model of llama.cpp with a layer of random weights, whose tokens are bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

_WIDTH, _HEADS, _INNER = 32, 2, 64
# Types of llama.cpp's tokens: unknown, control, byte.
_SPECIAL = ((b"<unk>", 2), (b"<s>", 3), (b"</s>", 3))
_BYTES = tuple((f"<0x{byte:02X}>".encode(), 6) for byte in range(256))


def write_model(path: Path) -> None:
    """Write the model as a GGUF file of 110 kB."""
    import gguf

    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(1024)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_INNER)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(_WIDTH // _HEADS)
    tokens = [*_SPECIAL, *_BYTES]
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([token for token, _ in tokens])
    writer.add_token_types([kind for _, kind in tokens])
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template("{% for message in messages %}{{ message['content'] }}{% endfor %}")
    rng = np.random.default_rng(0)
    shapes = {"token_embd": (len(tokens), _WIDTH), "output": (len(tokens), _WIDTH)}
    shapes |= {f"blk.0.attn_{name}": (_WIDTH, _WIDTH) for name in ("q", "k", "v", "output")}
    shapes |= {"blk.0.ffn_gate": (_INNER, _WIDTH), "blk.0.ffn_up": (_INNER, _WIDTH), "blk.0.ffn_down": (_WIDTH, _INNER)}
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", rng.normal(0, 0.3, shape).astype(np.float32))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(_WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
