"""Packages that not every installation has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from kinsplit.errors import MissingExtraError

# Where the distribution has another name than the module.
_DISTRIBUTIONS = {
    "llama_index": "llama-index-core",
    "qdrant_edge": "qdrant-edge-py",
    "webvtt": "webvtt-py",
    "yaml": "pyyaml",
}


@contextlib.contextmanager
def needs(extra: str) -> Iterator[None]:
    """Name the extra to install if a module imported in this context is missing.

    Raises:
        MissingExtraError: A module is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        raise MissingExtraError(_DISTRIBUTIONS.get(module, module.replace("_", "-")), extra) from error


# Seconds to wait for an answer.
_TIMEOUT = 10.0


def check_repository(
    *names: str, files: Sequence[str] = ("config.json", "modules.json"), revision: str | None = None
) -> None:
    """Check by one request that a repository, under one of its names, is in the Hub's cache here, or on the Hub.

    Loaders request each of a dozen files six times, with growing pauses, before they report a missing repository.

    Raises:
        LookupError: The repository is in neither, or the Hub can't be reached.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
    from huggingface_hub.errors import EntryNotFoundError, GatedRepoError, RepositoryNotFoundError

    if any(isinstance(try_to_load_from_cache(name, file, revision=revision), str) for name in names for file in files):
        return
    why = ""
    for name in names:
        try:
            get_hf_file_metadata(hf_hub_url(name, files[0], revision=revision), timeout=_TIMEOUT)
        except EntryNotFoundError:  # The repository exists.
            return
        except GatedRepoError as error:
            raise LookupError("its licence has to be accepted on the Hugging Face Hub, and HF_TOKEN set") from error
        except RepositoryNotFoundError:
            why = why or "the Hugging Face Hub has no model of that name"
        except Exception as error:  # The Hub's client raises exceptions of several libraries.
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            why = f"it is not on this machine, and the Hugging Face Hub can't be reached ({reason})"
        else:
            return
    raise LookupError(why)
