"""Linear time for every text, whatever it repeats.

The first test takes some seconds, since it tries thousands of texts, in a process that can be stopped.
"""

import json
import subprocess
import sys

from tests.growth import UNITS, is_linear


def test_the_time_of_patterns_and_functions_grows_no_faster_than_a_text():
    done = subprocess.run(
        [sys.executable, "-m", "tests.growth"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


def test_what_grows_faster_is_noticed():
    assert not is_linear(lambda text: sum(1 for _ in text for _ in text), "a", 1 << 9, 0)
    assert is_linear(lambda text: text.count("a"), "a", 1 << 13, 0.1)
    assert len(UNITS) > 30
