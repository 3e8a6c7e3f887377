"""Writes the picture and the table of the rooms for the page on the architecture, from the code.

Run `python docs/architecture.py` after a room has come, gone or changed its imports or its docstring.
"""

from __future__ import annotations

import ast
import re
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.structure import Structure  # noqa: E402
from tests.test_imports import LAYERS  # noqa: E402

# Modules that are no rooms: the names of the package, and the way to start it.
_DOORSTEPS = {"__init__", "__main__"}
_WIDTH, _ROW, _HEIGHT, _LETTER, _MARGIN = 1000, 74, 32, 7.6, 14
# Sweeps over the rows that bring each room above those that it imports.
_SWEEPS = 8


def generated() -> dict[Path, str]:
    """Return the contents of the picture and of the page, by path."""
    imports = rooms()
    page = ROOT / "docs" / "architecture.md"
    table = "".join(f"| `{room}` | {_purpose(room)} |\n" for room in imports)
    head = "| room | what lives there |\n|---|---|\n"
    text = re.sub(rf"{re.escape(head)}(\|.*\n)+", lambda _: head + table, page.read_text(encoding="utf-8"))
    return {page: text, ROOT / "docs" / "assets" / "rooms.svg": picture(imports)}


def rooms() -> dict[str, set[str]]:
    """Return the rooms from the ground up, each with those that it imports."""
    structure = Structure(ROOT / "kinsplit")
    found: dict[str, set[str]] = {room: set() for room in LAYERS if room not in _DOORSTEPS}
    for module in structure.modules.values():
        found.get(_room(module.name), set()).update(_room(name) for name in module.imports)
    return {room: (imported & found.keys()) - {room} for room, imported in found.items()}


def _room(module: str) -> str:
    return [*module.split("."), "__init__"][1]


def _purpose(room: str) -> str:
    """Return the first sentence of a room's docstring."""
    path = ROOT / "kinsplit" / room
    front = path / "__init__.py"
    file = front if front.is_file() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def picture(imports: dict[str, set[str]]) -> str:
    """Return the rooms as a picture: each above those that it imports, without arrows that others imply.

    Args:
        imports: The rooms from the ground up, each with those that it imports.
    """
    below: dict[str, set[str]] = {}
    floors: dict[str, int] = {}
    for room, own in imports.items():
        below[room] = own.union(*(below[each] for each in own))
        floors[room] = 1 + max((floors[each] for each in own), default=-1)
    arrows = {
        (room, each) for room, own in imports.items() for each in own if not any(each in below[other] for other in own)
    }
    rows = [[room for room in imports if floors[room] == floor] for floor in range(max(floors.values()) + 1)]
    centres = _centres(rows, arrows)
    height = len(rows) * _ROW + _MARGIN
    tops = {room: height - _ROW * (floor + 1) for room, floor in floors.items()}
    view = f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="13"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {view}>',
        f"<title>The rooms of kinsplit: {escape(', '.join(imports))}</title>",
        f'<rect width="{_WIDTH}" height="{height}" rx="8" fill="#fff"/>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">',
        '<path d="M0 0L8 4L0 8z" fill="#7986cb"/></marker></defs>',
    ]
    for room, each in sorted(arrows):
        start, end = tops[room] + _HEIGHT, tops[each]
        middle = (start + end) // 2
        x, to = centres[room], centres[each]
        path = f"M{x} {start}C{x} {middle} {to} {middle} {to} {end}"
        lines.append(f'<path d="{path}" fill="none" stroke="#9fa8da" marker-end="url(#tip)"/>')
    for room, centre in centres.items():
        width = _width(room)
        box = f'x="{centre - width // 2}" y="{tops[room]}" width="{width}" height="{_HEIGHT}"'
        lines.append(f'<rect {box} rx="6" fill="#e8eaf6" stroke="#3f51b5"/>')
        lines.append(f'<text x="{centre}" y="{tops[room] + 21}" text-anchor="middle" fill="#1a237e">{room}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _width(room: str) -> int:
    return round(len(room) * _LETTER) + 24


def _centres(rows: list[list[str]], arrows: set[tuple[str, str]]) -> dict[str, int]:
    """Return the horizontal position of each room, near those of its neighbours above and below."""
    centres: dict[str, int] = {}
    for _ in range(_SWEEPS):
        for row in rows:
            row.sort(key=lambda room: (_pull(room, arrows, centres), room))
            gap = (_WIDTH - sum(map(_width, row))) / (len(row) + 1)
            left = gap
            for room in row:
                centres[room] = round(left + _width(room) / 2)
                left += _width(room) + gap
    return centres


def _pull(room: str, arrows: set[tuple[str, str]], centres: dict[str, int]) -> float:
    near = sorted(centres[one if other == room else other] for one, other in arrows if _meet(room, one, other, centres))
    return sum(near) / len(near) if near else _WIDTH / 2


def _meet(room: str, one: str, other: str, centres: dict[str, int]) -> bool:
    return room in (one, other) and one in centres and other in centres


if __name__ == "__main__":
    for path, content in generated().items():
        path.write_text(content, encoding="utf-8")
