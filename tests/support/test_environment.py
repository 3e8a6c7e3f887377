"""Variables and their sources: who may set what, and where secrets go."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kinsplit.errors import InvalidParameterError, LoadError
from kinsplit.model_servers.clients import OPENAI, connect_ollama, connect_openai
from kinsplit.model_servers.secrets import check_source
from kinsplit.support.environment import (
    VARIABLES,
    Origin,
    Setting,
    env_files,
    look_up,
    may_be_found,
    own_names,
    read,
)

KEY, ADDRESS = "OPENAI_API_KEY", "OPENAI_BASE_URL"
_LIMITS = {"failed": LoadError, "unavailable": LoadError}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (*(variable.name for variable in VARIABLES), "RENT_SET", "RENT_EMPTY", "RENT_NEW", "RENT_BLANK"):
        monkeypatch.delenv(name, raising=False)


def test_a_named_file_fills_the_environment_literally_and_is_taken_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RENT_SET", "outside")
    monkeypatch.setenv("RENT_EMPTY", "")
    file = tmp_path / "rent.env"
    file.write_text(
        "\ufeff# Keys\nRENT_SET=file\nRENT_EMPTY=file\nexport RENT_NEW='a b' # why\nRENT_BLANK=\n"
        "RENT_KEY=${RENT_SET}\n",
        encoding="utf-8",
    )
    before = dict(os.environ)
    with env_files(file):
        names = ("SET", "EMPTY", "NEW", "BLANK", "KEY")
        assert [os.environ.get(f"RENT_{name}") for name in names] == ["outside", "file", "a b", None, "${RENT_SET}"]
        assert look_up("RENT_SET") == Setting("RENT_SET", "outside", Origin.ENVIRONMENT)
        assert look_up("RENT_NEW") == Setting("RENT_NEW", "a b", Origin.FILE, str(file))
        with env_files():
            assert os.environ["RENT_NEW"] == "a b"
            assert look_up("RENT_NEW") == Setting("RENT_NEW", "a b", Origin.FILE, str(file))
    assert dict(os.environ) == before
    assert look_up("RENT_NEW") is None


def test_a_found_file_never_enters_an_environment(tmp_path: Path) -> None:
    names = ("PYTHONPATH", "LD_PRELOAD", "HTTPS_PROXY", "KINSPLIT_HOST", KEY)
    (tmp_path / ".env").write_text("".join(f"{name}=./evil\n" for name in names))
    before = dict(os.environ)
    with env_files():
        assert look_up(KEY) == Setting(KEY, "./evil", Origin.FOUND, ".env")
        assert read(KEY) == "./evil"
        assert dict(os.environ) == before
        child = subprocess.run(
            [
                sys.executable,
                "-c",
                "import os; print([name for name in os.environ if os.environ[name] == './evil'])",
            ],
            capture_output=True,
            text=True,
            check=True,
        )
    assert child.stdout == "[]\n"


@pytest.mark.parametrize("variable", VARIABLES, ids=lambda variable: variable.name)
def test_a_found_file_gives_keys_and_figures_but_nothing_that_points_somewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: object
) -> None:
    name = getattr(variable, "name", "").replace("PROVIDER", "COHERE")
    (tmp_path / ".env").write_text(f"{name}=found\n")
    with env_files():
        if may_be_found(name):
            assert read(name) == "found"
        else:
            with pytest.raises(InvalidParameterError, match=rf"^{name}: .*that is merely found.*--env-file \.env"):
                read(name)
        monkeypatch.setenv(name, "set")
        assert read(name) == "set"
    monkeypatch.delenv(name)
    with env_files(Path(".env")):
        assert read(name) == "found"


def test_what_may_be_found_is_one_short_list() -> None:
    assert [variable.name for variable in VARIABLES if variable.may_be_found] == [
        *(KEY, "OLLAMA_API_KEY", "PROVIDER_API_KEY", "KINSPLIT_QDRANT_API_KEY", "KINSPLIT_EMBEDDING_PRICE"),
        "KINSPLIT_CONTACT",
    ]
    assert not any(map(may_be_found, ("PYTHONPATH", "HTTPS_PROXY", "OPENAI_API_BASE", "SSL_CERT_FILE", "HF_ENDPOINT")))


_SOURCES = ("environment", "file", "found")


@pytest.mark.parametrize("key", [*_SOURCES, "given", "none"])
@pytest.mark.parametrize("address", [*_SOURCES, "given", "none"])
def test_a_key_goes_to_an_address_of_the_same_or_a_more_trusted_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, address: str
) -> None:
    files: dict[str, list[str]] = {"file": [], "found": []}
    for name, source, value in ((KEY, key, "sk-12345678"), (ADDRESS, address, "http://127.0.0.1:9/v1")):
        if source == "environment":
            monkeypatch.setenv(name, value)
        elif source in files:
            files[source].append(f"{name}={value}")
    (tmp_path / ".env").write_text("\n".join(files["found"]))
    named = tmp_path / "named.env"
    named.write_text("\n".join(files["file"]))
    trust = {"found": 0, "file": 1, "environment": 2, "given": 2}
    is_allowed = address == "none" or (address != "found" and trust[address] >= trust.get(key, 0))

    def connect() -> None:
        base_url = "http://127.0.0.1:9/v1" if address == "given" else None
        server = connect_openai("m", base_url, "sk-12345678" if key == "given" else None, **_LIMITS)
        assert server.url == (OPENAI if address == "none" else "http://127.0.0.1:9/v1")

    with env_files(named):
        if is_allowed:
            connect()
        else:
            with pytest.raises(InvalidParameterError) as caught:
                connect()
            told = str(caught.value)
            where = {"found": ".env", "file": str(named)}[address]
            assert told.startswith(f"{ADDRESS}: ")
            assert where in told
            places = {"none": "", "found": ".env", "file": str(named), "environment": "in the environment"}
            assert places.get(key, "api_key") in told
            assert "sk-12345678" not in told


def test_the_same_holds_for_ollama(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("OLLAMA_HOST=http://evil.example\n")
    with env_files(), pytest.raises(InvalidParameterError, match=r"OLLAMA_HOST: .*your texts would go to that address"):
        connect_ollama("m", None, **_LIMITS)
    monkeypatch.setenv("OLLAMA_API_KEY", "sk-12345678")
    with env_files(Path(".env")), pytest.raises(InvalidParameterError, match=r"\.env while .* in the environment"):
        connect_ollama("m", None, **_LIMITS)
    with env_files(Path(".env")):
        assert connect_ollama("m", "http://127.0.0.1:9", **_LIMITS).url == "http://127.0.0.1:9"


@pytest.mark.parametrize(("address", "secret"), [("HF_ENDPOINT", "HF_TOKEN"), ("PGHOST", "PGPASSWORD")])
def test_no_library_sends_a_secret_of_the_environment_to_an_address_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, secret: str
) -> None:
    monkeypatch.delenv(address, raising=False)
    monkeypatch.setenv(secret, "sk-12345678")
    file = tmp_path / "named.env"
    file.write_text(f"{address}=evil.example\n")
    with (
        pytest.raises(InvalidParameterError, match=f"^{address}: .* while the key is {secret} in the env"),
        env_files(file),
    ):
        pass
    assert address not in os.environ
    monkeypatch.delenv(secret)
    file.write_text(f"{address}=own.example\n{secret}=sk-12345678\n")
    with env_files(file):
        assert os.environ[address] == "own.example"


def test_an_address_in_a_spec_is_as_trusted_as_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = Setting("embedder", "openai:m?base_url=http://evil.example/v1", Origin.FILE, "kinsplit.toml")
    check_source(spec)
    monkeypatch.setenv(KEY, "sk-12345678")
    with pytest.raises(
        InvalidParameterError, match=r"kinsplit\.toml while the key is OPENAI_API_KEY in the environment"
    ):
        check_source(spec)
    check_source(Setting("embedder", "openai:m", Origin.FILE, "kinsplit.toml"))


def test_a_file_that_is_not_text_or_not_there_is_one_error(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"RENT_NEW=\xff\xfe")
    with env_files(), pytest.raises(LoadError, match=r"^\.env: is not UTF-8 text"):
        read("RENT_NEW")
    with pytest.raises(LoadError, match="is not UTF-8 text"), env_files(Path(".env")):
        pass
    with pytest.raises(LoadError, match=r"^no\.env: is not a file"), env_files(Path("no.env")):
        pass


def test_the_files_of_a_command_stay_when_an_earlier_one_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    earlier = env_files()
    earlier.__enter__()
    (tmp_path / ".env").write_text("KINSPLIT_OWN=1\n")
    with env_files():
        earlier.__exit__(None, None, None)
        assert "KINSPLIT_OWN" in own_names()
    assert "KINSPLIT_OWN" not in own_names()
