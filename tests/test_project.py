"""What the package index and the repository show: links, versions, supported Pythons, workflows."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

import kinsplit
from tests.snippets import ROOT

yaml = pytest.importorskip("yaml")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "name", ["README.md", *(f"packages/{p.name}/README.md" for p in (ROOT / "packages").glob("*"))]
)
def test_a_readme_has_no_relative_links(name: str) -> None:
    """The package index shows it without the repository around it."""
    links = re.findall(r"\]\(([^)\s]+)\)", (ROOT / name).read_text(encoding="utf-8"))
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert links


def test_one_version_everywhere() -> None:
    citation = read("CITATION.cff")
    assert citation["version"] == PROJECT["version"] == kinsplit.__version__
    (version, date), *_ = re.findall(
        r"^## \[(.+)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert (version, date) == (PROJECT["version"], str(citation["date-released"]))
    for path in (ROOT / "packages").glob("*/pyproject.toml"):
        own = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        # The model has versions of its own.
        assert own.get("version") == (None if own["name"] == "kinsplit-minilm" else PROJECT["version"])


def test_the_changelog_of_the_first_release_lists_no_changes() -> None:
    assert PROJECT["version"] != "0.1.0" or len((ROOT / "CHANGELOG.md").read_text(encoding="utf-8")) < 3000


def test_no_extra_needs_a_package_of_this_repository() -> None:
    """It would have to be on the package index before kinsplit is."""
    named = [one for extra in PROJECT["optional-dependencies"].values() for one in extra]
    own = {path.name for path in (ROOT / "packages").glob("*")}
    assert not {re.split(r"[^\w-]", one)[0] for one in [*named, *PROJECT["dependencies"]]} & own


def test_one_address_everywhere() -> None:
    urls, citation = PROJECT["urls"], read("CITATION.cff")
    assert citation["repository-code"] == urls["Source"]
    assert citation["url"] == urls["Documentation"] == read("mkdocs.yml")["site_url"]
    assert urls["Changelog"] == f"{urls['Source']}/blob/main/CHANGELOG.md"


def test_every_python_that_is_claimed_is_tested_on_three_systems() -> None:
    claimed = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", c)]
    matrix = read(".github/workflows/ci.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == claimed
    assert PROJECT["requires-python"] == f">={claimed[0]}"
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_the_lowest_and_the_newest_versions_are_tested_with_every_extra() -> None:
    rows = read(".github/workflows/versions.yml")["jobs"]["test"]["strategy"]["matrix"]["include"]
    assert {row["versions"] for row in rows} == {"lowest", "newest"}
    script = (ROOT / ".ci" / "versions").read_text(encoding="utf-8")
    lowest, newest = (set(extras.split(",")) for extras in re.findall(r'extras="([\w,-]+)\$torch"', script))
    assert "all" in newest
    every = re.findall(r"\[([\w,-]+)\]", PROJECT["optional-dependencies"]["all"][0])[0].split(",")
    assert lowest >= set(every) - {"mcp", "ray"}


def test_a_tag_publishes_what_was_built_checked_and_attested_without_a_secret() -> None:
    workflow = (ROOT / ".github" / "workflows" / "publish.yml").read_text(encoding="utf-8")
    build, attest, costs, publish = yaml.safe_load(workflow)["jobs"].values()
    assert {"run": "make dry-run"} in build["steps"]
    assert (attest["needs"], publish["needs"]) == ("build", ["attest", "costs"])
    assert costs["steps"][-1] == {"run": "make bench-gate"}
    assert attest["if"] == publish["if"] == "github.ref_type == 'tag'"
    assert attest["permissions"] == {"attestations": "write", "id-token": "write"}
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["environment"]["name"] == "pypi"
    assert "secrets." not in workflow
    packages = {path.name for path in (ROOT / "packages").glob("*")}
    assert set(publish["strategy"]["matrix"]["project"]) == {PROJECT["name"], *packages}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(name in makefile.partition("\ndist:")[2].partition("\ngate:")[0] for name in packages)


def test_the_wheel_holds_the_licences_of_what_it_bundles() -> None:
    assert PROJECT["license"] == "MIT AND Apache-2.0 AND BSD-3-Clause"
    bundled = [path.relative_to(ROOT) for pattern in PROJECT["license-files"] for path in ROOT.glob(pattern)]
    notices = [path.relative_to(ROOT) for path in (ROOT / "kinsplit").rglob("NOTICE")]
    assert {*bundled} == {Path("LICENSE"), Path("LICENSE-APACHE"), *notices}
    # What is compressed isn't kinsplit's own.
    compressed = [path for pattern in ("*.gz", "*.npz") for path in (ROOT / "kinsplit").rglob(pattern)]
    assert {path.parent for path in compressed} == {ROOT / path.parent for path in notices}


def test_workflows_may_only_read_unless_a_job_says_more() -> None:
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        assert read(f".github/workflows/{path.name}")["permissions"] == {"contents": "read"}, path.name


def test_a_profile_starts_a_cluster_of_three_nodes() -> None:
    services = read("docker-compose.yml")["services"]
    nodes = {name: node for name, node in services.items() if "cluster" in node.get("profiles", [])}
    assert len(nodes) == 3
    first, *others = nodes
    for name, node in nodes.items():
        assert node["environment"] == {"QDRANT__CLUSTER__ENABLED": "true"}
        assert node["command"][:3] == ["./qdrant", "--uri", f"http://{name}:6335"]
        assert node["command"][3:] == (["--bootstrap", f"http://{first}:6335"] if name in others else [])
    for key in ("ports", "volumes"):
        used = [each for service in services.values() for each in service.get(key, [])]
        assert len({each.rpartition(":")[0] for each in used}) == len(used)


def test_what_the_image_copies_is_in_its_context() -> None:
    image = runpy.run_path(str(ROOT / ".ci" / "image.py"))
    steps = list(image["instructions"]((ROOT / "Dockerfile").read_text(encoding="utf-8")))
    sources = [source for name, arguments in steps if name == "COPY" for source in arguments.split()[:-1]]
    assert {"kinsplit", "examples", "requirements/demo.txt"} <= set(sources)
    assert [source for source in sources if not image["is_in_context"](source)] == []
    assert not image["is_in_context"]("tests")


def test_compose_reads_its_file() -> None:
    command = next(
        (c for c in (["docker-compose"], ["docker", "compose"]) if shutil.which(c[0]) and _is_compose(c)), None
    )
    if command is None:
        pytest.skip("Compose from version 2.24 is not installed")
    done = subprocess.run([*command, "--profile", "*", "config"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    resolved = yaml.safe_load(done.stdout)["services"]
    assert set(resolved) == set(read("docker-compose.yml")["services"])
    assert resolved["service"]["environment"]["KINSPLIT_STORE"] == "qdrant:http://qdrant:6333"
    published = [port["host_ip"] for service in resolved.values() for port in service.get("ports", [])]
    assert set(published) == {"127.0.0.1"}


def _is_compose(command: list[str]) -> bool:
    """Return whether a command is a Compose that knows files of settings that need not be there."""
    told = subprocess.run([*command, "version", "--short"], capture_output=True, text=True, check=False)
    found = re.match(r"v?(\d+)\.(\d+)", told.stdout)
    return told.returncode == 0 and found is not None and (int(found[1]), int(found[2])) >= (2, 24)
