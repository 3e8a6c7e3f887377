"""A model's own files: their checksums, their declarations, and whether they can be read without PyTorch."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinsplit.embedding.backends.encoder import POOLINGS, SentenceNetwork
from kinsplit.embedding.backends.weights import has_weights, read_encoder, why_unknown
from kinsplit.errors import EmbeddingError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer


_SHA256 = re.compile(r"[0-9a-f]{64}")


def why_not_convertible(folder: Path) -> str | None:
    """Return the reason why a model can't be read without PyTorch, or None.

    Encoders of `FAMILIES` with mean or first-token pooling, and optionally normalisation, can be read.
    """
    modules = [module["type"].rpartition(".")[2] for module in _read(folder / "modules.json") or ()]
    if modules not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return f"it is not a transformer with pooling, but {' + '.join(modules) or 'has no modules.json'}"
    declared, pooling = _transformer(folder), _read(folder / "1_Pooling" / "config.json") or {}
    if other := [key for key in _UNKNOWN if declared.get(key)]:
        return f"its {other[0]} are not known here"
    if declared.get("transformer_task", _TASK) != _TASK:
        return f"its task is {declared['transformer_task']!r}, not {_TASK!r}"
    modes = _modes(pooling)
    if len(modes) != 1 or modes[0] not in POOLINGS:
        return f"its pooling is {' and '.join(map(str, modes)) or 'unknown'}, not {' or '.join(POOLINGS)}"
    if not pooling.get("include_prompt", True):
        return "it leaves its prompt out of the pooling"
    return why_unreadable(folder)


def why_unreadable(folder: Path) -> str | None:
    """Return the reason why a transformer itself can't be read without PyTorch, or None."""
    if reason := why_unknown(_read(folder / "config.json") or {}):
        return reason
    if not has_weights(folder):
        return "it has no model.safetensors"
    return None if (folder / _TOKENIZER).is_file() else f"it has no {_TOKENIZER}"


def read_network(folder: Path) -> SentenceNetwork:
    """Read a model that `why_not_convertible` has nothing against.

    Raises:
        MissingExtraError: The weights are in PyTorch's format, and PyTorch is not installed.
        EmbeddingError: The weights can't be read, or are not those of its architecture.
    """
    (pooling,) = _modes(_read(folder / "1_Pooling" / "config.json"))
    return SentenceNetwork(read_encoder(folder), pooling)


_TASK = "feature-extraction"
# Settings that change how sentence-transformers reads texts.
_UNKNOWN = ("processing_kwargs", "unpad_inputs", "model_args", "model_kwargs")


def _transformer(folder: Path) -> dict[str, Any]:
    """Return sentence-transformers' settings of the transformer; older versions name the file by architecture."""
    files = [folder / "sentence_bert_config.json", *sorted(folder.glob("sentence_*_config.json"))]
    return next(filter(None, map(_read, files)), {})


def _modes(pooling: dict[str, Any]) -> list[str]:
    """Return the pooling modes of a model; older configurations have a switch for each mode."""
    if "pooling_mode" in pooling:
        mode = pooling["pooling_mode"]
        return [mode] if isinstance(mode, str) else list(mode)
    on = (key.removeprefix("pooling_mode_") for key, on in pooling.items() if key.startswith("pooling_mode_") and on)
    return [mode.removesuffix("_tokens").removesuffix("_token") for mode in on]


def _read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def known_digests(folder: Path) -> dict[Path, str]:
    """Return the known sha256 of a model's files: in the Hub's cache, the names of large files."""
    names = {path: path.resolve().name for path in sorted(folder.rglob("*")) if path.is_symlink()}
    return {path: name for path, name in names.items() if _SHA256.fullmatch(name)}


def weights_digest(folder: Path) -> str:
    """Hash all weights below a folder."""
    return _digest(path for path in folder.rglob("*") if path.suffix in {".safetensors", ".bin"})


def model_key(model: str, folder: Path) -> str:
    """Return a key of all that affects a model's vectors: weights, tokenizer, pooling, window and prompts.

    Args:
        model: Name of the model, or its folder.
        folder: Its folder; in the Hub's cache, the name is that of a commit.
    """
    name = re.sub(r"[^\w.-]+", "-", Path(model).name).strip(".-") or "model"
    if folder.parent.name == "snapshots":
        return f"{name}-{folder.name[:16]}"
    return f"{name}-{weights_digest(folder)[:16]}-{_digest(folder.rglob('*.json'))[:8]}"


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


_FACTS, _TOKENIZER = "model.json", "tokenizer.json"


