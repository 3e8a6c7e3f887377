"""Source code, unchanged, with its classes and functions as the outline.

Grammars of tree-sitter find them, also in code with mistakes, as far as it can be understood. A part that begins on the
line of another one, as in minified code, is not listed by itself. Without the extra `code`, and for languages without a
grammar, there is no outline.

The grammars of tree-sitter are packages of their own with wheels for every platform; the packages that bundle hundreds
of languages load them over the network when they are used, or weigh more than all other formats together. The tree is
walked here, since tree-sitter's own queries take quadratic time for text that is no code.

In Python, its own tokenizer finds classes and functions, so that code that doesn't compile also has an outline, as far
as it can be read.
"""

from __future__ import annotations

import functools
import io
import itertools
import re
import time
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate, takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from kinsplit.chunk import Part
from kinsplit.kinds import CODE
from kinsplit.loaders.content import Content, Format, Reading
from kinsplit.loaders.decoding import clean, decode
from kinsplit.support.extras import needs

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree


def _words(*types: str) -> dict[str, str]:
    """Return the word before a part's name in its title, by the type of its node: the type's own first, or as given."""
    pairs = (each.partition(":") for line in types for each in line.split())
    return {kind: word or kind.partition("_")[0] for kind, _, word in pairs}


_C = "function_definition struct_specifier union_specifier enum_specifier"
_JAVASCRIPT = (
    "function_declaration generator_function_declaration:function class_declaration method_definition",
    "variable_declarator:function assignment_expression:function",
)
_TYPESCRIPT = (
    *_JAVASCRIPT,
    "abstract_class_declaration:class interface_declaration enum_declaration internal_module:namespace module",
    "public_field_definition:method",
)
_KINDS = {
    "bash": _words("function_definition"),
    "c": _words(_C),
    "c_sharp": _words(
        "method_declaration constructor_declaration local_function_statement:function property_declaration",
        "class_declaration struct_declaration record_declaration interface_declaration enum_declaration",
        "namespace_declaration",
    ),
    "cpp": _words(_C, "class_specifier namespace_definition"),
    "go": _words("function_declaration:func method_declaration:func type_spec"),
    "java": _words(
        "method_declaration constructor_declaration class_declaration interface_declaration enum_declaration",
        "record_declaration annotation_type_declaration",
    ),
    "javascript": _words(*_JAVASCRIPT),
    "kotlin": _words("function_declaration:fun class_declaration object_declaration"),
    "lua": _words("function_declaration"),
    "php": _words(
        "function_definition method_declaration class_declaration interface_declaration trait_declaration",
        "enum_declaration",
    ),
    "ruby": _words("method:def singleton_method:def class module"),
    "rust": _words("function_item:fn struct_item enum_item trait_item impl_item mod_item macro_definition"),
    "scala": _words("function_definition:def class_definition object_definition trait_definition enum_definition"),
    "swift": _words("function_declaration:func init_declaration class_declaration protocol_declaration"),
    "tsx": _words(*_TYPESCRIPT),
    "typescript": _words(*_TYPESCRIPT),
}
# Of some nodes, the field that must hold one of these types: mere mentions of a name are no parts.
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function"})
_REQUIRED: dict[str, tuple[str, frozenset[str] | None]] = {
    "variable_declarator": ("value", _FUNCTIONS),
    "public_field_definition": ("value", _FUNCTIONS),
    "assignment_expression": ("right", _FUNCTIONS),
    "type_spec": ("type", frozenset({"struct_type", "interface_type"})),
    **dict.fromkeys(("struct_specifier", "union_specifier", "enum_specifier", "class_specifier"), ("body", None)),
    "mod_item": ("body", None),
}
# The fields that may hold the name.
_NAMES = ("name", "declarator", "left", "type")
_KEYWORDS = frozenset({"init"})  # which Swift's grammar takes for a name

#: Suffixes of each grammar.
GRAMMARS: dict[str, tuple[str, ...]] = {name: CODE[name] for name in _KINDS}
# Packages of several grammars, whose functions have the grammars' names.
_SHARED = {"tsx": "typescript", "typescript": "typescript", "php": "php"}
_LONE_RETURN = re.compile("\r(?!\n)")
# Nodes around a part that belong to it, such as the parameters of a template.
_WRAPPERS = frozenset(
    {"export_statement", "expression_statement", "lexical_declaration", "template_declaration", "variable_declaration"}
)
# Of the declarator of a function in C, such as `*area(int x)`.
_ARGUMENTS = re.compile(r"\(.*", re.DOTALL)
_LONGEST_NAME = 80
_READ = 4096  # bytes that the parser reads at once
_SECONDS = 30.0  # ten times what four megabytes of code take


