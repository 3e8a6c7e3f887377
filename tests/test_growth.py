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


def test_what_grows_faster_is_noticed(monkeypatch):
    spent = 0.0

    def taking(power):
        def run(text):
            nonlocal spent
            spent += len(text) ** power

        return run

    monkeypatch.setattr("tests.growth.time.process_time", lambda: spent)
    assert not is_linear(taking(2), "a", 1 << 9, 0)
    assert is_linear(taking(2), "a", 1 << 9, negligible=1 << 20)
    assert is_linear(taking(1), "a", 1 << 9, 0)
    assert len(UNITS) > 30