@dataclass(frozen=True, slots=True, eq=False)
class ModelFacts:
    """Declarations of a sentence-transformers model.

    Attributes:
        dimension: Length of a vector.
        window: Maximum number of tokens of one input, including special tokens.
        pad: Id of the padding token.
        prompts: Prompts by kind of text.
        tokenizer: The tokenizer, without truncation and padding.
    """

    dimension: int
    window: int
    pad: int
    prompts: Mapping[str, str]
    tokenizer: Tokenizer

    @property
    def query_prompt(self) -> str:
        """Prompt before a query."""
        return self.prompts.get("query") or ""

    @property
    def document_prompt(self) -> str:
        """Prompt before a text for an index."""
        return next(filter(None, (self.prompts.get(key) for key in ("document", "passage", "corpus"))), "")

    def save(self, folder: Path) -> None:
        """Write the declarations into a folder."""
        facts = {"dimension": self.dimension, "window": self.window, "pad": self.pad, "prompts": dict(self.prompts)}
        (folder / _TOKENIZER).write_text(self.tokenizer.to_str(), encoding="utf-8")
        (folder / _FACTS).write_text(json.dumps(facts, indent=2), encoding="utf-8")


def read_facts(folder: Path) -> ModelFacts:
    """Read the declarations that `ModelFacts.save` wrote."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
    return ModelFacts(**json.loads((folder / _FACTS).read_text(encoding="utf-8")), tokenizer=tokenizer)


def declared_facts(folder: Path) -> ModelFacts:
    """Read the declarations of a sentence-transformers model from its own files.

    Raises:
        EmbeddingError: The tokenizer can't be read.
    """
    declared = _transformer(folder)
    settings = declared.get("processor_kwargs") or declared.get("tokenizer_args") or {}
    window = settings.get("model_max_length") or declared.get("max_seq_length")
    prompts = (_read(folder / "config_sentence_transformers.json") or {}).get("prompts") or {}
    facts = transformer_facts(folder, lowercase=bool(declared.get("do_lower_case")))
    used = {name: prompt for name, prompt in prompts.items() if prompt}
    return replace(facts, prompts=used, window=window or facts.window)


def transformer_facts(folder: Path, *, lowercase: bool = False) -> ModelFacts:
    """Read the declarations of a transformer and its tokenizer.

    Args:
        folder: The model's folder.
        lowercase: Whether texts become lower case before everything else.

    Raises:
        EmbeddingError: The tokenizer can't be read.
    """
    from tokenizers import Tokenizer, normalizers

    config, settings = (_read(folder / name) or {} for name in ("config.json", "tokenizer_config.json"))
    try:
        stored = json.loads((folder / _TOKENIZER).read_text(encoding="utf-8"))
        if (stored.get("normalizer") or {}).get("type") == "BertNormalizer":
            # The tokenizer's class takes these from the settings.
            stored["normalizer"] |= {own: settings[key] for key, own in _NORMALIZER.items() if key in settings}
        tokenizer = Tokenizer.from_str(json.dumps(stored))
    except Exception as error:  # tokenizers raises nothing narrower.
        raise EmbeddingError(f"{folder / _TOKENIZER}: can't be read ({error}). Copy or download it again.") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if lowercase:
        before = [tokenizer.normalizer] if tokenizer.normalizer else []
        tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *before])
    longest = config.get("max_position_embeddings") or sys.maxsize
    return ModelFacts(
        dimension=config.get("hidden_size") or config["dim"],
        window=min(int(settings.get("model_max_length") or sys.maxsize), longest),
        pad=_pad(folder, tokenizer, settings) or config.get("pad_token_id") or 0,
        prompts={},
        tokenizer=tokenizer,
    )


# Settings of a tokenizer, and their names in its normalizer.
_NORMALIZER = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}


def _pad(folder: Path, tokenizer: Tokenizer, settings: Mapping[str, Any]) -> int | None:
    token = settings.get("pad_token") or (_read(folder / "special_tokens_map.json") or {}).get("pad_token")
    found = token["content"] if isinstance(token, dict) else token
    return tokenizer.token_to_id(found) if found else None


def facts_of(model: SentenceTransformer, name: str) -> ModelFacts:
    """Return the declarations of a loaded model.

    Args:
        model: The model.
        name: Name of the model, for errors.

    Raises:
        EmbeddingError: The model has no fast tokenizer.
    """
    from tokenizers import Tokenizer

    backend = getattr(model.tokenizer, "backend_tokenizer", model.tokenizer)
    if not isinstance(backend, Tokenizer):
        raise EmbeddingError(f"The embedding model {name!r} has no fast tokenizer (tokenizer.json).")
    # A copy, since the model sets truncation and padding of its own tokenizer at every call.
    tokenizer = Tokenizer.from_str(backend.to_str())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return ModelFacts(
        dimension=len(model.encode("dimension", show_progress_bar=False)),
        window=model.max_seq_length or sys.maxsize,
        pad=getattr(model.tokenizer, "pad_token_id", None) or 0,
        prompts={name: prompt for name, prompt in model.prompts.items() if prompt},
        tokenizer=tokenizer,
    )
