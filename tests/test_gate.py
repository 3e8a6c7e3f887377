"""The script that runs the blocks of a page (.ci/blocks.py)."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / ".ci" / "blocks.py"
PAGE = """
<!-- setup
number = 3
-->

```console
$ echo "one \\
    two" > written.txt
one two
```

<!-- not run: needs a key -->
```console
$ false
```

```python
number += len(open("written.txt").read().split())
```

```pycon
>>> number
5

```
"""


def run(folder, page, *first):
    (folder / "page.md").write_text(page)
    command = [sys.executable, "-P", str(SCRIPT), str(folder / "page.md"), *first]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_page_is_one_program(tmp_path):
    done = run(tmp_path, PAGE)
    assert done.returncode == 0, done.stderr
    assert [line.split("  ")[-1] for line in done.stdout.splitlines()] == [
        *("setup", 'echo "one two" > written.txt', "not run: needs a key", "python", "pycon"),
    ]


@pytest.mark.parametrize(
    ("before", "after", "error"),
    [
        ("echo", "false || cat nothing; exit 7; echo", "nothing: No such file or directory"),
        ("number +=", "number = unknown +", "NameError: name 'unknown' is not defined"),
        ("\n5\n", "\n6\n", "DocTestFailure"),
    ],
)
def test_what_fails_ends_it(tmp_path, before, after, error):
    done = run(tmp_path, PAGE.replace(before, after))
    assert done.returncode != 0
    assert error in done.stderr


def test_a_part_of_a_page_is_enough(tmp_path):
    assert len(run(tmp_path, PAGE, "2").stdout.splitlines()) == 2
