"""The options that commands share, and what their text means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinsplit.errors import InvalidParameterError
from kinsplit.support.literals import read_value

if TYPE_CHECKING:
    from kinsplit.indexing.configuration import IndexSettings
    from kinsplit.loaders import Limits
    from kinsplit.parsers import Strategy

#: The strategy whose parameters are set where none is named.
DEFAULT_STRATEGY = "sentence"


def _given(path: str) -> Path:
    if not path:  # As of a variable of the shell that isn't set. To Path it is the folder one is in.
        raise typer.BadParameter("A path is empty. Write . for the folder you are in.")
    return Path(path)


Paths = Annotated[
    list[Path], typer.Argument(metavar="PATHS", help="Files and folders.", show_default=False, parser=_given)
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A parameter of the strategy, as JSON or else as text; may be repeated. See: kinsplit strategies NAME",
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A TOML file, such as kinsplit tune writes, for what isn't said here: its table [index] has strategy, "
        "[index.parameters], embedder, embedding_context and language.",
        show_default=False,
    ),
]
Subjects = Annotated[str | None, typer.Option(metavar="A,B", help="Read only these sub-folders of the given folders.")]
Store = Annotated[str, typer.Option(metavar="ADDRESS", help="Where it lies: edge:DIR, qdrant:URL, pgvector:DSN.")]
Collection = Annotated[str, typer.Option(metavar="NAME", help="Name of the collection.")]
Embedder = Annotated[
    str, typer.Option(metavar="SPEC", help="Embedding model: bundled, static, st:NAME_OR_PATH, or hash for tests.")
]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="SPEC",
        help="Embedding model: bundled, static, st:NAME_OR_PATH, or hash for tests. Default: bundled.",
        show_default=False,
    ),
]
Cache = Annotated[
    bool,
    typer.Option("--cache", help="Keep vectors for later runs, in KINSPLIT_CACHE or the user's cache folder."),
]
FileLimits = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="KEY=VALUE",
        help="How much a file may cost: size, text or memory, such as memory=4GiB, or seconds; may be repeated.",
    ),
]
Normalise = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Normalise the texts before they are split, as labels or chunks made elsewhere were counted: sc-qrels. "
        "Offsets count the normalised text.",
        show_default=False,
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Only tell how often the strategy would ask a language model, and with how many tokens."
    ),
]
EmbeddingContext = Annotated[
    str | None,
    typer.Option(
        metavar="headings|none|late",
        help="What is embedded beside a chunk's text. Default: as the collection was made; headings for a new one.",
        show_default=False,
    ),
]
#: Of all strategies that a command compares.
SharedEmbeddingContext = Annotated[
    str, typer.Option(metavar="headings|none|late", help="What is embedded beside a chunk's text.")
]
SharedLanguage = Annotated[
    str, typer.Option(metavar="LANGUAGE", help="Of stop words and stems, or any for words as they are.")
]
Rerank = Annotated[
    str, typer.Option(metavar="SPEC", help="Reranker: none, late, cross-encoder:NAME_OR_PATH, or llm:MODEL.")
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="Search only what has this metadata, also with !=, <, <=, > or >=; KEY= again adds a value.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON to stdout, and JSON lines to stderr.")]


def parse_settings(settings: Iterable[str] | None) -> dict[str, Any]:
    """Read a strategy's parameters.

    Args:
        settings: Each `key=value`; the value is JSON where it parses as JSON, and text otherwise.

    Raises:
        InvalidParameterError: No `=`, or a key given twice.
    """
    parsed: dict[str, Any] = {}
    for key, value in _pairs("--set", settings, "chunk_size=300"):
        if key in parsed:
            raise InvalidParameterError("--set", f"can't give {key} twice", value, "Give it once.")
        parsed[key] = read_value(value)
    return parsed


def parse_limits(limits: Iterable[str] | None) -> Limits:
    """Read how much a file may cost.

    Args:
        limits: Each `key=value`; bytes may have a unit.

    Raises:
        InvalidParameterError: No `=`, a key that isn't known, or a value that it can't have.
    """
    from pydantic import ByteSize, TypeAdapter, ValidationError

    from kinsplit.loaders import Limits

    parsed: dict[str, Any] = {}
    for key, value in _pairs("--limit", limits, "memory=4GiB"):
        kind: Any = {"size": ByteSize, "text": ByteSize, "memory": ByteSize, "seconds": float}.get(key)
        if kind is None:
            raise InvalidParameterError("--limit", "must be size, text, memory or seconds", key, "Name one of them.")
        if key in parsed:
            raise InvalidParameterError("--limit", f"can't give {key} twice", value, "Give it once.")
        try:
            parsed[key] = TypeAdapter(kind).validate_python(value)
        except ValidationError:
            rule = "must be a number" if kind is float else "must be a number of bytes, or have a unit such as MiB"
            raise InvalidParameterError(f"--limit {key}", rule, value, "Correct it.") from None
    return Limits(**parsed)


def read_config(path: Path | None) -> IndexSettings:
    """Read what a configuration file says of indexing; nothing without one."""
    from kinsplit.indexing.configuration import Configuration

    return (Configuration() if path is None else Configuration.read(path)).index


def make_strategy(name: str, settings: Iterable[str] | None, config: IndexSettings) -> Strategy:
    """Make a strategy and load its tokenizer, so that a wrong one is found out before anything is written.

    Args:
        name: Of the strategy.
        settings: See `parse_settings`; each takes the place of the file's.
        config: What the file says; its parameters count only if it names the same strategy.

    Raises:
        InvalidParameterError: The name or a setting is wrong.
        TokenizerError: The tokenizer is not there.
    """
    from kinsplit.parsers import create, current_name
    from kinsplit.tokenizers import resolve

    name = current_name(name)
    of_file = config.parameters if name == config.strategy else {}
    strategy = create(name, **{**of_file, **parse_settings(settings)})
    resolve(strategy.tokenizer)
    return strategy


def parse_where(conditions: Iterable[str] | None) -> dict[str, Any]:
    """Read metadata filters; see `kinsplit.stores.filters.parse_where`."""
    from kinsplit.stores.filters import parse_where as parse

    return parse("--where", conditions or ())


def parse_names(names: str | None, option: str = "--subjects") -> list[str]:
    """Read names that commas separate; none where the option isn't given.

    Raises:
        InvalidParameterError: It is given, and names nothing.
    """
    if names is None:
        return []
    if not (found := [name for part in names.split(",") if (name := part.strip())]):
        raise InvalidParameterError(option, "must name something", names, "Leave it out for all.")
    return found


def _pairs(option: str, texts: Iterable[str] | None, example: str) -> Iterator[tuple[str, str]]:
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            remedy = f"Write for example {option} {example}."
            raise InvalidParameterError(option, "must be key=value", text, remedy)
        yield key.strip(), value
