"""HTML for notebooks: escaped, without scripts and pictures, in the colours of the notebook's theme."""

from __future__ import annotations

import html
from collections.abc import Iterable, MutableMapping, Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments.token import Comment, Keyword, Number, Operator, String

from kinsplit.markup.source import Kind, leads_away, lexer_of, opening, parser

# HTML forbids NUL and lone surrogates and hides other controls. Replaced one for one, to preserve offsets.
_UNPRINTABLE = dict.fromkeys([*range(9), 11, 12, *range(14, 32), *range(127, 160), *range(0xD800, 0xE000)], "\ufffd")
# Kinds of words in code; the first that holds a word's own gives its class.
_CODE = ((Comment, "c"), (String, "s"), (Number, "n"), (Keyword, "k"), (Operator.Word, "k"))

# Backgrounds are translucent and texts have the notebook's colour, so both of its themes are legible.
_STYLE = """
.kinsplit { font: 14px/1.5 system-ui, sans-serif; max-width: 54rem; overflow-wrap: anywhere; }
.kinsplit .card { border: 1px solid #8886; border-radius: 4px; margin: 0 0 10px; padding: 8px 12px; }
.kinsplit .head { margin: 0; }
.kinsplit .facts { margin: 0 0 6px; font-size: 12px; opacity: .8; }
.kinsplit bdi { unicode-bidi: isolate; }
.kinsplit .source, .kinsplit pre { white-space: pre-wrap; margin: 4px 0; background: none; color: inherit; }
.kinsplit pre, .kinsplit code { font: 13px/1.45 ui-monospace, Menlo, Consolas, monospace; color: inherit; }
.kinsplit pre { padding: 6px 8px; background: #8882; border: 0; }
.kinsplit :is(h1, h2, h3, h4, h5, h6) { font-size: 15px; margin: 6px 0; }
.kinsplit :is(p, ul, ol, blockquote) { margin: 4px 0; }
.kinsplit blockquote { border-left: 3px solid #8886; padding-left: 8px; }
.kinsplit .wide { overflow-x: auto; }
.kinsplit a { color: inherit; text-decoration: underline; }
.kinsplit table { border-collapse: collapse; margin: 6px 0; font-size: 13px; color: inherit; }
.kinsplit :is(th, td) { padding: 3px 10px; border-bottom: 1px solid #8886; text-align: left; vertical-align: top; }
.kinsplit .figures :is(th, td):first-child { min-width: 10rem; }
.kinsplit .figures table { font-variant-numeric: tabular-nums; }
.kinsplit .figures :is(th, td):not(:first-child) { text-align: right; white-space: nowrap; }
.kinsplit summary { cursor: pointer; font-size: 12px; opacity: .8; }
.kinsplit mark { background: #e6a70055; color: inherit; }
.kinsplit .picture { opacity: .8; font-style: italic; }
.kinsplit .c { opacity: .75; font-style: italic; }
.kinsplit .k { font-weight: 600; color: var(--jp-mirror-editor-keyword-color, inherit); }
.kinsplit .s { color: var(--jp-mirror-editor-string-color, inherit); }
.kinsplit .n { color: var(--jp-mirror-editor-number-color, inherit); }
"""


def printable(text: str) -> str:
    """Replace the characters that HTML forbids or hides, each by one character."""
    return text.translate(_UNPRINTABLE)


def escaped(text: object) -> str:
    """Return a text as HTML that shows it."""
    return html.escape(printable(str(text)))


def output(*parts: str, style: str = "") -> str:
    """Return the output of a notebook's cell; the selectors of its own style begin with `.kinsplit`."""
    return f'<div class="kinsplit"><style>{_STYLE}{style}</style>{"".join(parts)}</div>'


def card(title: str, facts: Iterable[str], *body: str) -> str:
    """Return a frame with a title and a line of facts, of which empty ones are left out, around HTML."""
    line = " · ".join(f"<bdi>{escaped(fact)}</bdi>" for fact in facts if fact)
    head = f'<p class="head"><b><bdi>{escaped(title)}</bdi></b></p>'
    return f'<div class="card">{head}<p class="facts">{line}</p>{"".join(body)}</div>'


def source(text: str, marks: Sequence[tuple[int, int]] = ()) -> str:
    """Return a text as it is, with marked ranges."""
    parts, at = [], 0
    for start, end in marks:
        parts += [escaped(text[at:start]), f"<mark>{escaped(text[start:end])}</mark>"]
        at = end
    return f'<div class="source" dir="auto">{"".join(parts)}{escaped(text[at:])}</div>'


def details(summary: str, *content: str) -> str:
    """Return content that is shown on demand."""
    return f"<details><summary>{escaped(summary)}</summary>{''.join(content)}</details>"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts; the first column names the row, and the others are figures."""
    head = "".join(f'<th scope="col">{escaped(heading)}</th>' for heading in headings)
    figures = ((escaped(name), "".join(f"<td>{escaped(cell)}</td>" for cell in cells)) for name, *cells in rows)
    body = "".join(f'<tr><th scope="row">{name}</th>{cells}</tr>' for name, cells in figures)
    return f'<div class="wide figures"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def rendered(text: str, kind: Kind, header: str, name: str) -> str:
    """Return a text as it looks."""
    if kind == "markdown":
        return f'<div class="wide" dir="auto">{_renderer().render(printable(opening(text, header) + text))}</div>'
    return _code(text, name.rpartition("/")[2]) if kind == "code" else source(text)


@cache
def _renderer() -> MarkdownIt:
    made = parser()
    made.add_render_rule("link_open", _link)
    made.add_render_rule("fence", _fence)
    made.add_render_rule("code_block", _fence)
    return made


def _link(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: MutableMapping[str, Any]) -> str:
    link = tokens[at].attrs
    safe = {"href": link.get("href", ""), "target": "_blank", "rel": "noopener noreferrer nofollow"}
    tokens[at].attrs = safe if leads_away(link) else {}
    return str(renderer.renderToken(tokens, at, options, env))


def _fence(_: Any, tokens: Sequence[Token], at: int, *__: Any) -> str:
    return _code(tokens[at].content.removesuffix("\n"), (tokens[at].info.strip("{}. ").split() or [""])[0])


def _code(text: str, language: str) -> str:
    lexer = lexer_of(language)
    if lexer is None:
        return f"<pre><code>{escaped(text)}</code></pre>"
    parts = []
    for _, kind, word in lexer.get_tokens_unprocessed(text):
        css = next((css for wide, css in _CODE if kind in wide), "")
        parts.append(f'<span class="{css}">{escaped(word)}</span>' if css else escaped(word))
    return f"<pre><code>{''.join(parts)}</code></pre>"
