"""A model's own files: their checksums, their declarations, and whether they can be read without PyTorch."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinsplit.embedding.backends.encoder import (
    PICKLED,
    POOLINGS,
    SentenceNetwork,
    has_weights,
    read_encoder,
    why_unknown,
)
from kinsplit.errors import EmbeddingError
from kinsplit.models import ModelCard
from kinsplit.support.extras import check_repository, needs

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

_SHA256 = re.compile(r"[0-9a-f]{64}")


def why_not_convertible(folder: Path, pooling: str | None = None) -> str | None:
    """Return the reason why a model can't be read without PyTorch, or None; no pooling takes the model's own.

    Encoders of `FAMILIES` with mean or first-token pooling, and optionally normalisation, can be read.
    """
    modules = _modules(folder)
    if modules not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return f"it is not a transformer with pooling, but {' + '.join(modules) or 'has no modules.json'}"
    declared = _transformer(folder)
    if other := [key for key in _UNKNOWN if declared.get(key)]:
        return f"its {other[0]} are not known here"
    if declared.get("transformer_task", _TASK) != _TASK:
        return f"its task is {declared['transformer_task']!r}, not {_TASK!r}"
    modes = [pooling] if pooling else _modes(folder)
    if len(modes) != 1 or modes[0] not in POOLINGS:
        return f"its pooling is {' and '.join(map(str, modes)) or 'unknown'}, not {' or '.join(POOLINGS)}"
    if not _pooling(folder).get("include_prompt", True):
        return "it leaves its prompt out of the pooling"
    return why_unreadable(folder)


def why_unreadable(folder: Path) -> str | None:
    """Return the reason why a transformer itself can't be read without PyTorch, or None."""
    if reason := why_unknown(read_json(folder / "config.json") or {}):
        return reason
    if not has_weights(folder):
        return "it has no model.safetensors"
    return None if (folder / _TOKENIZER).is_file() else f"it has no {_TOKENIZER}"


def read_network(folder: Path, pooling: str | None = None) -> SentenceNetwork:
    """Read a model that `why_not_convertible` has nothing against; no pooling takes the model's own.

    Raises:
        MissingExtraError: The weights are in PyTorch's format, and PyTorch is not installed.
        EmbeddingError: The weights can't be read, or are not those of its architecture.
    """
    return SentenceNetwork(read_encoder(folder), pooling or _modes(folder)[0])


_TASK = "feature-extraction"
# Settings that change how sentence-transformers reads texts.
_UNKNOWN = ("processing_kwargs", "unpad_inputs", "model_args", "model_kwargs")


def _transformer(folder: Path) -> dict[str, Any]:
    """Return sentence-transformers' settings of the transformer; older versions name the file by architecture."""
    files = [folder / "sentence_bert_config.json", *sorted(folder.glob("sentence_*_config.json"))]
    return next(filter(None, map(read_json, files)), {})


def _modules(folder: Path) -> list[str]:
    return [module["type"].rpartition(".")[2] for module in read_json(folder / "modules.json") or ()]


def _pooling(folder: Path) -> dict[str, Any]:
    return read_json(folder / "1_Pooling" / "config.json") or {}


def _modes(folder: Path) -> list[str]:
    """Return the pooling modes of a model; older configurations have a switch for each mode."""
    pooling = _pooling(folder)
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

    card: ModelCard
    pad: int
    tokenizer: Tokenizer

    def save(self, folder: Path) -> None:
        """Write the declarations into a folder."""
        (folder / _TOKENIZER).write_text(self.tokenizer.to_str(), encoding="utf-8")
        declared = {"pad": self.pad, "card": self.card.model_dump()}
        (folder / _FACTS).write_text(json.dumps(declared, indent=2), encoding="utf-8")


def read_facts(folder: Path) -> ModelFacts:
    """Read the declarations that `ModelFacts.save` wrote."""
    from tokenizers import Tokenizer

    stored = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
    return ModelFacts(ModelCard(**stored["card"]), stored["pad"], Tokenizer.from_file(str(folder / _TOKENIZER)))


