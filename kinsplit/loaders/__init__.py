"""Loaders of files as `Document`s: one module per format, one registry, offsets that stay valid.

```python
found = discover(["courses"], subjects=["cs"])  # files with their facts, and skipped paths
for loaded in load_files(found.files):          # or load(["courses"], subjects=["cs"]) for both steps
    if loaded.error:
        print(loaded.error)                     # names the file; the others are loaded
    for document in loaded.documents:
        ...
```

**Ids.** A file's id consists of the name of the given folder, `/`, and the path below it
(`courses/cs/6_0001/lecture_10.pdf`); for a file that is given itself, of its folder's name and its own. Ids therefore
don't depend on the machine or the working directory. Bytes of a name that are not UTF-8 become hexadecimal escapes.
Files inside files, such as attachments of an e-mail, have the file's id, `/`, and their own name.
JSON rows have their own `docid`; where strangers give files, as the service's uploads are, a row's id is `FILE#docid`.

**Readers.** What reads a file depends on its suffix; see `kinsplit.loaders.registry`, also for readers of other
packages.

**Failures.** An unreadable file, or a folder below the given one that can't be listed, is reported with its error, and
the others are loaded, whatever exception a format's library raises. Files are read in worker processes
(`kinsplit.support.workers`): a crash of the reader, or a file that exceeds the `Limits`, is an error like any other.
JSON without any `"docid"` in a folder, such as a `package.json`, has another purpose: it is skipped with a warning, and
rejected only if the file itself is given.

**Facts.** Every document's metadata has `file_path` (the file's id), `file_type` (the format's name), `group_id` (files
of one folder with a common prefix: `lecture_10.pdf`, `lecture_10_code.py`) and `sibling_files` (ids of the others of
the group), and if known `title` (on one line), `course` and `subject`. The course is the nearest folder that
looks like one course by the names in it (`lectures`, `week 1`, `lecture_1.pdf`), wherever it is, or else of the file's
own folder; the subject is the folder of the course below the given one. A `course.toml` in a folder, or in one above,
overrides these and the groups (see `course_file`).

**Encodings.** Offsets count the code points of `Document.text`, which is decoded by the first rule that applies:

1. A byte order mark (UTF-8, UTF-16, UTF-32) decides, and that mark is dropped. Any other U+FEFF stays.
2. Data in which every other byte is the number of an alphabet, or whose ideographs are all in use, is UTF-16.
3. Data of seven bits that declares an encoding with escape sequences (ISO-2022-JP, ISO-2022-KR, HZ, UTF-7), or has the
   escape sequences of the first two, is in this encoding.
4. UTF-8 with at most one invalid sequence for three valid ones beyond ASCII is UTF-8. Each invalid one becomes U+FFFD.
5. The encoding that the file declares (`<meta charset>`, the header of a part of an e-mail, a `coding:` line in code),
   by the names of the WHATWG's standard: `gb2312` is GB18030, and `iso-8859-1` is Windows-1252, as in browsers. If more
   than a tenth of the characters were invalid, the declaration is wrong.
6. The best guess of `charset_normalizer`; where Windows-1252 is equally likely, it wins.
7. UTF-8 with U+FFFD for every byte sequence that is not valid.

Every guess and every loss is a warning in `Loaded.warnings`. NUL and lone surrogates, which databases reject, become
U+FFFD one for one, so that offsets don't change, and are counted in a warning. Line ends of plain text, Markdown and
code are kept. The other formats have no plain text: their modules describe the text that is made from them, and offsets
refer to that text.
"""

from __future__ import annotations

from kinsplit.loaders.content import Attachment, Content, Format, Reading, UnreadableError, row_id
from kinsplit.loaders.discovery import Discovery, SourceFile, discover
from kinsplit.loaders.registry import FORMATS, suffixes
from kinsplit.loaders.run import Limits, Loaded, load, load_file, load_files, read

__all__ = [
    "FORMATS",
    "Attachment",
    "Content",
    "Discovery",
    "Format",
    "Limits",
    "Loaded",
    "Reading",
    "SourceFile",
    "UnreadableError",
    "discover",
    "load",
    "load_file",
    "load_files",
    "read",
    "row_id",
    "suffixes",
]
