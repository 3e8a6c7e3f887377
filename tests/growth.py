"""Growth of the time of regular expressions and functions with the length of a repetitive text.

Run as a module, so that it has a process of its own that can be stopped: `python -m tests.growth`.
"""

from __future__ import annotations

import ast
import fnmatch
import gc
import importlib
import itertools
import json
import re
import re._constants as ops  # type: ignore[import-not-found]
import re._parser as regex_parser  # type: ignore[import-not-found]
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import regex

# Four times the text takes four times as long, or sixteen times if the time is quadratic. On a busy machine the factor
# may be ten, but not three times in a row.
_TIMES, _ALLOWED, _TRIES = 4, 10.0, 3
# Follows the text, so that nothing matches up to the end.
_STRANGER = "\x01"
_WAYS = {
    "finditer": lambda pattern, text: sum(1 for _ in pattern.finditer(text)),
    "match": lambda pattern, text: pattern.match(text),
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
}
_AS = dict.fromkeys(("findall", "finditer", "search", "sub", "subn", "split"), "finditer") | {
    way: way for way in ("match", "fullmatch")
}
#: Modules that compile patterns at run time from unpredictable values, each with an example of such a pattern.
MADE_LATER = {
    "tokenizers/registry.py": regex.compile(r"[\p{Devanagari}\p{Thai}\u0080-\u024f]+"),
    "hints.py": re.compile(r"a?(query|retrieve|similarity_search|invoke|as_.*)(_.*)?", re.DOTALL),
    "evaluation/measures/protocol.py": re.compile(r"recall@(?:[1-9]\d*)t"),
    "integrations/shared/filters.py": re.compile(r"Bird.*s.", re.DOTALL | re.IGNORECASE),
    "loaders/sheets/xlsx.py": re.compile(
        rb'c r="([A-Z]{1,3})(\d{1,7})"(?: s="(1|2)"(?: t="n"|(?![^<>]* t="))|(?: s="[0-9]+")? t="([es])")'
        rb"(?: [^<>]*)?>\s*(?:<(?:\w+:)?f\b(?:[^<>]*/>|[^<>]*>[^<]*</(?:\w+:)?f>)\s*)?<(?:\w+:)?v\b[^<>]*>([^<]*)<"
    ),
    "text/code.py": re.compile(r"\n[ \t]*EOF\b"),
    "text/marks.py": re.compile(r"\*(?:(?<=[.!?]\*)|(?<=[.!?][.!?)\]]{4}\*))"),
    "parsers/units/sentences.py": re.compile("[।。]+[\"'”’»」』）)\\]]*\\s*"),
    "server/routes/documents.py": re.compile(rb"/pages/[^/]*\.png$"),
    "integrations/ray/file_systems.py": re.compile(fnmatch.translate("bucket/*/a*b/*.md")),
    "stores/engines/edge/folder.py": re.compile(r"\.notes\.[0-9a-f]{32}"),
    "model_servers/secrets.py": re.compile(r"s\\*e\\*c\\*r\\*e\\*t"),
}


class Used(NamedTuple):
    """A pattern of the package, its location in the source, and its uses."""

    where: str
    pattern: Any
    ways: tuple[str, ...]


