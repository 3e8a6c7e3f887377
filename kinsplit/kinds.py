"""Kinds of documents, which say what their lines are, by the names and types of files.

Only files whose text is always so are listed: of JSON, subtitles or Markdown, readers may have made prose.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

#: What the lines of a document are; see `kinsplit.chunk.Document.kind`.
DocumentKind = Literal["", "prose", "code", "rows", "records"]

T = TypeVar("T")

#: Suffixes of source code by language; C++ reads the headers of C too. The last ones are of languages without a name
#: here.
CODE: dict[str, tuple[str, ...]] = {
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
    "python": (".py", ".pyi"),
    "ruby": (".rb",),
    "rust": (".rs",),
    "scala": (".scala",),
    "swift": (".swift",),
    "tsx": (".tsx",),
    "typescript": (".ts", ".mts", ".cts"),
    "": (
        *(".ipy", ".r", ".jl", ".m", ".zig", ".asm", ".s", ".groovy", ".clj", ".fs", ".vb", ".dart", ".vue"),
        *(".svelte", ".css", ".scss", ".pl", ".pm", ".tcl", ".ex", ".exs", ".erl", ".hs", ".ml", ".mli", ".lisp"),
        *(".scm", ".rkt", ".el", ".pro", ".fish", ".ps1", ".sql", ".proto", ".sol"),
    ),
}
_BY_SUFFIX: dict[str, DocumentKind] = {
    **{suffix: "code" for suffixes in CODE.values() for suffix in suffixes},
    **dict.fromkeys((".csv", ".tsv", ".tab"), "rows"),
    **dict.fromkeys((".log", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".properties", ".env"), "records"),
}
_LANGUAGES = {suffix: language for language, suffixes in CODE.items() for suffix in suffixes}
# Languages as frameworks name them, and MIME types without what stands before. Codes of natural languages, such as "cs"
# or "ts", are left out.
_ALIASES = {"c++": "cpp", "csharp": "c_sharp", "golang": "go", "httpd-php": "php", "js": "javascript", "sh": "bash"}
_NAMES = {name: name for name in CODE if name} | _ALIASES | {"shellscript": "bash", "script.python": "python"}
_BY_NAME: dict[str, DocumentKind] = {
    **dict.fromkeys((*_NAMES, "code", "css", "elixir", "haskell", "perl", "powershell", "r", "sql"), "code"),
    **dict.fromkeys(("csv", "tab-separated-values"), "rows"),
    **dict.fromkeys(("ini", "java-properties", "log", "toml", "yaml"), "records"),
}
_FILES = ("file_path", "file_name", "filename", "source")
_TYPES = ("file_type", "filetype", "mime_type", "mimetype", "content_type", "language", "programming_language")


def kind_of(metadata: Mapping[str, Any]) -> DocumentKind:
    """Return what the lines of a framework's document are, by its metadata; empty if these don't tell."""
    return _told(metadata, _BY_SUFFIX, _BY_NAME) or ""


def language_of(metadata: Mapping[str, Any]) -> str:
    """Return the programming language of a framework's document, as `CODE` names it; empty if there is none."""
    return _told(metadata, _LANGUAGES, _NAMES) or ""


def _told(metadata: Mapping[str, Any], by_suffix: Mapping[str, T], by_name: Mapping[str, T]) -> T | None:
    named = (by_suffix.get(_suffix(str(metadata[key]))) for key in _FILES if key in metadata)
    typed = (by_name.get(_bare(str(metadata[key]))) for key in _TYPES if key in metadata)
    return next(filter(None, (*named, *typed)), None)


def _suffix(path: str) -> str:
    """Return the suffix of a path or an address in lower case; that of a file such as `.env` is its name."""
    scheme, _, rest = path.partition("://")
    name = rest.partition("?")[0].partition("#")[0].partition("/")[2] if rest else scheme
    _, dot, suffix = name.replace("\\", "/").rpartition("/")[2].rpartition(".")
    return f"{dot}{suffix}".lower()


def _bare(mime_type: str) -> str:
    return mime_type.lower().partition(";")[0].rpartition("/")[2].strip().removeprefix("x-")
