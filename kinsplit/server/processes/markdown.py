r"""Excerpts of documents as safe HTML: the list of elements and attributes that they may have.

Markdown becomes HTML with marks of ranges of its source. markdown-it parses it with CommonMark's rules, tables,
struck-out text, and formulas: in `$`, `$$`, `\(`, `\[`, `\\(`, `\\[`, between `$` and backticks, in fences named `math`
and in LaTeX's own environments. Anchors, comments, attributes and the lines of fenced divs, of which a site shows
nothing, are left out. Other HTML in the source stays text, pictures are named but not loaded, and links lead only to
other sites (`http`, `https`, `mailto`): what a relative link means is known only in the document's own folder.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, MutableMapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Literal, NamedTuple

import nh3
from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from mdit_py_plugins.texmath import texmath_plugin

from kinsplit.markup.source import SCHEMES, leads_away, lexer_of, opening
from kinsplit.server.processes.marks import CLASSES, Mark, MarkedLines, code, marked, strongest, within, wrapped

# Characters of the longest formula that is set.
_FORMULA = 2_000
_SAME_LENGTH = str.maketrans({"\r": "\n", "\0": "\ufffd"})


def markdown(text: str, marks: Sequence[Mark], *, header: str = "", is_beginning: bool = True) -> str:
    """Return Markdown that may begin and end anywhere in its document as HTML, which is still to be cleaned.

    The header is that of the table in which the text begins. Front matter is recognised where the document begins.
    """
    before = opening(text, header)
    source = f"{before}{text}".replace("\r\n", " \n").translate(_SAME_LENGTH)
    lines = MarkedLines(source, [m._replace(start=m.start + len(before), end=m.end + len(before)) for m in marks])
    parser = _parser(is_beginning)
    tokens = parser.parse(source)
    _place(tokens, lines)
    return str(parser.renderer.render(tokens, parser.options, {}))


@cache
def _parser(is_beginning: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    # Escaped characters stay apart, so that each text can be found in its source.
    parser.disable("text_join")
    dollarmath_plugin(parser, allow_labels=False, allow_space=False, allow_digits=False, double_inline=True)
    texmath_plugin(parser, delimiters="brackets")
    amsmath_plugin(parser)
    # Before the dollars, which would take the backticks for a part of the formula.
    parser.inline.ruler.before("math_inline", "math_marks", _other_formula)
    parser.inline.ruler.before("escape", "unseen", _unseen)
    parser.block.ruler.before("paragraph", "unseen", _unseen_line, {"alt": ["paragraph", "blockquote", "list"]})
    if is_beginning:
        front_matter_plugin(parser)
    for name, rule in _RULES.items():
        parser.add_render_rule(name, rule)
    return parser


def _place(tokens: Sequence[Token], lines: MarkedLines) -> None:
    """Give every token with content the marks inside it."""
    around = [0, 0]
    for token in tokens:
        around = token.map or around
        if token.type == "inline":
            marks = lines.inside(token.content, *around)
            at = 0
            for child in token.children or []:
                content = {"text_special": child.markup, "softbreak": "\n"}.get(child.type, child.content)
                if child.type == "image" or not content:
                    continue
                place = token.content.find(content, at)
                if place >= 0:
                    child.meta["marks"] = within(marks, place, place + len(content))
                    at = place + len(content)
        elif token.type in ("fence", "code_block", "front_matter"):
            first = around[0] + (token.type != "code_block")
            token.meta["marks"] = lines.inside(token.content, first, around[1])
        elif token.content:
            # Some plug-ins don't say which lines they took.
            token.meta["marks"] = lines.inside(token.content, around[0], around[1] if token.map else lines.number)


# Formulas in marks that no plug-in knows: in those of kramdown and MathJax, and of GitLab.
_FORMULAS_IN = {
    "\\\\(": (re.compile(r"\\\\\(((?:(?!\\\\[()]).)+)\\\\\)", re.DOTALL), "math_inline"),
    "\\\\[": (re.compile(r"\\\\\[((?:(?!\\\\[\[\]]).)+)\\\\\]", re.DOTALL), "math_inline_double"),
    "$`": (re.compile(r"\$`([^`\n]+)`\$"), "math_inline"),
}
_ANCHOR = r"""(?:name|id)\s*=\s*(?:"[^"\n]*"|'[^'\n]*'|[\w.:-]+)"""
_UNSEEN = re.compile(
    rf"<a\s+{_ANCHOR}\s*(?:/>|>\s*</a>)|<!--.{{0,5000}}?-->|[ \t]*\{{#[^{{}}\n]+\}}[ \t]*\Z", re.DOTALL
)
# A line that opens or ends a fenced div, or gives the block before it attributes.
_UNSEEN_LINE = re.compile(
    r":{3,}+[ \t]*+(?:\{[^{}]*\}|[\w.-]++)?+[ \t]*+(?:\{[^{}]*\})?+[ \t]*+:*+[ \t]*+|\{:[^{}]*\}[ \t]*+"
)


