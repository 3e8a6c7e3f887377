"""Formulas in MathML as one line of text, such as `x=(-b±√(b^2-4ac))/2a`, as those of Office files are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from kinsplit.loaders.markup.scripts import bracketed

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
_BLANKS = re.compile(r"\s+")
_COMMANDS = re.compile(r"[\\{}]")
_TEX = ("application/x-tex", "latex")


@dataclass(slots=True)
class _Node:
    tag: str
    attributes: Mapping[str, str]
    children: list[_Node | str] = field(default_factory=list)


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
        return _BLANKS.sub(" ", node).translate(_INVISIBLE)
    tag, children = node.tag, [(child, _linear(child)) for child in node.children]
    parts = [text for child, text in children if isinstance(child, _Node)]
    if tag in _TOKENS:
        return _token(tag, "".join(text for _, text in children))
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
            return _multiscripts([(child.tag, text) for child, text in children if isinstance(child, _Node)])
        case "semantics":
            return next((text for child, text in children if text and _is_plain_tex(child, text)), "".join(parts[:1]))
        case "mspace":
            return " "
        case "mphantom" | "annotation-xml" | "none" | "mprescripts":
            return ""
        case "mglyph":
            return node.attributes.get("alt", "")
    return _row([text for _, text in children])


def _token(tag: str, text: str) -> str:
    if tag == "mtext":
        return text
    text = text.strip()
    return f" {text} " if tag == "mi" and len(text) > 1 and text.isalpha() else text


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
    text = _FORMS[node.tag].format(*(bracketed(part.strip()) for part in parts))
    is_operator = node.tag != "mfrac" and len(base) == 1 and not base.isalnum()
    return f"{text} " if is_operator else text


def _multiscripts(parts: list[tuple[str, str]]) -> str:
    """Return a base with scripts on both sides: pairs of subscript and superscript, those before it behind a mark."""
    split = next((at for at, (tag, _) in enumerate(parts) if tag == "mprescripts"), len(parts))

    def scripts(pairs: list[tuple[str, str]]) -> str:
        texts = (text.strip() for _, text in pairs)
        return "".join(f"{'_^'[at % 2]}{bracketed(text)}" for at, text in enumerate(texts) if text)

    base = parts[0][1].strip() if parts else ""
    return scripts(parts[split + 1 :]) + base + scripts(parts[1:split])


def _is_plain_tex(child: _Node | str, text: str) -> bool:
    """Return whether a child is the formula's TeX, and without commands."""
    is_tex = isinstance(child, _Node) and child.attributes.get("encoding", "").lower() in _TEX
    return is_tex and not _COMMANDS.search(text)
