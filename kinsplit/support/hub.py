"""The Hugging Face Hub: whether it has what a loader would ask it for again and again."""

from __future__ import annotations

from collections.abc import Sequence

# Seconds to wait for an answer.
_TIMEOUT = 10.0


def check_repository(*names: str, files: Sequence[str] = ("config.json", "modules.json")) -> None:
    """Make sure that a repository is in the Hub's cache on this machine, or on the Hub itself, asked once.

    Loaders ask six times for each of a dozen files, with longer and longer pauses, before they say that there is none.

    Args:
        *names: Names that the repository may have.
        files: Files of which one tells that it is in the cache; the Hub is asked for the first.

    Raises:
        LookupError: It is in neither place, or the Hub can't be reached.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
    from huggingface_hub.errors import EntryNotFoundError, GatedRepoError, RepositoryNotFoundError

    if any(isinstance(try_to_load_from_cache(name, file), str) for name in names for file in files):
        return
    why = ""
    for name in names:
        try:
            get_hf_file_metadata(hf_hub_url(name, files[0]), timeout=_TIMEOUT)
        except EntryNotFoundError:  # The repository is there.
            return
        except GatedRepoError as error:
            raise LookupError("its licence has to be accepted on the Hugging Face Hub, and HF_TOKEN set") from error
        except RepositoryNotFoundError:
            why = why or "the Hugging Face Hub has no model of that name"
        except Exception as error:  # Of whatever library the Hub's client uses.
            told = " ".join(str(error).split())[:200] or type(error).__name__
            why = f"it is not on this machine, and the Hugging Face Hub can't be reached ({told})"
        else:
            return
    raise LookupError(why)