def declared_facts(folder: Path) -> ModelFacts:
    """Read the declarations of a sentence-transformers model from its own files.

    Raises:
        EmbeddingError: The tokenizer can't be read.
    """
    declared = _transformer(folder)
    settings = declared.get("processor_kwargs") or declared.get("tokenizer_args") or {}
    window = settings.get("model_max_length") or declared.get("max_seq_length")
    facts = transformer_facts(folder, lowercase=bool(declared.get("do_lower_case")))
    own = read_json(folder / "config_sentence_transformers.json") or {}
    asked = {"window": window or facts.card.window, **pooled(folder), **prefixes(own.get("prompts") or {})}
    similarity = own.get("similarity_fn_name")
    return replace(
        facts, card=facts.card.model_copy(update={**asked, **({"similarity": similarity} if similarity else {})})
    )


def pooled(folder: Path) -> dict[str, Any]:
    """Return how a model in a folder pools its tokens, and whether it scales the result, as fields of its card."""
    return {"pooling": "+".join(_modes(folder)) or None, "normalises": "Normalize" in _modules(folder)}


def prefixes(prompts: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the prompts that sentence-transformers uses for questions and for texts, as fields of a card."""
    passage = next(filter(None, map(prompts.get, ("document", "passage", "corpus"))), "")
    return {"query_prefix": prompts.get("query") or "", "passage_prefix": passage}


def licence_of(folder: Path) -> dict[str, Any]:
    """Return the licence and the languages that the README of a model declares, as fields of its card."""
    from huggingface_hub import metadata_load

    readme = folder / "README.md"
    told = (metadata_load(readme) if readme.is_file() else None) or {}
    languages = told.get("language") or ()
    several = (languages,) if isinstance(languages, str) else tuple(map(str, languages))
    return {"languages": several, "licence": told.get("license")}


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
    card = ModelCard(
        weights=folder.name,
        dimension=config.get("hidden_size") or config["dim"],
        dimensions=tuple(config.get("matryoshka_dimensions") or ()),
        window=min(int(settings.get("model_max_length") or sys.maxsize), longest),
        tokenizer=_kind(tokenizer),
        **licence_of(folder),
    )
    return ModelFacts(card, _pad(folder, tokenizer, settings) or config.get("pad_token_id") or 0, tokenizer)


def _kind(tokenizer: Tokenizer) -> str:
    return f"{type(tokenizer.model).__name__}/{tokenizer.get_vocab_size()}"


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
    folder = Path(name) if Path(name).is_dir() else find_folder(name)
    declared = {} if folder is None else {**pooled(folder), **licence_of(folder)}
    card = ModelCard(
        weights=name,
        dimension=len(model.encode("dimension", show_progress_bar=False)),
        window=model.max_seq_length or sys.maxsize,
        tokenizer=_kind(tokenizer),
        similarity=model.similarity_fn_name,
        **prefixes(model.prompts),
        **declared,
    )
    return ModelFacts(card, getattr(model.tokenizer, "pad_token_id", None) or 0, tokenizer)


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
_FETCHED = ["*.json", "*.safetensors", "README.md"]
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


def hub_cache(repository: str) -> Path:
    """Return the folder that a repository has in the Hub's cache, whether it is there or not."""
    with needs("search"):
        # Loads in no time, unlike what downloads.
        from huggingface_hub.constants import HF_HUB_CACHE
    return Path(HF_HUB_CACHE, f"models--{repository.replace('/', '--')}")


def fetch_revision(repository: str, revision: str, digests: Mapping[str, str]) -> Path:
    """Return the folder of some files in the cache of the Hugging Face Hub, after a download of those that it lacks.

    A terminal shows the progress of the largest file, and a connection that breaks is taken up where it broke.

    Args:
        repository: Name on the Hub.
        revision: Hash of a commit.
        digests: sha256 of each file, the largest first.

    Raises:
        MissingExtraError: The Hub's client is not installed.
        LookupError: A file is missing, and the Hub has another one or can't be reached.
    """
    folder = hub_cache(repository) / "snapshots" / revision
    if not all((folder / name).is_file() for name in digests):
        check_repository(repository, files=[*digests], revision=revision)
        from huggingface_hub import hf_hub_download

        try:
            for number, (name, digest) in enumerate(digests.items()):
                with _without_bars() if number else nullcontext():
                    path = Path(hf_hub_download(repository, name, revision=revision))
                if problem := difference(path, digest):
                    path.resolve().unlink()
                    raise LookupError(f"{path}: {problem}; it was deleted")
        except Exception as error:  # The Hub's client raises exceptions of several libraries.
            raise LookupError(" ".join(str(error).split())) from error
    return folder


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
