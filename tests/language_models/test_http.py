"""Models behind HTTP: what is sent, what is tried again, and what is given up."""

from __future__ import annotations

import base64
import json
import logging
import time
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import quote

import httpx
import pytest

from kinsplit.errors import InvalidParameterError, LanguageModelError, ModelUnavailableError
from kinsplit.language_models import LanguageModel, create
from kinsplit.language_models.parsing import numbers_schema
from kinsplit.language_models.servers import OllamaModel, OpenAIModel
from kinsplit.model_servers import server
from tests.language_models.fake_server import FakeServer, Reply, serving

SCHEMA = numbers_schema("starts")


def test_a_model_is_a_language_model_and_answers(model: LanguageModel, fake: FakeServer) -> None:
    fake.replies.append(Reply("Voilà 👍."))

    assert isinstance(model, LanguageModel)
    assert model.complete("Hi") == "Voilà 👍."
    assert model.window == 8192
    assert fake.prompts == ["Hi"]


def test_ollama_is_told_schema_window_and_length_and_to_answer_the_same_each_time(fake: FakeServer) -> None:
    OllamaModel("llama3:8b", host=fake.url, window=4096).complete("Hi", SCHEMA, 99)

    ((path, _, body),) = fake.calls
    assert path == "/api/chat"
    assert body == {
        "model": "llama3:8b",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": False,
        "think": False,
        "format": SCHEMA,
        "options": {"num_ctx": 4096, "temperature": 0, "seed": 0, "num_predict": 99},
    }


def test_openai_is_told_schema_and_length_and_to_answer_the_same_each_time(fake: FakeServer) -> None:
    OpenAIModel("gpt", base_url=f"{fake.url}/v1/", api_key="secret").complete("Hi", SCHEMA, 99)

    ((path, headers, body),) = fake.calls
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == "Bearer secret"
    assert body == {
        "model": "gpt",
        "messages": [{"role": "user", "content": "Hi"}],
        "temperature": 0,
        "seed": 0,
        "max_tokens": 99,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
        },
    }


def test_the_environment_names_the_servers(fake: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", f"0.0.0.0:{fake.port}")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{fake.url}/api/v3")
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-environment")

    create("ollama:llama3").complete("Hi")
    create("openai:org/model:free").complete("Hi")

    assert [path for path, _, _ in fake.calls] == ["/api/chat", "/api/v3/chat/completions"]
    assert fake.calls[1][1]["Authorization"] == "Bearer key-of-the-environment"
    assert fake.bodies[1]["model"] == "org/model:free"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        (" gpu ", "http://gpu:11434"),
        ("gpu:80", "http://gpu:80"),
        (":8080", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("https://models.example.org/", "https://models.example.org"),
        ("http://10.0.0.1:1234/ollama", "http://10.0.0.1:1234/ollama"),
        ("[::1]:5", "http://[::1]:5"),
    ],
)
def test_a_host_is_read_as_ollama_reads_it(host: str, url: str) -> None:
    assert OllamaModel("llama3", host=host).identity == f"ollama:llama3 at {url}"


def test_a_host_that_is_no_address_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="OLLAMA_HOST: must be an address"):
        OllamaModel("llama3", host="gpu:port")


def test_two_servers_are_two_identities() -> None:
    one, other = (OpenAIModel("default", base_url=f"http://{host}/v1") for host in ("a", "b"))
    assert one.name == other.name == "openai:default"
    assert one.identity != other.identity


def test_nothing_is_sent_to_openai_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ModelUnavailableError, match=r"OPENAI_API_KEY is not set\. Set OPENAI_API_KEY"):
        create("openai:gpt-4o").complete("Hi")


@pytest.mark.parametrize(
    "passing",
    [
        Reply("out of memory", 500),
        Reply("starting", 503),
        Reply(status=502, body="<html>Bad gateway</html>"),
        Reply("slow down", 429),
        Reply("slow down", 429, headers={"retry-after": "0"}),
        Reply("slow down", 429, headers={"retry-after": "soon"}),
        Reply("fine", broken=True),
    ],
    ids=["500", "503", "502 html", "429", "retry-after 0", "retry-after odd", "broken"],
)
def test_what_may_pass_is_tried_again(model: LanguageModel, fake: FakeServer, passing: Reply) -> None:
    fake.replies.extend([passing, passing, Reply("fine at last")])

    assert model.complete("Hi") == "fine at last"
    assert len(fake.calls) == 3


