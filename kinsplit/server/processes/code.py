"""Source code as HTML whose words have the classes of their kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pygments.lexers import find_lexer_class_by_name, find_lexer_class_for_filename
from pygments.token import Comment, Error, Keyword, Literal, Name, Number, Operator, String
from pygments.util import ClassNotFound

from kinsplit.server.processes.marks import Mark, marked, within

# The first kind that holds a word's own gives its class.
_KINDS = (
    (Comment.Preproc, "word"),
    (Comment, "comment"),
    (String, "string"),
    (Number, "number"),
    (Literal, "number"),
    (Operator.Word, "word"),
    (Keyword, "word"),
    (Name.Function, "name"),
    (Name.Class, "name"),
    (Name.Decorator, "name"),
    (Name.Builtin, "known"),
    (Name.Exception, "known"),
    (Name.Tag, "word"),
    (Name.Attribute, "name"),
    (Error, ""),
)

#: Classes of words.
CLASSES = frozenset(css for _, css in _KINDS if css)


def language_of(name: str) -> Any | None:
    """Return the lexer of a language by its name or by the name of a file, or None for plain text."""
    find = find_lexer_class_for_filename if "." in name else find_lexer_class_by_name
    try:
        kind = find(name)
    except ClassNotFound:
        return None
    return None if kind is None or kind.name == "Text only" else kind(stripnl=False, ensurenl=False)


def code(text: str, lexer: Any | None, marks: Sequence[Mark]) -> str:
    """Return source code as an HTML element `pre`.

    Args:
        text: The code.
        lexer: Its lexer; None for plain text.
        marks: Marks in the code.
    """
    if lexer is None:
        return f"<pre><code>{marked(text, marks)}</code></pre>"
    parts = []
    for at, kind, word in lexer.get_tokens_unprocessed(text):
        css = next((css for wide, css in _KINDS if kind in wide), "")
        parts.append(marked(word, within(marks, at, at + len(word)), css))
    return f"<pre><code>{''.join(parts)}</code></pre>"
