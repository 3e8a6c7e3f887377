"""Numbers that describe the structure of the package: `python tests/structure.py [FOLDER]`.

FOLDER is the package of another checkout, for comparison. Default: the package of this checkout.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median

#: Words in -ing and -ed that are nouns of the field, or adjectives before a noun.
NOUNS = {
    "answering", "cached", "chunking", "decoding", "embedding", "hashing", "indexing", "packing", "parsing", "scoring",
    "streaming", "threaded", "tuning", "structured", "generated", "normalised",
}  # fmt: skip
#: Participles without either suffix.
IRREGULAR = {"asked", "given", "kept", "known", "made", "shown", "stated", "stored", "told", "written"}


@dataclass
class Module:
    """A module and its imports.

    Attributes:
        name: Dotted name.
        path: Path of the file.
        lines: Number of lines.
        code: Number of lines that are neither blank nor a comment nor part of a docstring.
        docstring: Its docstring.
        imports: Dotted names of the package's modules that it imports, also within functions, but not for types only.
        functions: Name and number of lines of each function.
        classes: Names of the public classes.
    """

    name: str
    path: Path
    lines: int
    code: int
    docstring: str
    imports: set[str] = field(default_factory=set)
    functions: list[tuple[str, int]] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)

    @property
    def room(self) -> str:
        """Folder of the module; modules at the top of the package are rooms of their own."""
        parts = self.name.split(".")
        return ".".join(parts[:-1]) if len(parts) > 2 else self.name

    @property
    def is_package(self) -> bool:
        """Whether the module is the `__init__` of a folder."""
        return self.path.name == "__init__.py"


class Structure:
    """The modules of a package and the numbers that describe them.

    Args:
        folder: Folder of the package.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        paths = sorted(folder.rglob("*.py"))
        names = {path: ".".join((folder.name, *path.relative_to(folder).with_suffix("").parts)) for path in paths}
        names = {path: name.removesuffix(".__init__") for path, name in names.items()}
        self.modules = {name: _read(path, name, set(names.values())) for path, name in names.items()}

    @cached_property
    def importers(self) -> dict[str, set[str]]:
        """The modules that import each module."""
        found = defaultdict(set)
        for module in self.modules.values():
            for name in module.imports:
                found[name].add(module.name)
        return dict(found)

    @cached_property
    def siblings(self) -> Counter[str]:
        """Number of modules and packages in each folder, without its `__init__`."""
        found: Counter[str] = Counter()
        for name in self.modules:
            if "." in name:
                found[name.rpartition(".")[0]] += 1
        return found

    @cached_property
    def arrows(self) -> set[tuple[str, str]]:
        """Pairs of folders, the first of which imports from the second."""
        pairs = ((m.room, self.modules[name].room) for m in self.modules.values() for name in m.imports)
        return {(a, b) for a, b in pairs if a != b}

    @cached_property
    def circles(self) -> list[list[str]]:
        """Groups of modules that import each other, directly or not (Tarjan's strongly connected components)."""
        index: dict[str, int] = {}
        low: dict[str, int] = {}
        stack: list[str] = []
        found = []

        def visit(name: str) -> None:
            index[name] = low[name] = len(index)
            stack.append(name)
            for other in sorted(self.modules[name].imports):
                if other not in index:
                    visit(other)
                if other in stack:
                    low[name] = min(low[name], low[other])
            if low[name] == index[name]:
                group = stack[stack.index(name) :]
                del stack[stack.index(name) :]
                if len(group) > 1:
                    found.append(sorted(group))

        for name in sorted(self.modules):
            if name not in index:
                visit(name)
        return found

    @cached_property
    def single_importer(self) -> list[Module]:
        """Modules that one other module imports."""
        return [m for m in self.modules.values() if not m.is_package and len(self.importers.get(m.name, ())) == 1]

    @cached_property
    def participles(self) -> list[str]:
        """Modules with a name that is a participle or a gerund."""
        return [name for name in self.modules if any(_is_participle(word) for word in name.split(".")[-1].split("_"))]

    @cached_property
    def long_functions(self) -> list[tuple[str, int]]:
        """Functions of more than 60 lines, with their numbers of lines."""
        return [
            (f"{module.name}.{name}", lines)
            for module in self.modules.values()
            for name, lines in module.functions
            if lines > 60
        ]

    @cached_property
    def namesakes(self) -> dict[str, list[str]]:
        """Public class names that several modules use, with these modules."""
        found = defaultdict(list)
        for module in self.modules.values():
            for name in module.classes:
                found[name].append(module.name)
        return {name: modules for name, modules in found.items() if len(modules) > 1}

    def rows(self) -> Iterator[tuple[str, object]]:
        """Yield the numbers, each with its description."""
        sizes = [module.lines for module in self.modules.values()]
        longest = max(self.modules.values(), key=lambda module: module.lines)
        fullest, most = self.siblings.most_common(1)[0]
        yield "modules", len(sizes)
        yield "lines", sum(sizes)
        yield "lines of code", sum(module.code for module in self.modules.values())
        yield "lines of a module, median", f"{median(sizes):g}"
        yield "lines of the longest module", f"{longest.lines} ({longest.name})"
        yield "siblings in the fullest folder", f"{most} ({fullest})"
        yield "folders over 15 siblings", sum(count > 15 for count in self.siblings.values())
        yield "arrows between folders", len(self.arrows)
        yield "circles of modules", len(self.circles)
        yield "modules with one importer", len(self.single_importer)
        yield "of these under 60 lines", sum(module.lines < 60 for module in self.single_importer)
        yield "names by participle", len(self.participles)
        yield "functions over 60 lines", len(self.long_functions)
        yield "class names used more than once", len(self.namesakes)


