"""Classes and functions of source code, found by tree-sitter.

The grammars are packages of their own with wheels for every platform; the packages that bundle hundreds of languages
load them over the network when they are used, or weigh more than all other formats together. The tree is walked here,
since tree-sitter's own queries take quadratic time for text that is no code.
"""

from __future__ import annotations

import functools
import itertools
import re
import time
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from kinsplit.chunk import Part

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

_C = {
    "function_definition": "function",
    "struct_specifier": "struct",
    "union_specifier": "union",
    "enum_specifier": "enum",
}
_JAVASCRIPT = {
    "function_declaration": "function",
    "generator_function_declaration": "function",
    "class_declaration": "class",
    "method_definition": "method",
    "variable_declarator": "function",
    "assignment_expression": "function",
}
_TYPESCRIPT = _JAVASCRIPT | {
    "abstract_class_declaration": "class",
    "interface_declaration": "interface",
    "enum_declaration": "enum",
    "internal_module": "namespace",
    "module": "module",
    "public_field_definition": "method",
}
# The word before a part's name in its title, by the type of its node.
_KINDS: dict[str, dict[str, str]] = {
    "bash": {"function_definition": "function"},
    "c": _C,
    "c_sharp": {
        "method_declaration": "method",
        "constructor_declaration": "constructor",
        "local_function_statement": "function",
        "property_declaration": "property",
        "class_declaration": "class",
        "struct_declaration": "struct",
        "record_declaration": "record",
        "interface_declaration": "interface",
        "enum_declaration": "enum",
        "namespace_declaration": "namespace",
    },
    "cpp": _C | {"class_specifier": "class", "namespace_definition": "namespace"},
    "go": {"function_declaration": "func", "method_declaration": "func", "type_spec": "type"},
    "java": {
        "method_declaration": "method",
        "constructor_declaration": "constructor",
        "class_declaration": "class",
        "interface_declaration": "interface",
        "enum_declaration": "enum",
        "record_declaration": "record",
        "annotation_type_declaration": "annotation",
    },
    "javascript": _JAVASCRIPT,
    "kotlin": {"function_declaration": "fun", "class_declaration": "class", "object_declaration": "object"},
    "lua": {"function_declaration": "function"},
    "php": {
        "function_definition": "function",
        "method_declaration": "method",
        "class_declaration": "class",
        "interface_declaration": "interface",
        "trait_declaration": "trait",
        "enum_declaration": "enum",
    },
    "ruby": {"method": "def", "singleton_method": "def", "class": "class", "module": "module"},
    "rust": {
        "function_item": "fn",
        "struct_item": "struct",
        "enum_item": "enum",
        "trait_item": "trait",
        "impl_item": "impl",
        "mod_item": "mod",
        "macro_definition": "macro",
    },
    "scala": {
        "function_definition": "def",
        "class_definition": "class",
        "object_definition": "object",
        "trait_definition": "trait",
        "enum_definition": "enum",
    },
    "swift": {
        "function_declaration": "func",
        "init_declaration": "init",
        "class_declaration": "class",
        "protocol_declaration": "protocol",
    },
    "tsx": _TYPESCRIPT,
    "typescript": _TYPESCRIPT,
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

#: Suffixes of each grammar; C++ reads the headers of C too.
GRAMMARS: dict[str, tuple[str, ...]] = {
    "bash": (".sh", ".bash", ".zsh"),
    "c": (".c",),
    "c_sharp": (".cs",),
    "cpp": (".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".cu"),
    "go": (".go",),
    "java": (".java",),
    "javascript": (".js", ".mjs", ".cjs", ".jsx"),
    "kotlin": (".kt", ".kts"),
    "lua": (".lua",),
    "php": (".php",),
    "ruby": (".rb",),
    "rust": (".rs",),
    "scala": (".scala",),
    "swift": (".swift",),
    "tsx": (".tsx",),
    "typescript": (".ts", ".mts", ".cts"),
}
# Grammars that share a package with others, and the functions there that return them.
_SHARED = {
    "tsx": ("typescript", "language_tsx"),
    "typescript": ("typescript", "language_typescript"),
    "php": ("php", "language_php"),
}
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


def outline(text: str, language: str) -> tuple[Part, ...] | None:
    """Return the classes and functions of source code, outer ones before nested ones.

    It is None for text that takes far longer than code would, such as thousands of open quotes.

    Args:
        text: The code, without lone surrogates.
        language: Name of the grammar, a key of `GRAMMARS`.

    Raises:
        MissingExtraError: tree-sitter or the grammar is not installed.
    """
    # A return alone ends no line for the grammars, and would make the rest of the file a comment.
    data = _LONE_RETURN.sub("\n", text).encode()
    deadline = time.monotonic() + _SECONDS
    # A parser that reads nothing more ends.
    tree = _parser(language).parse(lambda at, _: b"" if time.monotonic() > deadline else data[at : at + _READ])
    kinds = _KINDS[language]
    found = [
        (outer.start_byte, outer.end_byte, f"{kinds[node.type]} {_name(node, data)}".rstrip())
        for node, outer in _nodes(tree)
        if node.type in kinds and _is_part(node)
    ]
    return None if time.monotonic() > deadline else _apart(_in_characters(found, data, text), text)


@functools.cache
def _parser(name: str) -> Parser:
    from kinsplit.errors import MissingExtraError

    package, function = _SHARED.get(name, (name, "language"))
    try:
        from tree_sitter import Language, Parser

        grammar = import_module(f"tree_sitter_{package}")
    except ImportError:
        raise MissingExtraError(f"tree-sitter-{package.replace('_', '-')}", "code") from None
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
