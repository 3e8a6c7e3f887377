"""Print the lowest versions that pyproject.toml claims, as constraints for pip."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

# Of tools and of libraries that are only compared with, the newest will do.
_OTHERS = ("all", "benchmarks", "dev", "ray")
_FLOOR = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,-]+\])?>=(?P<version>[\w.]+)")

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
claimed = [*project["dependencies"], *(one for extra in extras if extra not in _OTHERS for one in extras[extra])]
floors = [found for one in claimed if (found := _FLOOR.match(one))]
sys.stdout.writelines(f"{found['name']}=={found['version']}\n" for found in floors)