def is_linear(run: Callable[[str], object], unit: str, length: int, negligible: float) -> bool:
    """Return whether a function takes about four times as long for four times the text."""
    for _ in range(_TRIES):
        long = _seconds(run, unit, length)
        if long < negligible or long / max(_seconds(run, unit, length // _TIMES), 1e-6) < _ALLOWED:
            return True
    return False


def _seconds(run: Callable[[str], object], unit: str, length: int) -> float:
    text = (unit * (length // len(unit) + 1))[:length] + _STRANGER
    collects = gc.isenabled()
    gc.disable()  # It looks at all objects of the process, now and then.
    try:
        begun = time.process_time()
        run(text)
        return time.process_time() - begun
    finally:
        if collects:
            gc.enable()


def package_patterns() -> Iterator[Used]:
    """Yield every regular expression of the package.

    Raises:
        LookupError: The source contains a regular expression whose pattern is unknown.
    """
    compiled: dict[tuple[str, int], list[Any]] = {}
    for engine in (re, regex):
        engine.compile = _recording(engine.compile, compiled)  # type: ignore[attr-defined]
    import kinsplit

    (root,) = map(Path, kinsplit.__path__)
    sources = {file: list(_read(file)) for file in sorted(root.rglob("*.py"))}
    for file, nodes in sources.items():
        if any(_calls(nodes)):
            module = importlib.import_module(".".join(["kinsplit", *file.relative_to(root).with_suffix("").parts]))
            _compile_rest(module)
    from kinsplit.parsers.units.punkt import punkt_of

    punkt_of("en")
    everywhere = {use for nodes in sources.values() for use in _uses(nodes) if not use[0].startswith("_")}
    for file, nodes in sources.items():
        where = str(file.relative_to(root))
        uses = everywhere.union(_uses(nodes))
        names = _names(nodes)
        for call in _calls(nodes):
            function = call.func.attr  # type: ignore[attr-defined]
            place = f"{where}:{call.lineno}"
            if function == "compile":
                lines = range(call.lineno, (call.end_lineno or call.lineno) + 1)
                patterns = {p.pattern: p for line in lines for p in compiled.get((str(file), line), [])}
                ways = {way for name, way in uses if name == names.get(call.lineno)} or set(_WAYS)
            elif not isinstance(call.args[0], ast.Constant):
                patterns, ways = {}, {_AS[function]}
            else:
                found = re.compile(call.args[0].value, _flags(call))
                patterns, ways = {found.pattern: found}, {_AS[function]}
            if not patterns and where not in MADE_LATER:
                raise LookupError(f"no pattern of {place} was compiled, and MADE_LATER has none")
            for pattern in patterns.values() or [MADE_LATER[where]]:
                yield Used(place, pattern, tuple(sorted(ways)))


def _compile_rest(module: ModuleType) -> None:
    """Compile the patterns that a module compiles when they are first needed."""
    for value in vars(module).values():
        if getattr(getattr(value, "__wrapped__", None), "__name__", "") == "<lambda>":
            value()


def _recording(compiles: Callable[..., Any], into: dict[tuple[str, int], list[Any]]) -> Callable[..., Any]:
    def compile_and_keep(*args: Any, **options: Any) -> Any:
        pattern = compiles(*args, **options)
        frame = sys._getframe(1)
        into.setdefault((frame.f_code.co_filename, frame.f_lineno), []).append(pattern)
        return pattern

    return compile_and_keep


def _read(file: Path) -> Iterator[ast.AST]:
    """Yield the nodes of a source that the functions below look at."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call | ast.Attribute | ast.Assign):
            yield node


def _calls(nodes: Iterable[ast.AST]) -> Iterator[ast.Call]:
    for node in nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id in {"re", "regex"}
            and node.func.attr != "escape"
        ):
            yield node


def _flags(call: ast.Call) -> int:
    given = [*call.args[2:], *(keyword.value for keyword in call.keywords if keyword.arg == "flags")]
    return sum(getattr(re, flag.attr, 0) for flag in given if isinstance(flag, ast.Attribute))


def _uses(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield the names on which methods of patterns are called, and the way in which each uses the pattern."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in _AS and isinstance(node.value, ast.Name | ast.Attribute):
            yield getattr(node.value, "id", "") or getattr(node.value, "attr", ""), _AS[node.attr]


def _names(nodes: Iterable[ast.AST]) -> dict[int, str]:
    """Return the name to which each line assigns."""
    return {
        line: getattr(target, "id", "") or getattr(target, "attr", "")
        for node in nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def units(pattern: Any) -> list[str]:
    """Return the units of texts to try a pattern on: its characters, pairs of them, and beginnings of its matches."""
    characters = dict.fromkeys("a \n")
    beginnings: dict[str, None] = {}
    if isinstance(pattern, re.Pattern):
        source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
        _sample(regex_parser.parse(source, pattern.flags), characters, beginnings)
    else:  # `regex` knows classes that `re` can't parse: a combining mark, letters without spaces, emoji, flags.
        characters |= dict.fromkeys("e\u0301\u4e2d\u0e01\U0001f600\U0001f1e9\u200d")
    few = list(characters)[:4]
    pairs = ["".join(pair) for pair in itertools.permutations(few, 2)]
    return list(dict.fromkeys([*few, *pairs, *list(beginnings)[:8]]))


def _sample(parsed: Iterable[tuple[Any, Any]], characters: dict[str, None], beginnings: dict[str, None]) -> str:
    """Return a text that a parsed pattern matches; add its characters and its beginnings to the given ones."""
    sample = ""
    for kind, value in parsed:
        part = ""
        if kind is ops.LITERAL:
            part = chr(value)
        elif kind in {ops.NOT_LITERAL, ops.ANY}:
            part = "b"
        elif kind is ops.IN:
            part = _member(value)
        elif kind in {ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT}:
            part = _sample(value[2], characters, beginnings) * max(value[0], 1)
        elif kind in {ops.SUBPATTERN, ops.ATOMIC_GROUP}:
            part = _sample(value[-1] if kind is ops.SUBPATTERN else value, characters, beginnings)
        elif kind is ops.BRANCH:
            part, *_ = [_sample(branch, characters, beginnings) for branch in value[1]]
        elif kind in {ops.ASSERT, ops.ASSERT_NOT}:
            _sample(value[1], characters, beginnings)
        characters.update(dict.fromkeys(part[:1]))
        sample += part
        beginnings.update(dict.fromkeys([sample, part] if part else []))
    return sample


_OF_CATEGORY = {
    ops.CATEGORY_DIGIT: "0",
    ops.CATEGORY_WORD: "_",
    ops.CATEGORY_SPACE: " ",
    ops.CATEGORY_NOT_DIGIT: "b",
    ops.CATEGORY_NOT_WORD: "!",
    ops.CATEGORY_NOT_SPACE: "b",
}


def _member(items: list[tuple[Any, Any]]) -> str:
    """Return a character of a class."""
    named = [
        _OF_CATEGORY[value] if kind is ops.CATEGORY else chr(value[0] if kind is ops.RANGE else value)
        for kind, value in items
        if kind is not ops.NEGATE
    ]
    return next(c for c in "b 0!\n" if c not in named) if items[0][0] is ops.NEGATE else named[-1]


def _try(pattern: Any, way: str, text: str) -> None:
    _WAYS[way](pattern, text if isinstance(pattern.pattern, str) else text.encode("latin-1", "replace"))


def slow_patterns() -> Iterator[str]:
    """Yield the patterns whose time grows faster than the length of the text."""
    for where, pattern, ways in package_patterns():
        for unit, way in itertools.product(units(pattern), ways):
            if not is_linear(partial(_try, pattern, way), unit, 4096, 0.003):
                yield f"{where} {pattern.pattern!r}: {way} on {unit!r}"
                break


#: Units of texts to try functions on: endless words, endless sentences, unclosed marks.
UNITS = (
    *("a", "0", "_", "aB", "deadbeef", " ", "\n", "\r", ".", ". "),
    *("a.", "A. ", "?!", "\u4e2d", "\u0e01", "e\u0301", "\u0301", "\U0001f1e9", "\U0001f600\u200d", "\u3002"),
    *("\u201c", "'", '"', "# ", "# a\n", "`", "```\n", "*", "- a\n", "=\n"),
    *("|", "|a|\n|-|\n", "<", "<h1>", "<pre>", "<!--", "&#", "[1", "[1]", "[1,"),
    *('{"a":', "(", "{\n", "/*", "<<A\n", "<think>", "1,"),
)


def functions() -> dict[str, Callable[[str], object]]:
    """Return the functions that read untrusted texts, by name."""
    from kinsplit.answering.attempt import MarkerReader
    from kinsplit.answering.checking import claims
    from kinsplit.answering.values import Citation
    from kinsplit.chunk import Document
    from kinsplit.embedding.hashing import HashEmbedder
    from kinsplit.embedding.sparse import Bm25Embedder
    from kinsplit.evaluation.datasets.normalised import normalise
    from kinsplit.language_models.parsing import read_numbers, read_objects
    from kinsplit.loaders.content import UnreadableError
    from kinsplit.loaders.formats import html, markdown, transcript
    from kinsplit.parsers import create
    from kinsplit.parsers.units.sentences import sentences
    from kinsplit.spans import Span
    from kinsplit.text.code import is_code, statement_starts
    from kinsplit.tokenizers.registry import count_tokens

    def cited(text: str) -> object:
        reader, answer, citations = MarkerReader(), "", []
        for part in [*reader.feed(text), *reader.finish()]:
            if not isinstance(part, str):
                at = Span(len(answer), len(answer) + len(part.text))
                citations.append(Citation(part.numbers[0], at, None, None, None))
            answer += part if isinstance(part, str) else part.text
        return claims(text, citations)

    def loader(read: Callable[[bytes], object], head: bytes = b"") -> Callable[[str], object]:
        def load(text: str) -> None:
            with suppress(UnreadableError):
                read(head + text.encode())

        return load

    strategies = {
        name: create(name)
        for name in ("character", "word", "token", "sentence", "structure", "hierarchical", "multigranular")
    }
    cue = b"00:00:00.000 --> 00:00:01.000\n"
    return {
        **{
            name: lambda text, strategy=strategy: strategy.chunk(Document(id="x", text=text))
            for name, strategy in strategies.items()
        },
        **{
            f"sentences of {language}": lambda text, language=language: sentences(text, language)
            for language in ("en", "ja", "hi", "und")
        },
        **{
            f"BM25 of {model.language}": lambda text, model=model: model.embed([text])
            for model in (Bm25Embedder("english"), Bm25Embedder(None))
        },
        "hash": lambda text: HashEmbedder().embed([text]),
        "lines of code": lambda text: is_code(f"f(x);\n{text}", 0, len(text)),
        "statements": lambda text: statement_starts(text, 0, len(text)),
        "claims": cited,
        "normalise": normalise,
        "numbers": lambda text: read_numbers(text, "key"),
        "objects": lambda text: list(read_objects(text)),
        "tokens of a model": count_tokens,
        "Markdown": loader(markdown.read),
        "HTML": loader(html.read),
        "VTT": loader(transcript.VTT.read, b"WEBVTT\n\n" + cue),
    }


def slow_functions() -> Iterator[str]:
    """Yield the functions whose time grows faster than the length of the text."""
    for name, function in functions().items():
        function("Load what is needed.")
        slow = [unit for unit in UNITS if not is_linear(function, unit, 16_384, 0.06)]
        if slow:
            yield f"{name} on {slow}"


if __name__ == "__main__":
    gc.disable()  # Its pauses come whenever enough objects were made, which may be at the same text each time.
    # The patterns first, since they are recorded as the modules are imported.
    json.dump([*slow_patterns(), *slow_functions()], sys.stdout)
