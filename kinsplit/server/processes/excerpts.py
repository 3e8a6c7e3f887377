"""Excerpts of documents as safe HTML: the list of elements and attributes that they may have."""

from __future__ import annotations

from typing import Literal, NamedTuple

import nh3

from kinsplit.server.processes.markdown import SCHEMES, markdown
from kinsplit.server.processes.marks import CLASSES, Mark, code, language_of

Kind = Literal["markdown", "code"]


_TEXT = (
    *("h1", "h2", "h3", "h4", "h5", "h6", "p", "blockquote", "ul", "ol", "li", "hr", "br", "pre", "code"),
    *("em", "strong", "s", "a", "mark", "span", "table", "thead", "tbody", "tr", "th", "td"),
)
# Presentation MathML without links, actions and embedded HTML.
_FORMULAS = (
    *("math", "mi", "mn", "mo", "ms", "mtext", "mspace", "mrow", "mfrac", "msqrt", "mroot", "mstyle", "merror"),
    *("mpadded", "mphantom", "mfenced", "menclose", "msub", "msup", "msubsup", "munder", "mover", "munderover"),
    *("mmultiscripts", "mprescripts", "none", "mtable", "mtr", "mtd"),
)
_SIZES = {"stretchy", "fence", "form", "largeop", "lspace", "rspace", "minsize", "maxsize", "movablelimits", "accent"}
_ATTRIBUTES = {
    "a": {"href"},
    "mark": {"data-number"},
    "ol": {"start"},
    "math": {"display"},
    "mi": {"mathvariant"},
    "mo": {*_SIZES, "mathvariant"},
    "mspace": {"width", "height", "depth"},
    "mfrac": {"linethickness"},
    "mtable": {"columnalign"},
    "mstyle": {"displaystyle", "scriptlevel"},
}
_CLASSES = {"mark": {"best"}, "span": {*CLASSES, "picture"}, "th": {"center", "right"}, "td": {"center", "right"}}
# They may open a page of their own only.
_LINKS = {"a": {"target": "_blank"}}


class Excerpt(NamedTuple):
    """A text to render."""

    kind: Kind
    text: str
    marks: tuple[Mark, ...] = ()
    name: str = ""
    context: str = ""
    is_beginning: bool = True


def render(excerpt: Excerpt) -> str | None:
    """Return a text as clean HTML, or None if it can't be rendered."""
    try:
        if excerpt.kind == "code":
            return cleaned(code(excerpt.text, language_of(excerpt.name), excerpt.marks))
        found = markdown(excerpt.text, excerpt.marks, context=excerpt.context, is_beginning=excerpt.is_beginning)
        return cleaned(found)
    except MemoryError:
        raise
    except Exception:  # a fault of a library
        return None


def cleaned(html: str) -> str:
    """Return HTML with nothing in it but the elements, attributes, classes and links that are allowed."""
    return nh3.clean(
        html,
        tags={*_TEXT, *_FORMULAS},
        attributes=_ATTRIBUTES,
        allowed_classes=_CLASSES,
        url_schemes=set(SCHEMES),
        set_tag_attribute_values=_LINKS,
        link_rel="noopener noreferrer nofollow",
    )
