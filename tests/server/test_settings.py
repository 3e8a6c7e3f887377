from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest

from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.errors import CollectionNotFoundError, InvalidParameterError, LoadError
from kinsplit.server.collections import Collections
from kinsplit.server.settings import Rate, ServiceSettings, may_be_found
from kinsplit.support.environment import env_files
from tests.server.conftest import settings_of

FILE = """
[index]
strategy = "sentence"
embedder = "hash"

[service]
port = 1003
timeout = 5
queue = 7
api_keys = ["from-file"]
rate_limit = "10/minute"
collections = { FIXED = "tenk-fixed", SENTENCE = "tenk-sentence" }
"""


def test_what_is_given_goes_before_the_environment_before_the_file_before_what_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "kinsplit.toml"
    config.write_text(FILE)
    settings = ServiceSettings.load(config)
    assert (settings.port, settings.timeout, settings.queue) == (1003, 5, 7)
    assert settings.embedder == "hash"  # From [index].
    assert settings.rate_limit == Rate(10, 60)
    assert settings.collections == ("FIXED=tenk-fixed", "SENTENCE=tenk-sentence")
    (tmp_path / ".env").write_text(
        "KINSPLIT_TIMEOUT=6\nKINSPLIT_ANSWERS=4\nKINSPLIT_API_KEYS=found\nKINSPLIT_PORT=1002\nSTRATEGY=FIXED\n"
        "POSTGRES_PASSWORD=x\nKINSPLIT_CACHE=y\n"
    )
    with env_files():
        settings = ServiceSettings.load(config)
        assert (settings.port, settings.timeout, settings.queue, settings.answers) == (1003, 5, 7, 4)
        assert [key.get_secret_value() for key in settings.api_keys] == ["from-file"]
        assert settings.strategy == "FIXED"
    named = tmp_path / "named.env"
    named.write_text("KINSPLIT_PORT=1002\n")
    with env_files(named):
        assert ServiceSettings.load(config).port == 1002
        with monkeypatch.context() as inside:  # Which ends first: it would set what the file has set.
            inside.setenv("KINSPLIT_PORT", "1001")
            assert ServiceSettings.load(config).port == 1001
            assert ServiceSettings.load(config, port=1000).port == 1000


#: Settings that point somewhere, and so can't come from a file that is merely found.
POINTING = {
    *("store", "collections", "embedder", "model", "watch", "uploads", "originals", "rerankers", "host", "port"),
    *("cors_origins", "allowed_hosts", "trusted_proxies"),
}


def test_a_found_file_gives_no_setting_that_points_somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {field for field in ServiceSettings.model_fields if not may_be_found(ServiceSettings, field)} == POINTING
    for field in POINTING:
        (tmp_path / ".env").write_text(f"kinsplit_{field}=/\n")
        with (
            env_files(),
            pytest.raises(InvalidParameterError, match=f"^KINSPLIT_{field.upper()}: can't be set"),
        ):
            ServiceSettings.load()
    (tmp_path / ".env").write_text("KINSPLIT_HOST=0.0.0.0\nKINSPLIT_RATE_LIMIT=5/minute\n")
    with env_files():
        given = ServiceSettings.load(host="127.0.0.1")
        assert (given.host, given.rate_limit) == ("127.0.0.1", Rate(5, 60))
        monkeypatch.setenv("KINSPLIT_HOST", "::1")
        assert ServiceSettings.load().host == "::1"


@pytest.mark.parametrize(
    ("key", "setting"),
    [
        ("KINSPLIT_QDRANT_API_KEY", "store=qdrant:http://evil.example"),
        ("PGPASSWORD", "store=pgvector:host=evil.example"),
        ("OPENAI_API_KEY", "embedder=openai:m?base_url=http://evil.example/v1"),
    ],
)
def test_a_key_of_the_environment_goes_to_no_address_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, setting: str
) -> None:
    monkeypatch.setenv(key, "sk-12345678")
    name, _, value = setting.partition("=")
    config, named = tmp_path / "kinsplit.toml", tmp_path / "named.env"
    config.write_text(f'[service]\n{name} = "{value}"\n')
    with pytest.raises(InvalidParameterError, match=rf"kinsplit\.toml while the key is {key} in the environment"):
        ServiceSettings.load(config)
    named.write_text(f"KINSPLIT_{name.upper()}={value}\n")
    with env_files(named), pytest.raises(InvalidParameterError, match=r"named\.env while the key is"):
        ServiceSettings.load()
    assert getattr(ServiceSettings.load(**{name: value}), name) == value
    monkeypatch.setenv(f"KINSPLIT_{name.upper()}", value)
    assert getattr(ServiceSettings.load(config), name) == value
    monkeypatch.delenv(key)
    named.write_text(f"KINSPLIT_{name.upper()}={value}\n{key}=sk-12345678\n")
    with env_files(named):
        assert getattr(ServiceSettings.load(), name) == value


def test_strategy_is_also_the_variable_of_the_service_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATEGY", "SEMANTIC")
    assert ServiceSettings.load().strategy == "SEMANTIC"
    monkeypatch.setenv("KINSPLIT_STRATEGY", "FIXED")
    assert ServiceSettings.load().strategy == "FIXED"
    assert ServiceSettings.load(strategy="word").strategy == "word"


def test_lists_are_text_with_commas_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINSPLIT_COLLECTIONS", "FIXED=a, b ,")
    monkeypatch.setenv("KINSPLIT_API_KEYS", "one,two")
    settings = ServiceSettings.load()
    assert settings.collections == ("FIXED=a", "b")
    assert [key.get_secret_value() for key in settings.api_keys] == ["one", "two"]