def _read(path: Path, name: str, known: set[str]) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    module = Module(name, path, text.count("\n"), _code_lines(text, tree), ast.get_docstring(tree) or "")
    module.classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_"]
    for node in _walk(tree):
        if isinstance(node, ast.Import):
            module.imports.update(alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                module.imports.add(full if full in known else node.module or "")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            module.functions.append((node.name, (node.end_lineno or node.lineno) - node.lineno + 1))
    module.imports.discard(name)
    return module


_NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}


def _code_lines(text: str, tree: ast.Module) -> int:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {line for each in tokens if each.type not in _NO_CODE for line in range(each.start[0], each.end[0] + 1)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                lines.difference_update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(lines)


def _walk(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield all statements in order, except those for type checkers only."""
    rest: list[ast.AST] = [tree]
    while rest:
        node = rest.pop()
        yield node
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            children: Iterable[ast.AST] = node.orelse
        else:
            children = ast.iter_child_nodes(node)
        rest += reversed([each for each in children if isinstance(each, ast.stmt | ast.ExceptHandler | ast.match_case)])


def _is_participle(word: str) -> bool:
    return word not in NOUNS and (word in IRREGULAR or bool(re.fullmatch(r"\w{2,}(?:ing|[^e]ed)", word)))


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent / "kinsplit"
    structure = Structure(folder)
    for name, value in structure.rows():
        print(f"{name:32} {value}")
    for title, names in {
        "folders over 15 siblings": [f"{name} ({count})" for name, count in structure.siblings.items() if count > 15],
        "circles": [", ".join(group) for group in structure.circles],
        "under 60 lines with one importer": [
            f"{m.name} ({m.lines}) <- {next(iter(structure.importers[m.name]))}"
            for m in structure.single_importer
            if m.lines < 60
        ],
        "names by participle": structure.participles,
        "functions over 60 lines": [f"{name} ({lines})" for name, lines in structure.long_functions],
    }.items():
        print(f"\n{title}:", *names, sep="\n  ")


if __name__ == "__main__":
    main()
