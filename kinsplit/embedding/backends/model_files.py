"""A model's own files: their checksums, their declarations, and whether they can be read without PyTorch."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinsplit.embedding.backends.encoder import POOLINGS, SentenceNetwork
from kinsplit.embedding.backends.weights import PICKLED, has_weights, read_encoder, why_unknown
from kinsplit.errors import EmbeddingError
from kinsplit.support.extras import check_repository

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

_SHA256 = re.compile(r"[0-9a-f]{64}")


def why_not_convertible(folder: Path) -> str | None:
    """Return the reason why a model can't be read without PyTorch, or None.

    Encoders of `FAMILIES` with mean or first-token pooling, and optionally normalisation, can be read.
    """
    modules = [module["type"].rpartition(".")[2] for module in read_json(folder / "modules.json") or ()]
    if modules not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return f"it is not a transformer with pooling, but {' + '.join(modules) or 'has no modules.json'}"
    declared, pooling = _transformer(folder), read_json(folder / "1_Pooling" / "config.json") or {}
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
    if reason := why_unknown(read_json(folder / "config.json") or {}):
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
    (pooling,) = _modes(read_json(folder / "1_Pooling" / "config.json"))
    return SentenceNetwork(read_encoder(folder), pooling)


_TASK = "feature-extraction"
# Settings that change how sentence-transformers reads texts.
_UNKNOWN = ("processing_kwargs", "unpad_inputs", "model_args", "model_kwargs")


def _transformer(folder: Path) -> dict[str, Any]:
    """Return sentence-transformers' settings of the transformer; older versions name the file by architecture."""
    files = [folder / "sentence_bert_config.json", *sorted(folder.glob("sentence_*_config.json"))]
    return next(filter(None, map(read_json, files)), {})


def _modes(pooling: dict[str, Any]) -> list[str]:
    """Return the pooling modes of a model; older configurations have a switch for each mode."""
    if "pooling_mode" in pooling:
        mode = pooling["pooling_mode"]
        return [mode] if isinstance(mode, str) else list(mode)
    on = (key.removeprefix("pooling_mode_") for key, on in pooling.items() if key.startswith("pooling_mode_") and on)
    return [mode.removesuffix("_tokens").removesuffix("_token") for mode in on]


def read_json(file: Path) -> Any:
    """Return the value of a JSON file; None if there is none."""
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

    The name of its folder is a part, since in the Hub's cache it is that of a commit.
    """
    name = re.sub(r"[^\w.-]+", "-", Path(model).name).strip(".-") or "model"
    if folder.parent.name == "snapshots":
        return f"{name}-{folder.name[:16]}"
    return f"{name}-{weights_digest(folder)[:16]}-{_digest(folder.rglob('*.json'))[:8]}"


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(bytes.fromhex(sha256(path)))
    return digest.hexdigest()


_FACTS, _TOKENIZER = "model.json", "tokenizer.json"


@dataclass(frozen=True, slots=True, eq=False)
class ModelFacts:
    """Declarations of a sentence-transformers model."""

    dimension: int
    window: int  # Maximum number of tokens of one input, including special tokens.
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
    prompts = (read_json(folder / "config_sentence_transformers.json") or {}).get("prompts") or {}
    facts = transformer_facts(folder, lowercase=bool(declared.get("do_lower_case")))
    used = {name: prompt for name, prompt in prompts.items() if prompt}
    return replace(facts, prompts=used, window=window or facts.window)


def transformer_facts(folder: Path, *, lowercase: bool = False) -> ModelFacts:
    """Read the declarations of a transformer and its tokenizer.

    Raises:
        EmbeddingError: The tokenizer can't be read.
    """
    from tokenizers import Tokenizer, normalizers

    config, settings = (read_json(folder / name) or {} for name in ("config.json", "tokenizer_config.json"))
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
    token = settings.get("pad_token") or (read_json(folder / "special_tokens_map.json") or {}).get("pad_token")
    found = token["content"] if isinstance(token, dict) else token
    return tokenizer.token_to_id(found) if found else None


def facts_of(model: SentenceTransformer, name: str) -> ModelFacts:
    """Return the declarations of a loaded model, or raise EmbeddingError if the model has no fast tokenizer."""
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


#: File with the size, modification time and sha256 of each other file in the folder of a converted or distilled model.
STAMP = "stamp.json"


def sign(folder: Path) -> None:
    """Record the content of a folder's files."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != STAMP:
            facts = path.stat()
            files[path.relative_to(folder).as_posix()] = [facts.st_size, facts.st_mtime_ns, sha256(path)]
    draft = folder / f".{STAMP}"
    draft.write_text(json.dumps({"files": files, "sha256": _file_digest(files)}), encoding="utf-8")
    draft.replace(folder / STAMP)