def test_secrets_are_not_shown() -> None:
    settings = ServiceSettings.load(api_keys="sesame", store="pgvector:postgresql://u:sesame@host/db")
    assert "sesame" not in f"{settings!r} {settings}"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"port": 70000}, "port"),
        ({"port": "http"}, "port"),
        ({"threads": 0}, "threads"),
        ({"timeout": float("nan")}, "timeout"),
        ({"timeout": 0}, "timeout"),
        ({"rate_limit": "often"}, "rate_limit"),
        ({"api_keys": 5}, "api_keys"),
        ({"collections": 5}, "collections"),
        ({"host": ""}, "host"),
        ({"cors_origins": "https://class.example/"}, "cors_origins"),
        ({"cors_origins": "class.example"}, "cors_origins"),
        ({"allowed_hosts": "search.example:8000"}, "allowed_hosts"),
        ({"allowed_hosts": "http://search.example"}, "allowed_hosts"),
        ({"trusted_proxies": "proxy.example"}, "trusted_proxies"),
        ({"trusted_proxies": "10.0.0.1/8"}, "trusted_proxies"),
        ({"api_keys": "schlüssel"}, "api_keys"),
        ({"api_keys": "two words"}, "api_keys"),
    ],
)
def test_mistakes_are_one_line(given: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        ServiceSettings.load(**given)
    assert caught.value.field == field
    assert "\n" not in str(caught.value)
    if field != "rate_limit":
        assert f"KINSPLIT_{field.upper()}" in caught.value.remedy
    if field == "api_keys":
        assert str(given[field]) not in str(caught.value)


def test_origins_hosts_and_proxies_that_are_some() -> None:
    settings = ServiceSettings.load(
        cors_origins="https://Class.example,http://localhost:3000",
        allowed_hosts="search.example,[::1],10.0.0.1",
        trusted_proxies="10.0.0.0/8,::1,*",
    )
    # Written as a browser sends them.
    assert settings.cors_origins == ("https://class.example", "http://localhost:3000")
    assert settings.hosts == ("search.example", "[::1]", "10.0.0.1")
    assert settings.trusted_proxies == ("10.0.0.0/8", "::1", "*")


@pytest.mark.parametrize("field", ServiceSettings.model_fields)
def test_an_empty_variable_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    usual = ServiceSettings.load().model_dump()
    monkeypatch.setenv(f"KINSPLIT_{field.upper()}", "")
    assert ServiceSettings.load().model_dump() == usual
    (tmp_path / ".env").write_text(f"KINSPLIT_{field.upper()}=\n")
    with env_files():
        assert ServiceSettings.load().model_dump() == usual


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("[service]\nprot = 1", InvalidParameterError, "prot: is not a setting"),
        ("[service", LoadError, "is not valid TOML"),
        ("service = 5", InvalidParameterError, "service: must be a valid dictionary"),
        ("[service]\nport = -1", InvalidParameterError, "port: must be at least"),
        ("[service]\nstrategy = 5", InvalidParameterError, "^strategy: must be a valid string.* KINSPLIT_STRATEGY "),
    ],
)
def test_mistakes_in_the_file(tmp_path: Path, text: str, kind: type[Exception], message: str) -> None:
    config = tmp_path / "kinsplit.toml"
    config.write_text(text)
    with pytest.raises(kind, match=message):
        ServiceSettings.load(config)


def test_the_example_of_variables_names_every_setting_with_its_default(tmp_path: Path) -> None:
    example = (Path(__file__).parents[2] / ".env.example").read_text()
    named = dict(re.findall(r"(?m)^#\s?KINSPLIT_([A-Z_]+)=(.*)$", example))
    assert named.pop("EMBEDDING_PRICE") == ""
    assert set(named) == {name.upper() for name in ServiceSettings.model_fields}
    without = ServiceSettings.load()
    (tmp_path / ".env").write_text("".join(f"KINSPLIT_{name}={value}\n" for name, value in named.items() if value))
    assert ServiceSettings.load().model_dump() == without.model_dump()


def test_two_collections_can_not_have_one_name() -> None:
    with pytest.raises(InvalidParameterError, match="can't have the name a twice"):
        Collections(settings_of(collections="a=by-word,A=by-sentence"))
    with pytest.raises(InvalidParameterError, match="must be an indexed strategy"):
        Collections(settings_of(strategy="semantic"))


def test_a_collection_that_is_not_there_is_told_with_what_to_do() -> None:
    with pytest.raises(CollectionNotFoundError, match=r"Run kinsplit index PATHS or kinsplit demo first"):
        Collections(ServiceSettings.load(store="memory:empty", embedder="hash"))
    with pytest.raises(CollectionNotFoundError, match="nothing"):
        Collections(settings_of(collections="by-word,nothing"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": "nonsense"}, "model: must be one of"),
        ({"rerankers": "none,lat"}, "rerankers: must be one of"),
        ({"rerankers": "llm:nonsense"}, "rerankers: must be one of|model: must be one of"),
    ],
)
def test_what_is_asked_with_is_looked_at_before_the_first_question(given: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        Collections(settings_of(**given))


def test_late_reranking_is_offered_where_the_embedder_can_do_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Collections(settings_of())) as collections:
        assert list(collections.rerankers) == ["none"]
    with pytest.raises(InvalidParameterError, match="rerankers: needs an embedder with vectors for tokens"):
        Collections(settings_of(rerankers="late"))
    monkeypatch.setattr(HashEmbedder, "embed_tokens", lambda *_: [], raising=False)
    with closing(Collections(settings_of())) as collections:
        assert list(collections.rerankers) == ["none", "late"]
