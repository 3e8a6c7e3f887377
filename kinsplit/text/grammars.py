"""Classes and functions of programs, found by the grammars of tree-sitter.

They are found also in code with mistakes, as far as it can be understood. A part that begins on the line of another
one, as in minified code, is not listed by itself.

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
from importlib.util import find_spec
from typing import TYPE_CHECKING

from kinsplit.spans import Part, replace_surrogates

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Tree


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

    It is None for text that takes far longer than code would, such as thousands of open quotes. The language's grammar
    must be installed (see `has_grammar`).
    """
    from tree_sitter import Parser

    # A return alone ends no line for the grammars, and would make the rest of the file a comment.
    data = _LONE_RETURN.sub("\n", replace_surrogates(text)).encode()
    deadline = time.monotonic() + _SECONDS
    # A parser that reads nothing more ends.
    parser = Parser(_language(language))
    tree = parser.parse(lambda at, _: b"" if time.monotonic() > deadline else data[at : at + _READ])
    kinds = _KINDS[language]
    parts = [(node, outer) for node, outer in _nodes(tree) if node.type in kinds and _is_part(node)]
    titles = [f"{kinds[node.type]} {_name(node, data)}".rstrip() for node, _ in parts]
    found = [(outer.start_byte, outer.end_byte, title) for (_, outer), title in zip(parts, titles, strict=True)]
    return None if time.monotonic() > deadline else _apart(_in_characters(found, data, text), text)


@functools.cache
def _language(name: str) -> Language:
    from tree_sitter import Language

    grammar = import_module(_package(name))
    return Language(getattr(grammar, f"language_{name}" if name in _SHARED else "language")())


def has_grammar(language: str) -> bool:
    """Return whether the grammar of a language is installed, and tree-sitter."""
    return all(find_spec(name) is not None for name in ("tree_sitter", _package(language)))


def _package(language: str) -> str:
    return f"tree_sitter_{_SHARED.get(language, language)}"


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
