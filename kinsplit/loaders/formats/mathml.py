"""Formulas in MathML as one line of text, such as `x=(-b±√(b^2-4ac))/2a`, as those of Office files are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from kinsplit.loaders.formats.scripts import bracketed

_DEEPEST = 100  # nested elements; the text of deeper ones goes into those around them
_TOKENS = frozenset({"mi", "mn", "mo", "mtext", "ms", "annotation"})
# Templates of elements by their children; parts longer than a word are put in brackets.
_FORMS = {
    "mfrac": "{0}/{1}",
    "msup": "{0}^{1}",
    "msub": "{0}_{1}",
    "msubsup": "{0}_{1}^{2}",
    "munder": "{0}_{1}",
    "mover": "{0}^{1}",
    "munderover": "{0}_{1}^{2}",
    "mroot": "{1}√{0}",
}
_ACCENTS = {"^": "\u0302", "ˆ": "\u0302", "¯": "\u0304", "‾": "\u0304", "~": "\u0303", "˜": "\u0303", "→": "\u20d7"} | {
    "\u20d7": "\u20d7", "˙": "\u0307", "¨": "\u0308", "ˇ": "\u030c"
}  # fmt: skip
_PRIMES = re.compile("['′″‴⁗*†∗°]+")
_INVISIBLE = str.maketrans({"\u2061": " ", "\u2062": None, "\u2063": None, "\u2064": None})
_COMMANDS = re.compile(r"[\\{}]")
_TEX = ("application/x-tex", "latex")


@dataclass(slots=True)
class _Node:
    tag: str
    attributes: Mapping[str, str]
    children: list[_Node | str] = field(default_factory=list)

    def parts(self) -> list[str]:
        return [_linear(child) for child in self.children if isinstance(child, _Node)]


class Formula:
    """A formula that is read tag by tag."""

    def __init__(self) -> None:
        self._root = _Node("math", {})
        self._open = [self._root]
        self._too_deep = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begin an element."""
        if len(self._open) == _DEEPEST:
            self._too_deep += 1
            return
        node = _Node(tag, attributes)
        self._open[-1].children.append(node)
        self._open.append(node)

    def end(self) -> None:
        """End the innermost element."""
        if self._too_deep:
            self._too_deep -= 1
        elif len(self._open) > 1:
            self._open.pop()

    def text(self, data: str) -> None:
        """Add text to the innermost element."""
        self._open[-1].children.append(data)

    def __str__(self) -> str:
        return _linear(self._root).strip()


def _linear(node: _Node | str) -> str:
    if isinstance(node, str):
        return " ".join(node.split()).translate(_INVISIBLE)
    tag, parts = node.tag, node.parts()
    if tag in _TOKENS:
        return _token(node)
    if tag in _FORMS and len(parts) > _FORMS[tag].count("{") - 1:
        return _form(node, parts)
    match tag:
        case "msqrt":
            return f"√{bracketed(''.join(parts))}"
        case "mfenced":
            marks = "".join(node.attributes.get("separators", ",").split())[:1]
            return f"{node.attributes.get('open', '(')}{marks.join(parts)}{node.attributes.get('close', ')')}"
        case "mtable" | "mlabeledtr" | "mtr":
            return ("; " if tag == "mtable" else ", ").join(parts)
        case "mmultiscripts":
            return _multiscripts(node)
        case "semantics":
            return _semantics(node, parts)
        case "mspace":
            return " "
        case "mphantom" | "annotation-xml" | "none" | "mprescripts":
            return ""
        case "mglyph":
            return node.attributes.get("alt", "")
    return _row([_linear(child) for child in node.children])


def _token(node: _Node) -> str:
    text = "".join(map(_linear, node.children)) or ""
    if node.tag == "mtext":
        return "".join(child if isinstance(child, str) else _linear(child) for child in node.children)
    return f" {text} " if node.tag == "mi" and len(text) > 1 and text.isalpha() else text


def _row(parts: list[str]) -> str:
    """Join parts; names of functions stand apart from letters and digits only."""
    joined = ""
    pieces: list[str] = []
    for part in parts:
        if part.startswith(" ") and not (joined[-1:].isalnum() or joined.endswith(")")):
            part = part[1:]
        if joined.endswith(" ") and part and not (part.lstrip()[:1].isalnum() or part[0] in "√"):
            pieces[-1] = pieces[-1].removesuffix(" ")
        if part:
            pieces.append(part)
            joined = part
    return "".join(pieces)


def _form(node: _Node, parts: list[str]) -> str:
    base, second = parts[0].strip(), parts[1].strip()
    if node.tag == "mfrac" and not node.attributes.get("linethickness", "1").rstrip("%empxtc.0"):
        return f"{base} choose {second}"
    if node.tag == "mover" and second in _ACCENTS and base:
        return base + _ACCENTS[second]
    if node.tag == "msup" and _PRIMES.fullmatch(second):
        return base + second
    return _FORMS[node.tag].format(*(bracketed(part.strip()) for part in parts)).replace("_^", "^").rstrip("_^")


def _multiscripts(node: _Node) -> str:
    """Return a base with scripts on both sides: pairs of subscript and superscript, those before it behind a mark."""
    base, *rest = [child for child in node.children if isinstance(child, _Node)] or [_Node("mrow", {})]
    split = next((at for at, child in enumerate(rest) if child.tag == "mprescripts"), len(rest))

    def scripts(nodes: list[_Node]) -> str:
        marked = (f"{'_^'[at % 2]}{bracketed(text)}" for at, one in enumerate(nodes) if (text := _linear(one).strip()))
        return "".join(marked)

    return scripts(rest[split + 1 :]) + _linear(base).strip() + scripts(rest[:split])


def _semantics(node: _Node, parts: list[str]) -> str:
    """Return the formula; its TeX if that is as plain."""
    for child in node.children:
        if (
            isinstance(child, _Node)
            and child.tag == "annotation"
            and child.attributes.get("encoding", "").lower() in _TEX
        ):
            source = _linear(child)
            if source and not _COMMANDS.search(source):
                return source
    return parts[0] if parts else ""