@pytest.mark.parametrize("status", [500, 429])
def test_what_does_not_pass_is_given_up(model: LanguageModel, fake: FakeServer, status: int) -> None:
    fake.answer = lambda prompt: Reply("no memory\nleft.", status)

    with pytest.raises(LanguageModelError, match=rf"{model.name}: status {status}: no memory left\.$") as caught:
        model.complete("Hi")
    assert not isinstance(caught.value, ModelUnavailableError)
    assert len(fake.calls) == 1 + server.RETRIES


@pytest.mark.parametrize("as_date", [False, True])
def test_a_server_is_given_the_time_that_it_asks_for(fake: FakeServer, as_date: bool) -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    fake.replies.append(Reply("slow down", 429, headers={"retry-after": moment if as_date else "1"}))
    begun = time.monotonic()

    assert OllamaModel("llama3", host=fake.url).complete("Hi") == '{"starts": [0]}'
    # A date has whole seconds.
    assert time.monotonic() - begun > (0.5 if as_date else 0.99)


def test_a_server_that_asks_for_an_hour_is_not_waited_for(model: LanguageModel, fake: FakeServer) -> None:
    fake.replies.append(Reply("quota used up", 429, headers={"retry-after": "3600"}))

    with pytest.raises(LanguageModelError, match=r"quota used up\. It asks to wait: 3600 s\.$"):
        model.complete("Hi")
    assert len(fake.calls) == 1


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_mistake_is_not_tried_again(fake: FakeServer, status: int) -> None:
    fake.answer = lambda prompt: Reply("prompt too long", status)

    with pytest.raises(LanguageModelError, match="prompt too long"):
        OllamaModel("llama3", host=fake.url).complete("Hi", SCHEMA)
    # Once with all options; without what can be left out where that may have been the mistake.
    assert len(fake.calls) == (1 if status == 413 else 3)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_model_that_is_not_there_is_given_up_at_once_and_left_alone(
    model: LanguageModel, fake: FakeServer, status: int
) -> None:
    fake.answer = lambda prompt: Reply("model 'llama3' not found", status)

    for _ in range(3):
        with pytest.raises(ModelUnavailableError, match=r"model 'llama3' not found\. (Run `ollama|Set OPENAI)"):
            model.complete("Hi")
    assert len(fake.calls) == 1


def test_a_model_that_was_away_is_asked_again_later(
    model: LanguageModel, fake: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "REST", 0.0)
    fake.replies.append(Reply("not found", 404))

    with pytest.raises(ModelUnavailableError):
        model.complete("Hi")
    assert model.complete("Hi")


def test_a_server_without_schemas_is_asked_without_from_then_on(model: LanguageModel, fake: FakeServer) -> None:
    fake.replies.append(Reply("invalid request", 400))

    assert model.complete("Hi", SCHEMA, 50)
    assert model.complete("Hi", SCHEMA, 50)
    key = "format" if "ollama" in model.name else "response_format"
    assert [key in body for body in fake.bodies] == [True, False, False]


def test_a_request_that_no_option_mends_takes_none_away_from_later_ones(model: LanguageModel, fake: FakeServer) -> None:
    fake.answer = lambda prompt: Reply("the prompt is too long", 400)
    with pytest.raises(LanguageModelError, match="too long"):
        model.complete("Hi" * 9, SCHEMA, 50)

    fake.calls.clear()
    fake.answer = lambda prompt: "fine"
    assert model.complete("Hi", SCHEMA, 50) == "fine"
    key = "format" if "ollama" in model.name else "response_format"
    assert [key in body for body in fake.bodies] == [True]


