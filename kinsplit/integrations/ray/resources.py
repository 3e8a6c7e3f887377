"""Share of a Ray cluster that the stages take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kinsplit.embedding.protocol import Embedder
from kinsplit.embedding.remote_models.usage import usage_of
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.ray.stages import TOKENS

# Documents that an actor with a GPU takes at a time, for which Ray wants a number.
_DOCUMENTS = 16


class Pool(NamedTuple):
    """Keyword arguments of `map_batches` for the stages.

    Attributes:
        task: For tasks, which read, split and compare.
        embedding: For the actors that embed.
        writing: For the actors that write.
        tasks: Number of tasks among which files are divided, if there are enough.
    """

    task: dict[str, Any]
    embedding: dict[str, Any]
    writing: dict[str, Any]
    tasks: int


@dataclass(frozen=True, slots=True)
class Resources:
    """Share of a cluster that `kinsplit.integrations.ray.index` takes.

    Attributes:
        concurrency: Number of actors that embed. None takes as many as the GPUs allow, or without `num_gpus` half the
            number of processors.
        num_cpus: Processors of each of them. None takes 1, or 0 for a model on a GPU or on a server.
        num_gpus: GPUs of each of them, such as 1 or 0.5.
        tokens: Number of tokens, estimated, that an actor embeds in one call of its model.
        writers: Maximum number of actors that write, each with a connection of its own.

    Raises:
        InvalidParameterError: A number is too small.
    """

    concurrency: int | None = None
    num_cpus: float | None = None
    num_gpus: float = 0
    tokens: int = TOKENS
    writers: int = 4

    def __post_init__(self) -> None:
        least = {"concurrency": 1, "num_cpus": 0, "num_gpus": 0, "tokens": 1, "writers": 1}
        for field, lowest in least.items():
            value = getattr(self, field)
            if value is not None and value < lowest:
                raise InvalidParameterError(field, f"must be at least {lowest}", value, "Leave it out for the default.")

    def on(self, cluster: Mapping[str, float], embedder: Embedder) -> Pool:
        """Return the arguments for a cluster.

        Args:
            cluster: Total resources of the cluster, as `ray.cluster_resources()` returns them.
            embedder: The embedding model.

        Raises:
            InvalidParameterError: The cluster has too few GPUs or processors.
        """
        from ray.data import ActorPoolStrategy

        cpus, gpus = cluster.get("CPU", 0.0), cluster.get("GPU", 0.0)
        if self.num_gpus > gpus:
            remedy = "Leave it out, or connect to a cluster that has them."
            rule = f"must be at most {gpus:g}, the GPUs of the cluster"
            raise InvalidParameterError("num_gpus", rule, self.num_gpus, remedy)
        # On a single processor, tasks need a part of it.
        share = min(1.0, cpus / 2)
        num_cpus = self.num_cpus
        if num_cpus is None:
            num_cpus = 0.0 if self.num_gpus or usage_of(embedder) else share
        number = self.concurrency or max(1, int(gpus / self.num_gpus if self.num_gpus else cpus / 2))
        if number * self.num_gpus > gpus or number * num_cpus > cpus - share:
            fitting = (
                f"{gpus:g} GPUs" if number * self.num_gpus > gpus else f"{cpus:g} processors, of which tasks need 1"
            )
            remedy = "Lower it, or num_cpus or num_gpus."
            raise InvalidParameterError("concurrency", f"must fit into {fitting}", number, remedy)
        gpu = {"num_gpus": self.num_gpus, "batch_size": _DOCUMENTS} if self.num_gpus else {}
        # A task waits half of its time for a reader's process or the store, and a writer nearly always for the store.
        return Pool(
            {"batch_format": "pyarrow", "num_cpus": share / 2},
            {"batch_format": "pyarrow", "num_cpus": num_cpus, "compute": ActorPoolStrategy(size=number), **gpu},
            {"batch_format": "pyarrow", "num_cpus": 0, "compute": ActorPoolStrategy(min_size=1, max_size=self.writers)},
            max(1, int(4 * cpus)),
        )
