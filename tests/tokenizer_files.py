"""Small tokenizers, trained on the spot, of kinds whose counts don't simply add up."""

from __future__ import annotations

from pathlib import Path

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

_CORPUS = [
    "The quick brown fox jumps over the lazy dog. Kettledrums and xylophones, she said: it's 3.14!",
    "def f(x):\n    return x ** 2  # comment\n\n\n| a | b |\n|---|---|\n",
    "今天天气很好。我们去公园吧！ Überraschung naïve cafe\u0301 कैसे हैं आप? مرحبا بالعالم. 👩‍👩‍👧‍👦 🤣",
] * 3


def word_piece() -> tokenizers.Tokenizer:
    """Return a tokenizer like BERT's, cased, with a template that adds special tokens."""
    made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=False)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[UNK]", "[CLS]", "[SEP]", "[PAD]"]
    made.train_from_iterator(
        _CORPUS, trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False)
    )
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    made.enable_truncation(16)
    made.enable_padding(length=16)
    return made


def byte_level() -> tokenizers.Tokenizer:
    """Return a tokenizer like GPT-2's: tokens include white space, and a character can be several tokens."""
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(_CORPUS, trainer)
    return made


def unigram() -> tokenizers.Tokenizer:
    """Return a tokenizer like SentencePiece's: a word begins with its space, and its tokens depend on its context."""
    made = tokenizers.Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=250, special_tokens=["<unk>", "<s>", "</s>"], unk_token="<unk>", show_progress=False
    )
    made.train_from_iterator(_CORPUS, trainer)
    return made


def whole_text() -> tokenizers.Tokenizer:
    """Return a byte-pair tokenizer without a pre-tokenizer: tokens extend across words and spaces."""
    made = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=["<unk>"], show_progress=False)
    made.train_from_iterator(_CORPUS, trainer)
    return made


#: Functions that make each kind.
KINDS = {"word_piece": word_piece, "byte_level": byte_level, "unigram": unigram, "whole_text": whole_text}


def saved(kind: str, folder: Path) -> Path:
    """Make a tokenizer, save it in a folder and return its file."""
    path = folder / "tokenizer.json"
    KINDS[kind]().save(str(path))
    return path


def bundled_tokenizer() -> tokenizers.Tokenizer:
    """Return the bundled model's own tokenizer, without truncation and padding."""

    from kinsplit.embedding.bundled import model_folder

    made = tokenizers.Tokenizer.from_file(str(model_folder() / "tokenizer.json"))
    made.no_truncation()
    made.no_padding()
    return made