def test_only_the_option_that_a_server_names_is_left_out(fake: FakeServer) -> None:
    fake.replies.append(Reply("Unsupported parameter: 'max_tokens' is not supported with this model.", 400))
    fake.replies.append(Reply("Unsupported value: 'temperature' does not support 0.", 400))

    OpenAIModel("o9", base_url=fake.url).complete("Hi", SCHEMA, 50)

    optional = {"temperature", "seed", "max_tokens", "response_format"}
    assert [sorted(optional - set(body)) for body in fake.bodies] == [[], ["max_tokens"], ["max_tokens", "temperature"]]


def test_a_refused_connection_fails_fast_and_once(
    quick: None, socket_enabled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as gone:
        pass
    tries: list[object] = []
    send = httpx.Client.send
    monkeypatch.setattr(httpx.Client, "send", lambda *args, **more: (tries.append(args), send(*args, **more))[1])
    model = OllamaModel("llama3", host=gone.url)
    for _ in range(200):
        with pytest.raises(
            ModelUnavailableError, match=rf"not reachable at {gone.url}.*`ollama pull llama3`"
        ) as caught:
            model.complete("Hi")
    assert len(caught.traceback) < 10
    assert len(tries) == 1 + server.RETRIES


def test_an_answer_that_does_not_come_in_time_is_an_error(fake: FakeServer) -> None:
    fake.answer = lambda prompt: Reply(late=True)

    with pytest.raises(LanguageModelError, match=r"gave no answer within 0.2 s"):
        OllamaModel("llama3", host=fake.url, timeout=0.2).complete("Hi")
    assert len(fake.calls) == 1 + server.RETRIES


@pytest.mark.parametrize(
    "error", [httpx.ReadError(""), httpx.ConnectError(""), httpx.RemoteProtocolError("Server left.")]
)
def test_a_failure_without_words_is_told_by_its_name(
    quick: None, monkeypatch: pytest.MonkeyPatch, error: httpx.TransportError
) -> None:
    def fail(*args: object, **more: object) -> None:
        raise error

    monkeypatch.setattr(httpx.Client, "send", fail)
    with pytest.raises(LanguageModelError, match=rf": {str(error).rstrip('.') or type(error).__name__}\."):
        OllamaModel("llama3", host="http://h").complete("Hi")


def test_a_slow_answer_may_be_followed_by_a_quick_one(fake: FakeServer) -> None:
    fake.replies.extend([Reply(late=True), Reply("fine")])
    assert OpenAIModel("gpt", base_url=fake.url, timeout=0.3).complete("Hi") == "fine"


@pytest.mark.parametrize("body", ["[]", "null", "3", '{"message": "hi"}', '{"choices": []}', '{"choices": [{}]}'])
def test_json_of_another_shape_is_an_error(model: LanguageModel, fake: FakeServer, body: str) -> None:
    fake.answer = lambda prompt: Reply(body=body)
    with pytest.raises(LanguageModelError):
        model.complete("Hi")


PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": "so"}, " be it"]


def test_content_may_come_in_parts_and_thoughts_are_none_of_it(fake: FakeServer) -> None:
    model = OpenAIModel("gpt", base_url=fake.url)
    fake.replies.append(Reply(body=json.dumps({"choices": [{"message": {"content": PARTS}}]})))
    assert model.complete("Hi") == "so be it"
    parts = [
        {"choices": [{"delta": {"content": part}, "finish_reason": reason}], "error": None}
        for part, reason in ((PARTS[:1], None), (PARTS[1:], "stop"))
    ]
    fake.replies.append(
        Reply(
            body="".join(f"data: {json.dumps(part)}\n\n" for part in [*parts, "[DONE]"]).replace('"[DONE]"', "[DONE]")
        )
    )
    assert list(model.stream("Hi")) == ["so be it"]


def test_a_refusal_is_what_the_model_says(fake: FakeServer) -> None:
    model = OpenAIModel("gpt", base_url=fake.url)
    fake.replies.append(Reply(body='{"choices": [{"message": {"content": null, "refusal": "I will not."}}]}'))
    assert model.complete("Hi") == "I will not."
    event = '{"choices": [{"delta": {"content": null, "refusal": "I will not."}, "finish_reason": "stop"}]}'
    fake.replies.append(Reply(body=f"data: {event}\n\n"))
    assert list(model.stream("Hi")) == ["I will not."]


def test_an_answer_that_a_filter_stops_is_an_error(fake: FakeServer) -> None:
    model = OpenAIModel("gpt", base_url=fake.url)
    stopped = {"message": {"content": ""}, "finish_reason": "content_filter"}
    fake.answer = lambda prompt: Reply(body=json.dumps({"choices": [stopped]}))
    with pytest.raises(LanguageModelError, match=r"openai:gpt: a filter of the server stopped the answer\.$"):
        model.complete("Hi")
    fake.answer = lambda prompt: Reply(pieces=("one",), reason="content_filter")
    pieces = model.stream("Hi")
    assert next(pieces) == "one"
    with pytest.raises(LanguageModelError, match="a filter of the server stopped the answer"):
        next(pieces)
    fake.answer = lambda prompt: Reply(pieces=(), reason="content_filter")
    fake.calls.clear()
    with pytest.raises(LanguageModelError, match="a filter of the server stopped the answer"):
        list(model.stream("Hi"))
    assert len(fake.calls) == 1


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('{"detail": "Not here"}', "Not here"),
        ('{"error": null, "message": "No room"}', "No room"),
        ('{"error": {"message": null, "code": 7}}', "{'message': None, 'code': 7}"),
        ('{"error": "  two\\nlines. "}', "two lines"),
        ("", "Internal Server Error"),
    ],
)
def test_what_is_wrong_is_told_in_the_servers_words(fake: FakeServer, body: str, told: str) -> None:
    fake.answer = lambda prompt: Reply(status=500, body=body)
    with pytest.raises(LanguageModelError) as caught:
        OllamaModel("llama3", host=fake.url).complete("Hi")
    assert str(caught.value) == f"ollama:llama3: status 500: {told}."


