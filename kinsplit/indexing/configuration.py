"""Configuration files, which `kinsplit tune` writes and `--config` reads."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import ConfigDict, Field, create_model, field_validator, model_validator

from kinsplit import embedding
from kinsplit.doors import DOORS, FILE
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import InvalidParameterError, LoadError, require
from kinsplit.models import ModelSpec
from kinsplit.options import AddOptions, IndexOptions
from kinsplit.parsers import Strategy, create, strategy_class
from kinsplit.support.extras import needs
from kinsplit.support.settings import Settings


class IndexSettings(IndexOptions, AddOptions):
    """Table `[index]`: options of an index, and of adding files. Missing keys have the usual defaults.

    Attributes:
        parameters: Parameters of the strategy; missing ones have its defaults.
    """

    strategy: str | None = None
    embedder: str | None = None
    context_model: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)

    @field_validator("strategy")
    @classmethod
    def _known_strategy(cls, name: str | None) -> str | None:
        return None if name is None else strategy_class(name).name

    @field_validator("embedder")
    @classmethod
    def _known_embedder(cls, spec: str | None) -> str | None:
        if spec is not None:
            embedding.create(spec)
        return spec

    @field_validator("language")
    @classmethod
    def _known_language(cls, language: str | None) -> str | None:
        Bm25Embedder(language)
        return language

    @model_validator(mode="after")
    def _check(self) -> Self:
        known = self.strategy is not None or not self.parameters
        require(known, "parameters", "need a strategy", self.parameters, 'Write strategy = "NAME".')
        self.splitter()
        return self

    def splitter(self) -> Strategy | None:
        """Return the strategy, or None if none is named.

        Raises:
            InvalidParameterError: No strategy has that name or these parameters.
        """
        if self.strategy is None:
            return None
        try:
            return create(self.strategy, **self.parameters)
        except InvalidParameterError as error:
            raise error.of(f"parameters.{error.field}") from None


class _Table(Settings):
    model_config = ConfigDict(arbitrary_types_allowed=True)


def _table(operation: str) -> Any:
    """Return the model of a table: its options one by one, since a command may give others that they depend on."""
    fields: Any = {name: (info.annotation, info) for name, info in DOORS[operation][FILE].fields().items()}
    return create_model(f"{operation.title()}Settings", __base__=_Table, **fields)


_TABLES = {operation: _table(operation) for operation in ("search", "ask", "evaluate")}
_FIELDS: Any = {operation: (table, table()) for operation, table in _TABLES.items()}
_Tables: Any = create_model("_Tables", __base__=Settings, **_FIELDS)


# Settings, options and parameters that are models.
_MODELS = frozenset({"context_model", "embedder", "model", "rerank", "rerankers"})


def _replaced(value: Any, models: Mapping[str, ModelSpec], field: str = "") -> Any:
    """Return a table in which each model has its spec instead of its name."""
    if isinstance(value, dict):
        return {key: _replaced(each, models, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, models, field) for each in value]
    return str(models[value]) if field in _MODELS and value in models else value


class Configuration(_Tables):
    """A TOML file of settings.

    Attributes:
        models: Specs of models by names of your own, which stand for them in the other tables: as text, or as a table
            with `spec`, or with `provider`, `name` and options.
        index: Settings of splitting and embedding, and of adding files.
        search: Options of the command `search`.
        ask: Options of the command `ask`.
        evaluate: Options of the command `evaluate`, and of `compare` and `tune` as far as they have them.
        service: Settings of the service, which `kinsplit.server.settings` validates.
    """

    models: dict[str, ModelSpec] = Field(default_factory=dict)
    index: IndexSettings = IndexSettings()
    service: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _replace_names(cls, tables: dict[str, Any]) -> dict[str, Any]:
        named = tables.get("models", {})
        if not named or not isinstance(named, dict):
            return tables
        models = {name: ModelSpec.of(spec, f"models.{name}") for name, spec in named.items()}
        return {name: _replaced(table, models) for name, table in tables.items()} | {"models": models}

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file; of a `pyproject.toml`, the tables below `[tool.kinsplit]`.

        Raises:
            LoadError: The file is not valid TOML.
            InvalidParameterError: A key or a value is not allowed; the message begins with the file's name.
        """
        try:
            tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))  # Windows writes a byte order mark.
        except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, or nested too deeply
            raise LoadError(path, f"is not valid TOML ({error}). Correct it there.") from None
        if path.name == "pyproject.toml":
            tables = tables.get("tool", {}).get("kinsplit", {})
        try:
            return cls(**tables)
        except InvalidParameterError as error:
            raise error.of(f"{path}: {error.field}") from None

    def table(self, name: str) -> dict[str, Any]:
        """Return what a table sets; nothing if it has no name."""
        if not name:
            return {}
        table = getattr(self, name)
        return {key: getattr(table, key) for key in type(table).model_fields if key in table.model_fields_set}

    def write(self, path: Path, remarks: str = "") -> None:
        """Write a file that `read` takes.

        Args:
            path: The file; an existing one is replaced.
            remarks: Lines of the comment at the top.

        Raises:
            MissingExtraError: tomlkit is not installed.
        """
        with needs("evaluation"):
            import tomlkit
        document = tomlkit.document()
        for line in remarks.splitlines():
            document.add(tomlkit.comment(line))
        # TOML has no null; a missing key has its default.
        tables = self.model_dump(mode="json", exclude_defaults=True)
        tables["index"]["parameters"] = {k: v for k, v in self.index.parameters.items() if v is not None}
        document.update(tables)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(tomlkit.dumps(document), encoding="utf-8")
