"""Documents whose cuts are counted: the shared data, the project's own files, and generated lists, logs and so on."""

from __future__ import annotations

import csv
import io
import json
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from texts import ROOT, SHARED_DATA

from kinsplit.chunk import Document
from kinsplit.loaders import load

#: Documents by what they are.
Corpora = dict[str, list[Document]]

# Number of characters of a corpus, as far as there is so much.
_SIZE = 500_000
_RECORDS = 400
_SUBJECTS = ("The owl", "A lark", "Every heron", "No. 7", "Mr. Finch", "The U.S. fleet", "Version 3.2", "Dr. Rook")
_VERBS = ("reads", "keeps", "sells", "repairs", "measures", "forgets", "counts")
_OBJECTS = ("the old map", "3.5 litres of oil", "a letter (in ink)", "two engines", "the rent, on time", "its nest")
_WHEN = ("at night", "before 9 a.m.", "in winter", "every week", "again", "without a word")


def corpora() -> Corpora:
    """Return all corpora; those whose files are missing are left out."""
    found = {name: documents for name, files in _FILES.items() if (documents := list(_cut_off(_read(files()))))}
    with tempfile.TemporaryDirectory() as folder:
        for name, (suffix, make) in _GENERATED.items():
            path = Path(folder) / f"generated{suffix}"
            path.write_text(make(random.Random(name)), encoding="utf-8")
            found[name] = list(_read([path]))
    return found


def _read(files: Iterable[Path]) -> Iterator[Document]:
    for file in files:
        for loaded in load(file):
            yield from loaded.documents


def _cut_off(documents: Iterable[Document]) -> Iterator[Document]:
    size = 0
    for document in documents:
        if size + len(document.text) > _SIZE and size:
            return
        size += len(document.text)
        yield document


def _shared(pattern: str) -> Callable[[], list[Path]]:
    return lambda: sorted(SHARED_DATA.glob(pattern))


def _own(*patterns: str) -> Callable[[], list[Path]]:
    # The page with the results is no part of what they are about.
    return lambda: [file for one in patterns for file in sorted(ROOT.glob(one)) if file.name != "cuts.md"]


_FILES: dict[str, Callable[[], list[Path]]] = {
    "prose": _shared("wikipedia_ai/txt/*.txt"),
    "contracts": _shared("legalbench_rag/maudcut/docs.jsonl"),
    "Markdown": _own("docs/*.md", "docs/guides/*.md"),
    "code": _own("kinsplit/parsers/**/*.py", "kinsplit/server/page/**/*.js", "kinsplit/server/routes/*.py"),
}


def _sentence(chosen: random.Random) -> str:
    return " ".join(map(chosen.choice, (_SUBJECTS, _VERBS, _OBJECTS, _WHEN)))


def _sentences(chosen: random.Random, most: int) -> str:
    return " ".join(f"{_sentence(chosen)}." for _ in range(chosen.randint(1, most)))


def _list(chosen: random.Random) -> str:
    items = []
    for number in range(1, _RECORDS + 1):
        items.append(f"{number}. {_sentences(chosen, 3)}")
        items += [f"   - {_sentences(chosen, 2)}" for _ in range(chosen.choice((0, 0, 2, 3)))]
    return "# Items\n\n" + "\n".join(items) + "\n"


def _table(chosen: random.Random) -> str:
    rows = (f"| {n} | {_sentence(chosen)} | {chosen.randint(1, 99)} euro |" for n in range(_RECORDS))
    return "# Table\n\n| number | what | price |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def _rows(chosen: random.Random) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("number", "name", "what", "note"))
    writer.writerows((n, chosen.choice(_SUBJECTS), _sentence(chosen), _sentences(chosen, 2)) for n in range(_RECORDS))
    return file.getvalue()


def _log(chosen: random.Random) -> str:
    lines = []
    for n in range(_RECORDS):
        lines.append(
            f"2026-11-26 12:{n // 60 % 60:02}:{n % 60:02},123 {chosen.choice(('INFO', 'WARN'))} {_sentences(chosen, 2)}"
        )
        if not chosen.randrange(9):
            lines += ["Traceback (most recent call last):", '  File "owl.py", line 3, in hunt', "ValueError: 3.50"]
    return "\n".join(lines) + "\n"


def _chat(chosen: random.Random) -> str:
    names = ("Ann", "Bob", "Zoë")
    return (
        "\n".join(f"[12:{n % 60:02}] {chosen.choice(names)}: {_sentences(chosen, 3)}" for n in range(_RECORDS)) + "\n"
    )


def _settings(chosen: random.Random) -> str:
    return "".join(
        f"service_{n}:\n  image: owl:{n}.2\n  note: {_sentence(chosen)}\n  ports:\n    - {8000 + n}\n"
        for n in range(_RECORDS // 4)
    )


def _json(chosen: random.Random) -> str:
    rows = {
        f"key_{n}": {"name": chosen.choice(_SUBJECTS), "note": _sentences(chosen, 2), "n": n} for n in range(_RECORDS)
    }
    return json.dumps(rows, indent=1)


def _subtitles(chosen: random.Random) -> str:
    times = (f"00:{n // 60:02}:{n % 60:02}" for n in range(_RECORDS))
    cues = (f"{n}\n{at},000 --> {at},900\n{_sentence(chosen)}." for n, at in enumerate(times, 1))
    return "\n\n".join(cues) + "\n"


def _fences(chosen: random.Random) -> str:
    parts = []
    for n in range(_RECORDS // 8):
        lines = "\n".join(
            f"value_{n}_{i} = compute({i}, other={n})  # {_sentence(chosen)}" for i in range(chosen.randint(1, 6))
        )
        parts.append(f"## Step {n}\n\n{_sentences(chosen, 6)}\n\n```python\n{lines}\n```")
    return "\n\n".join(parts) + "\n"


_GENERATED: dict[str, tuple[str, Callable[[random.Random], str]]] = {
    "lists": (".md", _list),
    "tables": (".md", _table),
    "fences": (".md", _fences),
    "CSV": (".txt", _rows),
    "logs": (".log", _log),
    "chats": (".txt", _chat),
    "YAML": (".txt", _settings),
    "JSON": (".txt", _json),
    "subtitles": (".srt", _subtitles),
}