def test_an_answer_without_content_is_empty(model: LanguageModel, fake: FakeServer) -> None:
    fake.replies.append(Reply(body='{"message": {"content": null}, "choices": [{"message": {"content": null}}]}'))
    assert model.complete("Hi") == ""


def test_a_redirect_is_not_followed(model: LanguageModel, fake: FakeServer) -> None:
    fake.answer = lambda prompt: Reply(status=301, body="", headers={"location": "https://example.org"})
    with pytest.raises(ModelUnavailableError, match="status 301"):
        model.complete("Hi")


@pytest.mark.parametrize("url", ["ftp://example.org/v1", "example.org/v1", "http://gpu:port/v1"])
def test_an_address_that_is_none_is_told(url: str) -> None:
    with pytest.raises(ModelUnavailableError, match=r"is not a valid address.*OPENAI_BASE_URL"):
        OpenAIModel("gpt", base_url=url).complete("Hi")


KEY = "sk-secret-of-tests"
HEADERS = json.dumps({"authorization": f"Bearer {KEY}"})


@pytest.mark.parametrize(
    "reply",
    [
        Reply(f"wrong key {KEY}", 401),
        Reply(f"no such model for {KEY}", 500),
        Reply(body=HEADERS),
        Reply(body=f"<p>{KEY}</p>"),
        Reply(body=f"data: {HEADERS}\n\n"),
        Reply(body=f'data: {{"error": "{KEY}"}}\n\n'),
    ],
    ids=["401", "500", "echo", "html", "event", "error"],
)
def test_no_message_holds_the_key_even_if_the_server_repeats_it(fake: FakeServer, reply: Reply) -> None:
    fake.answer = lambda prompt: reply
    model = OpenAIModel("gpt", base_url=fake.url, api_key=KEY)
    for ask in (model.complete, lambda prompt: list(model.stream(prompt))):
        with pytest.raises(LanguageModelError) as caught:
            ask("Hi")
        assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("form", ["{basic}", "{password}", "Basic {basic}", "{quoted}", "{long}{basic}"])