def code_outline(text: str, language: str) -> tuple[Part, ...] | None:
    """Return the classes and functions of source code, outer ones before nested ones.

    It is None for text that takes far longer than code would, such as thousands of open quotes.

    Raises:
        MissingExtraError: tree-sitter or the grammar is not installed.
    """
    # A return alone ends no line for the grammars, and would make the rest of the file a comment.
    data = _LONE_RETURN.sub("\n", text).encode()
    deadline = time.monotonic() + _SECONDS
    # A parser that reads nothing more ends.
    tree = _parser(language).parse(lambda at, _: b"" if time.monotonic() > deadline else data[at : at + _READ])
    kinds = _KINDS[language]
    parts = [(node, outer) for node, outer in _nodes(tree) if node.type in kinds and _is_part(node)]
    titles = [f"{kinds[node.type]} {_name(node, data)}".rstrip() for node, _ in parts]
    found = [(outer.start_byte, outer.end_byte, title) for (_, outer), title in zip(parts, titles, strict=True)]
    return None if time.monotonic() > deadline else _apart(_in_characters(found, data, text), text)


@functools.cache
def _parser(name: str) -> Parser:
    function = f"language_{name}" if name in _SHARED else "language"
    with needs("code"):
        from tree_sitter import Language, Parser

        grammar = import_module(f"tree_sitter_{_SHARED.get(name, name)}")
    return Parser(Language(getattr(grammar, function)()))


def _nodes(tree: Tree) -> Iterator[tuple[Node, Node]]:
    """Yield all nodes that have children, in order, each with the outermost of the wrappers directly around it.

    A tree may be deeper than Python's stack, and `Node.parent` searches from the root.
    """
    cursor = tree.walk()
    around: list[tuple[bool, Node]] = []  # for each open node whether it is a wrapper, and its outermost one
    while (node := cursor.node) is not None:
        outer = around[-1][1] if around and around[-1][0] else node
        if cursor.goto_first_child():
            yield node, outer
            around.append((node.type in _WRAPPERS, outer))
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            around.pop()


def _is_part(node: Node) -> bool:
    if node.type not in _REQUIRED:
        return True
    field, types = _REQUIRED[node.type]
    value = node.child_by_field_name(field)
    return value is not None and (types is None or value.type in types)


def _name(node: Node, data: bytes) -> str:
    named = next(filter(None, map(node.child_by_field_name, _NAMES)), None)
    if named is None or named.type in _KEYWORDS:
        return ""
    name = _ARGUMENTS.sub("", _text(named, data)).strip("*& \n")
    receiver = node.child_by_field_name("receiver")
    of = [] if receiver is None else re.findall(r"\w+", _text(receiver, data).partition("[")[0])[-1:]
    return " ".join(".".join([*of, name]).split())[:_LONGEST_NAME]


def _text(node: Node, data: bytes) -> str:
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _in_characters(found: list[tuple[int, int, str]], data: bytes, text: str) -> list[Part]:
    """Return parts with offsets in code points instead of bytes, outer ones before nested ones."""
    found.sort(key=lambda part: (part[0], -part[1]))
    if len(data) == len(text):
        return [Part(*part) for part in found]
    places = sorted({0, *itertools.chain.from_iterable(part[:2] for part in found)})
    lengths = (len(data[start:end].decode()) for start, end in itertools.pairwise(places))
    offsets = dict(zip(places, itertools.accumulate(lengths, initial=0), strict=True))
    return [Part(offsets[start], offsets[end], title) for start, end, title in found]


def _apart(found: list[Part], text: str) -> tuple[Part, ...]:
    """Return the parts that lie apart or inside one another and begin on lines of their own."""
    kept: list[Part] = []
    around: list[Part] = []
    on_new_line, at = True, 0
    for part in found:
        while around and around[-1].end <= part.start:
            around.pop()
        on_new_line = on_new_line or text.find("\n", at, part.start) >= 0 or text.find("\r", at, part.start) >= 0
        at = part.start
        if on_new_line and part.start < part.end and not (around and around[-1].end < part.end):
            on_new_line = False
            kept.append(part)
            around.append(part)
    return tuple(kept)


#: Suffixes of source code other than Python.
SUFFIXES = frozenset(suffix for name, suffixes in CODE.items() if name != "python" for suffix in suffixes)
# The rule of Python's own tokenizer, which editors follow for every language.
_CODING = re.compile(rb"(?:[^\n]*\n)?[^\n]*coding[:=][ \t]*([-\w.]+)")
_LARGEST = 2**22  # code points; longer files are generated, and their outline would be of no use


