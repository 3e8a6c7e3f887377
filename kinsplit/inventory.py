"""Inventory of models: their providers, the cache, the servers that can be reached, and a check of one model."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kinsplit import embedding, language_models
from kinsplit.embedding.backends.model_cache import PROBE
from kinsplit.embedding.backends.model_files import hub_cache
from kinsplit.embedding.bundled import REPOSITORY
from kinsplit.embedding.protocol import card_of
from kinsplit.embedding.registry import EMBEDDERS
from kinsplit.errors import KinsplitError, LanguageModelError, MissingExtraError, require
from kinsplit.language_models.registry import LANGUAGE_MODELS
from kinsplit.models import ModelCard, ModelSpec, make
from kinsplit.registry import Registry
from kinsplit.retrieval.rerank import RERANKERS, create_reranker
from kinsplit.support.environment import cache_folder

Kind = Literal["embedder", "reranker", "model"]
#: The registries of the kinds of models; a provider of several kinds is one of the first unless another is named.
KINDS: Mapping[Kind, Registry[Any]] = {"embedder": EMBEDDERS, "reranker": RERANKERS, "model": LANGUAGE_MODELS}
# Seconds to wait for a server to tell its models.
_PATIENCE = 3.0
# Sentences for the speed: of usual length, and enough for a few batches.
_SENTENCES = tuple(f"{text} Note {number}." for number in range(32) for text in PROBE[:1] + PROBE[2:3])
_QUESTION, _ANSWERS = "When do owls hunt?", ("Owls hunt at night.", "The market opens at nine.")
_TASK = "Which number follows six? Answer with the number alone."


@dataclass(frozen=True)
class Provider:
    """A provider of models of a kind.

    Attributes:
        kind: Kind of its models.
        forms: Forms of their specs.
        missing: Command that installs what it needs; "" if nothing is missing.
    """

    kind: Kind
    forms: tuple[str, ...]
    missing: str


def providers() -> list[Provider]:
    """Return all providers, those of other packages too."""
    found = []
    for kind, registry in KINDS.items():
        for name in registry.names():
            forms = tuple(registry.forms(name))
            missing = ""
            try:
                registry.load(name)
                # Its parameters in capitals are as good as a name: nothing is loaded or called yet.
                make(registry, forms[0], embedder=None, timeout=_PATIENCE)
            except MissingExtraError as error:
                missing = f'pip install "kinsplit[{error.extra}]"'
            except KinsplitError:
                if name not in registry.names():  # A warning says why this one of another package can't be used.
                    continue
            found.append(Provider(kind, forms, missing))
    return found


def servers() -> dict[str, list[str] | None]:
    """Return the models that the servers of OpenAI's API and of Ollama list, by address; None where none is reached.

    A server whose key isn't set is left out.
    """
    from kinsplit.model_servers.clients import connect_ollama, connect_openai, models_of

    options: dict[str, Any] = {"timeout": _PATIENCE, "failed": LanguageModelError, "unavailable": LanguageModelError}
    connected = connect_openai("openai", None, None, **options), connect_ollama("", None, **options)
    return {server.url: models_of(server) for server in connected if not server.missing}


def cached() -> dict[Path, int]:
    """Return the bytes of each model and each other cache in the cache folder, and of the default model's download.

    That lies in the cache of the Hugging Face Hub, which other programs share.
    """
    folder = cache_folder()
    models = [path for path in sorted((folder / "models").glob("*")) if path.is_dir()]
    others = [path for path in sorted(folder.glob("*")) if path.is_dir() and path.name != "models"]
    with suppress(MissingExtraError):
        others += [path for path in [hub_cache(REPOSITORY)] if path.is_dir()]
    return {path: _size(path) for path in (*models, *others)}


def clear() -> int:
    """Delete the models in the cache folder, which are made again when they are used, and return their bytes."""
    folder = cache_folder() / "models"
    size = _size(folder)
    shutil.rmtree(folder, ignore_errors=True)
    return size


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


@dataclass(frozen=True)
class ModelCheck:
    """A model that was asked one thing.

    Attributes:
        kind: Kind of the model.
        name: Its full spec.
        card: Its card.
        runs_on: What runs it; "" where that isn't known.
        load: Seconds until the first answer.
        speed: Texts or answers per second after that.
        memory: Bytes by which the most memory of this process has grown; None where the system doesn't tell.
        answer: What it answered, in words.
        reference: Lowest cosine with the vectors of the reference implementation; None without one.
    """

    kind: Kind
    name: str
    card: ModelCard
    runs_on: str
    load: float
    speed: float
    memory: int | None
    answer: str
    reference: float | None = None


def check(spec: str | ModelSpec, kind: Kind | None = None) -> ModelCheck:
    """Ask a model one thing, and measure it.

    Args:
        spec: Spec of the model.
        kind: Kind of the model; None for the first one that has the provider.

    Raises:
        InvalidParameterError: No provider has that name, or an option is unknown or wrong.
        KinsplitError: The model can't be loaded or reached.
    """
    provider = str(spec).partition("?")[0].partition(":")[0]
    found = kind or next((each for each, registry in KINDS.items() if provider in registry.names()), None)
    known = ", ".join(dict.fromkeys(name for registry in KINDS.values() for name in registry.names()))
    require(found is not None, "SPEC", "must begin with the name of a provider", provider, f"Use one of {known}.")
    return _CHECKS[found or "embedder"](spec)


def _embedder(spec: str | ModelSpec) -> ModelCheck:
    before, embedder = _memory(), embedding.create(spec)
    load = _seconds(lambda: embedder.embed_query(_QUESTION))
    speed = len(_SENTENCES) / _seconds(lambda: embedder.embed(_SENTENCES))
    memory = _grown(before)  # The reference takes more.
    cosine = None
    with suppress(MissingExtraError, AttributeError):
        texts = [*filter(None, PROBE)]
        expected = embedder.reference(texts)  # type: ignore[attr-defined]
        cosine = float(np.einsum("td,td->t", expected, embedder.embed(texts)).min())
    runs_on, card = getattr(embedder, "runs_on", ""), card_of(embedder)
    answer = f"a vector of {embedder.dimension} numbers"
    return ModelCheck("embedder", embedder.name, card, runs_on, load, speed, memory, answer, cosine)


def _reranker(spec: str | ModelSpec) -> ModelCheck:
    before, reranker = _memory(), create_reranker(spec, embedding.resolve("bundled"))
    require(reranker is not None, "SPEC", "must be a model", str(spec), "'none' is the absence of one.")
    answers: list[Any] = []
    load = _seconds(lambda: answers.extend(reranker.rerank(_QUESTION, _ANSWERS)))  # type: ignore[union-attr]
    seconds = _seconds(lambda: reranker.rerank(_QUESTION, _ANSWERS * 8))  # type: ignore[union-attr]
    inner = getattr(reranker, "model", None) or getattr(reranker, "embedder", None)
    card = getattr(reranker, "card", None) or getattr(inner, "card", None) or ModelCard(weights=str(spec), window=0)
    scores = ", ".join(f"{each.score:.3f}" for each in sorted(answers, key=lambda each: each.index))
    return ModelCheck("reranker", str(spec), card, "", load, 16 / seconds, _grown(before), f"scores {scores}")


def _model(spec: str | ModelSpec) -> ModelCheck:
    before, model = _memory(), language_models.create(spec)
    answers: list[str] = []
    load = _seconds(lambda: answers.append(model.complete(_TASK, max_tokens=64)))
    seconds = _seconds(lambda: model.complete(_TASK, max_tokens=64))
    card = getattr(model, "card", None) or ModelCard(weights=model.name, window=model.window)
    return ModelCheck("model", model.name, card, "", load, 1 / seconds, _grown(before), repr(answers[0][:200]))


_CHECKS: Mapping[Kind, Callable[[str | ModelSpec], ModelCheck]] = {
    "embedder": _embedder,
    "reranker": _reranker,
    "model": _model,
}


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return max(time.perf_counter() - begun, 1e-9)


def _memory() -> int | None:
    """Return the most bytes of memory that this process has used."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows has none.
        return None
    # macOS counts bytes, others KiB.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _grown(before: int | None) -> int | None:
    now = _memory()
    return None if before is None or now is None else now - before