def _other_formula(state: StateInline, silent: bool) -> bool:
    for begin, (pattern, kind) in _FORMULAS_IN.items():
        if state.src.startswith(begin, state.pos) and (found := pattern.match(state.src, state.pos)):
            if not silent:
                state.push(kind, "math", 0).content = found[1]
            state.pos = found.end()
            return True
    return False


def _unseen(state: StateInline, _: bool) -> bool:
    found = _UNSEEN.match(state.src, state.pos)
    if found is None:
        return False
    state.pos = found.end()
    return True


def _unseen_line(state: StateBlock, first: int, _: int, silent: bool) -> bool:
    begin, end = state.bMarks[first] + state.tShift[first], state.eMarks[first]
    line = state.src[begin:end]
    is_alone = _UNSEEN_LINE.fullmatch(line) or ((found := _UNSEEN.match(line)) and found.end() == len(line))
    if not is_alone or state.is_code_block(first):
        return False
    if not silent:
        state.line = first + 1
    return True


_Tokens = Sequence[Token]
_Rule = Callable[[Any, _Tokens, int, Any, MutableMapping[str, Any]], str]


def _marks(token: Token) -> list[Mark]:
    found: list[Mark] = token.meta.get("marks", [])
    return found


def _wrapped(content: str, token: Token) -> str:
    return wrapped(content, strongest(_marks(token)))


def _rule(show: Callable[[Token], str]) -> _Rule:
    """Return the rule of a token that depends on no others."""
    return lambda _, tokens, at, *__: show(tokens[at])


def _fence(token: Token) -> str:
    words = token.info.strip("{}. ").split()
    language = re.sub(r"[^\w+#-]", "", words[0]) if words else ""
    if language == "math":
        return _wrapped(_typeset(token.content.strip(), "block"), token)
    return code(token.content.removesuffix("\n"), lexer_of(language) if language else None, _marks(token))


def _formula(display: str) -> _Rule:
    return _rule(lambda token: _wrapped(_typeset(token.content.strip(), display), token))


def _typeset(latex: str, display: str) -> str:
    """Return a formula as MathML, or its source as code if it can't be set."""
    if len(latex) <= _FORMULA:
        with suppress(Exception):  # its parser raises anything at a formula that isn't valid
            return str(convert(latex, display=display))
    return f"<code>{html.escape(latex, quote=False)}</code>"


def _link(renderer: Any, tokens: _Tokens, at: int, options: Any, env: MutableMapping[str, Any]) -> str:
    link = tokens[at].attrs
    tokens[at].attrs = {"href": link["href"]} if leads_away(link) else {}
    return str(renderer.renderToken(tokens, at, options, env))


def _cell(renderer: Any, tokens: _Tokens, at: int, options: Any, env: MutableMapping[str, Any]) -> str:
    token = tokens[at]
    # Policies forbid styles in markup.
    side = str(token.attrs.pop("style", "")).removeprefix("text-align:")
    if side in ("center", "right"):
        token.attrs["class"] = side
    return str(renderer.renderToken(tokens, at, options, env))


_RULES: dict[str, _Rule] = {
    "text": _rule(lambda token: marked(token.content, _marks(token))),
    "text_special": _rule(lambda token: _wrapped(html.escape(token.content, quote=False), token)),
    "softbreak": _rule(lambda token: _wrapped("\n", token)),
    "code_inline": _rule(lambda token: f"<code>{marked(token.content, _marks(token))}</code>"),
    "image": _rule(
        lambda token: f'<span class="picture">{html.escape(token.content or "picture", quote=False)}</span>'
    ),
    **dict.fromkeys(("code_block", "fence", "front_matter"), _rule(_fence)),
    "link_open": _link,
    "th_open": _cell,
    "td_open": _cell,
    "math_inline": _formula("inline"),
    "math_inline_double": _formula("block"),
    "math_single": _formula("inline"),
    "math_block": _formula("block"),
    "amsmath": _formula("block"),
}


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
    header: str = ""
    is_beginning: bool = True


def render(excerpt: Excerpt) -> str | None:
    """Return a text as clean HTML, or None if it can't be rendered."""
    try:
        if excerpt.kind == "code":
            found = code(excerpt.text, lexer_of(excerpt.name), excerpt.marks)
        else:
            found = markdown(excerpt.text, excerpt.marks, header=excerpt.header, is_beginning=excerpt.is_beginning)
        return _cleaned(found)
    except MemoryError:
        raise
    except Exception:  # a fault of a library
        return None


def _cleaned(html: str) -> str:
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
