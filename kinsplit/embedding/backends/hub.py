"""Models in the cache of the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kinsplit.embedding.backends.weights import PICKLED, has_weights
from kinsplit.errors import EmbeddingError
from kinsplit.support.hub import check_repository


def find_folder(model: str, file: str = "modules.json") -> Path | None:
    """Return a model's folder: the given one, or that in the Hugging Face Hub's cache.

    Args:
        model: Name on the Hub, or the path of a folder, which begins with ".", "/" or "~".
        file: File that every model of the kind has.

    Returns:
        The folder; None for a name whose files are not on this machine yet, or only some of them.

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
    return EmbeddingError(
        f"The embedding model {model!r} can't be loaded: {reason}. Give the name of a "
        "sentence-transformers model that this machine can reach, or a folder that holds one."
    )


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