def damage(folder: Path, *, full: bool = False) -> str | None:
    """Return the first difference from the signed content, or None.

    Sizes and times are compared, and the content of a file only if its time differs: that takes no time, and finds the
    damage of a full disk, a broken copy or an editor. It doesn't protect from tampering: anyone who can write the
    folder can sign it.
    """
    try:
        stamp = json.loads((folder / STAMP).read_text(encoding="utf-8"))
        files = stamp["files"]
        if stamp["sha256"] != _file_digest(files):
            return f"{STAMP} was changed"
        touched = False
        for name, (size, time, digest) in files.items():
            facts = (folder / name).stat()
            if facts.st_size != size:
                return f"{name} has {facts.st_size} bytes, expected {size}"
            if (full or facts.st_mtime_ns != time) and sha256(folder / name) != digest:
                return f"{name} has changed"
            touched |= facts.st_mtime_ns != time
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is missing"
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        return f"it can't be checked ({error})"
    if touched:  # By a copy, for example; the new times are recorded.
        with contextlib.suppress(OSError):
            sign(folder)
    return None


def check_files(expected: Mapping[Path, str], remedy: str) -> None:
    """Verify the checksums of files, or raise EmbeddingError if a file is missing or differs."""
    for path, digest in expected.items():
        if (problem := difference(path, digest)) is not None:
            raise EmbeddingError(f"{path}: {problem}. {remedy}")


def sha256(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def difference(path: Path, expected: str) -> str | None:
    """Return how a file differs from its expected sha256, or None."""
    if not path.is_file():
        return "this file of the model is missing"
    found = sha256(path)
    return None if found == expected else f"this file of the model has sha256 {found}, expected {expected}"


def _file_digest(files: object) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


def find_folder(model: str, file: str = "modules.json") -> Path | None:
    """Return a model's folder: the given one, or that in the Hugging Face Hub's cache; None unless all files are there.

    Raises:
        EmbeddingError: The path doesn't exist, or a folder here has the name of a model on the Hub.
    """
    path = Path(model).expanduser()
    if model.startswith((".", "~")) or path.is_absolute():
        if not path.exists():
            raise EmbeddingError(f"There is no model at {path}. Check the path in {model!r}.")
        return path
    if path.exists():
        # Downloaded material may hold it, and sentence-transformers runs code from a model's folder.
        rule = f"{model!r} is the name of a model on the Hugging Face Hub, and this folder has a {model!r} too"
        raise EmbeddingError(f"{rule}. Write './{model}' for the one here, or run the command in another folder.")
    from huggingface_hub import try_to_load_from_cache

    for repository in repositories(model):
        found = try_to_load_from_cache(repository, file)
        if isinstance(found, str) and _has_any_weights(Path(found).parent):
            return Path(found).parent
    return None


# Weights in PyTorch's format are fetched as well where there are no others.
_FETCHED = ["*.json", "*.safetensors"]
_NOT_FETCHED = ["onnx/*", "openvino/*"]


def fetch(model: str, file: str = "modules.json") -> Path | None:
    """Download a model from the Hugging Face Hub, as far as its files are read here.

    Args:
        model: Name on the Hub.
        file: See `find_folder`.

    Returns:
        The folder; None if the model doesn't have the file.

    Raises:
        EmbeddingError: The Hub has no such model, or can't be reached.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        check_repository(*repositories(model))
        for name in repositories(model):
            with suppress(RepositoryNotFoundError), _without_bars():
                folder = Path(snapshot_download(name, allow_patterns=_FETCHED, ignore_patterns=_NOT_FETCHED))
                if not has_weights(folder):
                    snapshot_download(name, allow_patterns=PICKLED)
                return folder if (folder / file).is_file() else None
    except Exception as error:  # The Hub's client raises exceptions of several libraries.
        raise unusable(model, error) from error
    return None


def unusable(model: str, reason: Exception) -> EmbeddingError:
    """Return the error for a model that can't be loaded."""
    remedy = "Give the name of a sentence-transformers model that this machine can reach, or a folder that holds one."
    return EmbeddingError(f"The embedding model {model!r} can't be loaded: {reason}. {remedy}")


@contextmanager
def _without_bars() -> Iterator[None]:
    """Keep the progress bars of downloads off the terminal."""
    from huggingface_hub import utils

    bars: Any = utils  # Its annotations leave these functions out.
    disabled = bars.are_progress_bars_disabled()
    bars.disable_progress_bars()
    try:
        yield
    finally:
        if not disabled:
            bars.enable_progress_bars()


def _has_any_weights(folder: Path) -> bool:
    """Return whether a download got as far as the weights, which may lie in a folder of their own."""
    return any(path.suffix in {".safetensors", ".bin"} for path in folder.rglob("*"))


def repositories(model: str) -> tuple[str, ...]:
    """Return the possible names of a model on the Hub: one without an owner may belong to sentence-transformers."""
    return (model,) if "/" in model else (model, f"sentence-transformers/{model}")