def read_code(data: bytes) -> Reading:
    """Return the text of a source file."""
    coding = _CODING.match(data[:1000])
    text, warnings = decode(data, coding[1].decode("ascii", "replace") if coding else None)
    return Reading((Content(text, kind="code"),), warnings)


def read_outlined(data: bytes, language: str) -> Reading:
    """Return the text of a source file with its outline."""
    reading = read_code(data)
    (content,), warnings = reading.contents, reading.warnings
    if len(content.text) > _LARGEST:
        reason = f"has more than {_LARGEST:,} characters; it is split without regard to its functions"
        return Reading((content,), (*warnings, reason))
    if find_spec("tree_sitter") is None:  # `discover` tells so once.
        return reading
    parts = code_outline(clean(content.text).text, language)
    if parts is None:
        return Reading((content,), (*warnings, "is split without regard to its functions, which took too long to find"))
    return Reading((replace(content, outline=parts),), warnings)


def missing_outlines(paths: Iterable[Path]) -> str | None:
    """Return what to tell about source files that have no outline, since the grammars are not installed, or None."""
    outlined = {suffix for suffixes in GRAMMARS.values() for suffix in suffixes}
    if find_spec("tree_sitter") is not None or not (count := sum(path.suffix.lower() in outlined for path in paths)):
        return None
    what = "1 file of source code is" if count == 1 else f"{count:,} files of source code are"
    return f'{what} split without regard to functions. To change that: pip install "kinsplit[code]"'


_OUTLINED = "source code, as it is, outlined by its functions"
#: The languages with a grammar, and the others.
FORMATS = (
    *(Format("code", own, _OUTLINED, partial(read_outlined, language=name)) for name, own in GRAMMARS.items()),
    Format("code", CODE[""], "source code, as it is", read_code),
)


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_PASSED = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT})


def read_python(data: bytes) -> Reading:
    """Return the text of a Python file with its outline."""
    reading = read_code(data)
    (content,), warnings = reading.contents, reading.warnings
    # The tokenizer of Python 3.12 stops at characters that are removed from the document anyway.
    return Reading((replace(content, outline=python_outline(clean(content.text).text)),), warnings)


def python_outline(text: str) -> tuple[Part, ...]:
    """Return the classes and functions of Python source code, outer ones before nested ones."""
    lines = _LINE.findall(text)
    starts = list(accumulate(map(len, lines), initial=0))
    found: list[Part] = []
    open_parts: list[tuple[int, int, str]] = []  # column, start, title
    last = 0
    for column, at, end, title in _statements(lines, starts):
        while open_parts and column <= open_parts[-1][0]:
            found.append(Part(open_parts[-1][1], last, open_parts.pop()[2]))
        if title:
            open_parts.append((column, at, title))
        last = end
    found += [Part(start, last, title) for _, start, title in open_parts]
    return tuple(sorted(found, key=lambda part: (part.start, -part.end)))


def _statements(lines: list[str], starts: list[int]) -> Iterator[tuple[int, int, int, str]]:
    """Yield column, start and end of each logical line, and the title of the part that it begins, if any."""
    statement: list[tokenize.TokenInfo] = []
    for token in _tokens(lines):
        if token.type not in _PASSED:
            statement.append(token)
        elif token.type == tokenize.NEWLINE and statement:
            first, end = statement[0], statement[-1].end
            yield first.start[1], _offset(starts, first.start), _offset(starts, end), _title(statement)
            statement = []


def _tokens(lines: list[str]) -> Iterator[tokenize.TokenInfo]:
    # The line ends of the tokenizer.
    source = "".join(line.rstrip("\r\n") + "\n" if line[-1:] in "\r\n" else line for line in lines)
    try:
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        yield from takewhile(lambda token: token.type != tokenize.ENDMARKER, tokens)
    except Exception:  # Besides TokenError and SyntaxError, Python 3.13 raises SystemError for some invalid code.
        return


def _title(statement: list[tokenize.TokenInfo]) -> str:
    words = [token.string for token in statement[:3]]
    kind, name, *_ = [*(words[1:] if words[0] == "async" else words), "", ""]
    return f"{kind} {name}" if kind in {"def", "class"} and name.isidentifier() else ""


def _offset(starts: list[int], place: tuple[int, int]) -> int:
    return starts[place[0] - 1] + place[1]


PYTHON = Format("code", CODE["python"], "source code, as it is, outlined by its classes and functions", read_python)
