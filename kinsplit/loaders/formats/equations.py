"""Equations of Office files (OMML) as one line of text, close to Unicode's linear format."""

from __future__ import annotations

import re
from typing import Any

# Operands that need no brackets next to an operator.
_SINGLE = re.compile(r"\w*|\([^()]*\)|.")
# Templates of elements; parts longer than a word are put in brackets.
_FORMS = {
    "f": "{num}/{den}",
    "sSup": "{e}^{sup}",
    "sSub": "{e}_{sub}",
    "sSubSup": "{e}_{sub}^{sup}",
    "sPre": "_{sub}^{sup} {e}",
    "limLow": "{e}_{lim}",
    "limUpp": "{e}^{lim}",
}
_PART = re.compile(r"{(\w+)}")


def linear(element: Any) -> str:
    """Return the text of an `m:oMath`, such as `x=(-b±√(b^2-4ac))/2a`."""
    kind = local_name(element)
    if kind == "t":
        return element.text or ""
    if kind in _FORMS:
        return _PART.sub(lambda part: _bracketed(_part(element, part[1])), _FORMS[kind])
    match kind:
        case "rad":
            return f"{_part(element, 'deg')}√{_bracketed(_part(element, 'e'))}"
        case "func":
            return f"{_part(element, 'fName')} {_bracketed(_part(element, 'e'))}"
        case "nary":
            bounds = ((mark, _bracketed(_part(element, name))) for mark, name in (("_", "sub"), ("^", "sup")))
            return f"{_property(element, 'chr', '∫')}{''.join(m + b for m, b in bounds if b)} {_part(element, 'e')}"
        case "d":
            inner = _property(element, "sepChr", "|").join(_parts(element, "e"))
            return f"{_property(element, 'begChr', '(')}{inner}{_property(element, 'endChr', ')')}"
        case "acc":
            return _part(element, "e") + _property(element, "chr", "\u0302")
        case "m" | "eqArr":
            return "; ".join(_parts(element, "mr" if kind == "m" else "e"))
        case "mr":
            return ", ".join(_parts(element, "e"))
    return "".join(map(linear, element))


def local_name(element: Any) -> str:
    """Return the name of an XML element without its namespace; Office has two for each."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""  # a comment's tag is a function


def _parts(element: Any, name: str) -> list[str]:
    return [linear(child) for child in element if local_name(child) == name]


def _part(element: Any, name: str) -> str:
    return "".join(_parts(element, name))


def _property(element: Any, name: str, default: str) -> str:
    properties = f"{local_name(element)}Pr"
    for own in (own for child in element if local_name(child) == properties for own in child):
        if local_name(own) == name:
            return "".join(own.attrib.values())
    return default


def _bracketed(text: str) -> str:
    return text if _SINGLE.fullmatch(text) else f"({text})"
