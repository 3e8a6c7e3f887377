"""A model's own files: their folder, their checksums, their declarations, and whether they can be converted."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinsplit.errors import EmbeddingError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer


#: Encoders whose conversion is tested, as their `config.json` calls them.
FAMILIES = ("bert", "camembert", "distilbert", "electra", "mpnet", "roberta", "xlm-roberta")
_POOLINGS = ("cls", "mean")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def find_folder(model: str) -> Path | None:
    """Return a model's folder: the given one, or that in the Hugging Face Hub's cache.

    Args:
        model: Name on the Hub, or a folder.

    Returns:
        The folder; None for a name whose files are not on this machine yet.

    Raises:
        EmbeddingError: The path doesn't exist.
    """
    path = Path(model).expanduser()
    if path.exists():
        return path
    if model.startswith((".", "/", "~")):
        raise EmbeddingError(f"There is no embedding model at {path}. Check the path in 'st:{model}'.")
    from huggingface_hub import try_to_load_from_cache

    for repository in repositories(model):
        found = try_to_load_from_cache(repository, "modules.json")
        if isinstance(found, str):
            return Path(found).parent
    return None


def repositories(model: str) -> tuple[str, ...]:
    """Return the possible names of a model on the Hub: one without an owner may belong to sentence-transformers."""
    return (model,) if "/" in model else (model, f"sentence-transformers/{model}")


def why_not_convertible(folder: Path) -> str | None:
    """Return the reason why a model can't be converted, or None.

    Encoders of `FAMILIES` with mean or first-token pooling, and optionally normalisation, can be converted.
    """
    modules = [module["type"].rpartition(".")[2] for module in _read(folder / "modules.json") or ()]
    if modules not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return f"it is not a transformer with pooling, but {' + '.join(modules) or 'has no modules.json'}"
    family = (_read(folder / "config.json") or {}).get("model_type")
    if family not in FAMILIES:
        return f"its architecture {family!r} is none of {', '.join(FAMILIES)}"
    pooling = _read(folder / "1_Pooling" / "config.json") or {}
    modes = _modes(pooling)
    if len(modes) != 1 or modes[0] not in _POOLINGS:
        return f"its pooling is {' and '.join(map(str, modes)) or 'unknown'}, not {' or '.join(_POOLINGS)}"
    return None if pooling.get("include_prompt", True) else "it leaves its prompt out of the pooling"


def _modes(pooling: dict[str, Any]) -> list[str]:
    """Return the pooling modes of a model; older configurations have a switch for each mode."""
    if "pooling_mode" in pooling:
        mode = pooling["pooling_mode"]
        return [mode] if isinstance(mode, str) else list(mode)
    switches = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
    return [switches.get(key, key) for key, on in pooling.items() if key.startswith("pooling_mode") and on]


def _read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def known_digests(folder: Path) -> dict[Path, str]:
    """Return the known sha256 of a model's files: in the Hub's cache, the names of large files."""
    names = {path: path.resolve().name for path in sorted(folder.rglob("*")) if path.is_symlink()}
    return {path: name for path, name in names.items() if _SHA256.fullmatch(name)}


def weights_digest(folder: Path) -> str:
    """Hash all weights below a folder."""
    return _digest(path for path in folder.rglob("*") if path.suffix in {".safetensors", ".bin"})


def settings_digest(folder: Path) -> str:
    """Hash everything else that affects a model's vectors: tokenizer, pooling, window and prompts."""
    return _digest(folder.rglob("*.json"))


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