@pytest.mark.parametrize("status", [200, 401, 500])
def test_no_message_holds_the_password_of_an_address_even_if_the_server_repeats_it(
    fake: FakeServer, status: int, form: str
) -> None:
    password = "p'ss\"word/of:tests"
    basic = base64.b64encode(f"user:{password}".encode()).decode()
    # The last one is cut in the middle of it.
    repeated = form.format(basic=basic, password=password, quoted=json.dumps(password), long="x " * 30 + "x" * 7)
    fake.answer = lambda prompt: Reply(status=status, body=repeated)
    url = f"http://user:{quote(password, safe='')}@127.0.0.1:{fake.port}"
    for model in (OllamaModel("llama3", host=url), OpenAIModel("gpt", base_url=url)):
        for ask in (model.complete, lambda prompt, model=model: list(model.stream(prompt))):
            with pytest.raises(LanguageModelError) as caught:
                ask("Hi")
            told = "".join(traceback.format_exception(caught.value))
            assert not any(secret[:8] in told for secret in (basic, password, json.dumps(password)[1:], repr(password)))
    assert {headers["Authorization"] for _, headers, _ in fake.calls} == {f"Basic {basic}"}


@pytest.mark.parametrize("key", ["sk-one\nsk-two", "sk-\u00e9", "sk one", "sk\x00"])
def test_a_key_that_can_not_be_sent_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(InvalidParameterError, match="api_key: must be printable ASCII") as caught:
        OpenAIModel("gpt", base_url="http://h", api_key=key)
    assert "sk" not in str(caught.value)


def test_a_name_and_a_password_in_an_address_are_sent_and_not_shown(
    fake: FakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    url = f"http://user:p%40ss@127.0.0.1:{fake.port}"
    for model in (OllamaModel("llama3", host=url), OpenAIModel("gpt", base_url=f"{url}/v1")):
        assert model.complete("Hi")
        assert str(model.identity).endswith((f"at {fake.url}", f"at {fake.url}/v1"))
        fake.replies.append(Reply("gone", 404))
        with pytest.raises(ModelUnavailableError) as caught:
            model.complete("Hi")
        assert "ss@" not in "".join(traceback.format_exception(caught.value))
    assert {headers["Authorization"] for _, headers, _ in fake.calls} == {"Basic dXNlcjpwQHNz"}
    assert "127.0.0.1" in caplog.text
    assert "p%40ss" not in caplog.text


@pytest.mark.parametrize(
    "url", ["http://user:sec/ret@gpu/v1", "http://user:sec#ret@gpu", "http://user:secret@gpu:port"]
)
def test_the_password_of_an_address_that_is_none_is_not_shown(url: str) -> None:
    with pytest.raises(ModelUnavailableError, match="is not a valid address") as caught:
        OpenAIModel("gpt", base_url=url).complete("Hi")
    assert "sec" not in "".join(traceback.format_exception(caught.value))
    for host in (url, url.removeprefix("http://")):
        with pytest.raises(InvalidParameterError, match="OLLAMA_HOST: must be an address") as refused:
            OllamaModel("llama3", host=host)
        assert "sec" not in "".join(traceback.format_exception(refused.value))


def test_the_window_is_asked_of_the_server_unless_it_is_given(fake: FakeServer) -> None:
    ollama, openai = OllamaModel("llama3", host=fake.url), OpenAIModel("gpt", f"{fake.url}/v1")
    assert (ollama.window, openai.window) == (8192, 8192)
    fake.told = {"llama.context_length": 2048, "general.license": "mit"}
    ollama, openai = OllamaModel("llama3", host=fake.url), OpenAIModel("gpt", f"{fake.url}/v1")
    assert (ollama.window, openai.window, ollama.card.licence) == (2048, 2048, "mit")
    ollama.complete("Hi")
    assert fake.bodies[0]["options"]["num_ctx"] == 2048
    fake.told = {"llama.context_length": 131_072}
    assert OllamaModel("llama3", host=fake.url).window == 8192, "a larger one takes more memory"
    assert create(f"ollama:llama3?window=32768&host={fake.url}").window == 32_768
