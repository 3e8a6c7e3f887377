"""The tests' server answers as the real one did, request by request."""

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import httpx
import pytest

pytest.importorskip("qdrant_client")
from pydantic_core import to_jsonable_python

from tests.stores.qdrant_refusals import RefusalError, Refusals
from tests.stores.qdrant_server import Server, qdrant_server

RECORDINGS = Path(__file__).parent / "recordings"
#: Parts of answers that differ from server to server.
_OWN = {"version", "score", "shard_key", "order_value", "status", "operation_id"}


def recorded(name):
    return [json.loads(line) for line in (RECORDINGS / f"qdrant_{name}.jsonl").read_text().splitlines()]


def plain(found):
    """Return the parts of an answer that two servers have alike, without empty ones."""
    if isinstance(found, dict):
        return {key: plain(value) for key, value in found.items() if key not in _OWN and value is not None}
    if isinstance(found, list):
        return [plain(each) for each in found if not _is_stranger(each)]
    return round(found, 4) if isinstance(found, float) else found


def _is_stranger(each):
    """Return whether this is a collection that the real server held besides."""
    name = isinstance(each, dict) and (each.get("collection_name") or each.get("name"))
    return bool(name) and not str(name).startswith("kinsplit-doctor")


def compared(path, found):
    """Return what matters of an answer."""
    found = plain(to_jsonable_python(found))
    if isinstance(found, dict) and "config" in found:
        config = found["config"]
        return {
            "points": found["points_count"],
            "indexes": {key: index["data_type"] for key, index in found["payload_schema"].items()},
            "metadata": config["metadata"],
            "vectors": (config["params"]["vectors"], config["params"]["sparse_vectors"]),
            "links": config["hnsw_config"]["m"],
        }
    if isinstance(found, dict) and "hits" in found:  # The real one keeps sources whose points were deleted.
        return [hit for hit in found["hits"] if hit["count"]]
    if isinstance(found, dict) and "points" in found:  # in no order
        return {**found, "points": sorted(found["points"], key=lambda point: point["id"])}
    return found


def ranked(rankings):
    """Return the scores of each ranking, and the points above the last score, since others may have that too."""
    for ranking in rankings:
        points = to_jsonable_python(ranking)["points"]
        scores = [round(point["score"], 3) for point in points]
        above = [plain(point) for point, score in zip(points, scores, strict=True) if score > scores[-1]]
        yield scores, sorted(above, key=lambda point: point["id"])


def test_each_request_of_the_examination_is_answered_as_by_the_real_server():
    server = Server()
    for exchange in recorded("doctor"):
        place = urlsplit(exchange["path"])
        if place.path == "/":
            continue
        found = server.answer(exchange["method"], place.path, parse_qs(place.query), exchange["body"])
        wanted = exchange["answer"]["result"]
        if place.path.endswith("/points/batch"):
            assert len(found) == len(wanted)
            continue
        if place.path.endswith("/query/batch"):
            assert list(ranked(found)) == list(ranked(wanted))
            continue
        where = (exchange["method"], exchange["path"], exchange["body"])
        assert compared(place.path, found) == compared(place.path, wanted), where


INDEXES = {"source_id": {"data_type": "keyword"}, "level": {"data_type": "integer"}}
SWITCHES = {
    "facet_without_index": (Refusals(), {}),
    "key_of_own_name": (Refusals(bound=frozenset({"c@1"})), INDEXES),
    "no_exact": (Refusals({"enabled": True, "search_allow_exact": False}), INDEXES),
    "query_limit": (Refusals({"enabled": True, "max_query_limit": 1000}), INDEXES),
    "read_rate": (Refusals({"enabled": True, "read_rate_limit": 12}, now=iter((0, 0, 57)).__next__), INDEXES),
    "reader_writes": (Refusals(role="read"), INDEXES),
    "replica_down": (Refusals(is_down=True), INDEXES),
    "search_batch": (Refusals({"enabled": True, "search_max_batchsize": 4}), INDEXES),
    "unindexed_filter": (Refusals({"enabled": True, "unindexed_filtering_retrieve": False}), INDEXES),
    "write_rate": (Refusals({"enabled": True, "write_rate_limit": 5}, now=lambda: 0), INDEXES),
}
_FILTER = {"must": [{"key": '"file_type"', "match": {"any": ["markdown"]}}]}
#: Bodies that the recording leaves out, and requests before them.
BODIES = {
    "read_rate": {"searches": [{}] * 12},
    "reader_writes": {"operations": [{}]},
    "replica_down": {"operations": [{}]},
    "search_batch": {"searches": [{}] * 6},
    "unindexed_filter": {"searches": [{"filter": _FILTER}]},
}
BEFORE = {"read_rate": 1, "write_rate": 5}


REFUSED = [each for each in recorded("refused") if each["case"] in SWITCHES and each["status"] != 200]


def test_a_request_without_a_key_is_refused_as_by_the_real_server(socket_enabled):
    (exchange,) = (each for each in recorded("refused") if each["case"] == "no_key")
    with qdrant_server() as server:
        server.key = "secret"
        answer = httpx.request(exchange["method"], server.url + exchange["path"])
    assert (answer.status_code, answer.text) == (exchange["status"], exchange["answer"])


def test_a_collection_tells_its_limits_as_that_of_the_real_server():
    (exchange,) = (each for each in recorded("refused") if each["status"] == 200)
    made = next(each["body"] for each in recorded("doctor") if each["method"] == "PUT")
    server = Server()
    server.refusals, _ = SWITCHES[exchange["case"]]
    server.answer("PUT", "/collections/c@1", {}, made)
    (told, wanted) = (server.answer("GET", "/collections/c@1", {}, None), exchange["answer"]["result"])
    assert told["config"]["strict_mode_config"] == wanted["config"]["strict_mode_config"]


@pytest.mark.parametrize("exchange", REFUSED, ids=lambda exchange: exchange["case"])
def test_a_refusal_has_the_words_and_headers_of_the_real_server(exchange):
    case = exchange["case"]
    refusals, indexes = SWITCHES[case]
    name, _, path = unquote(urlsplit(exchange["path"]).path).removeprefix("/collections/").partition("/")
    body = BODIES.get(case, exchange["body"])

    def ask():
        refusals.check(exchange["method"], name, f"/{path}", body, indexes, 1, frozenset({name}))
        refusals.after_write()

    for _ in range(BEFORE.get(case, 0)):
        ask()
    with pytest.raises(RefusalError) as caught:
        ask()
    assert caught.value.status == exchange["status"]
    assert _words(caught.value.message) == _words(exchange["answer"]["status"]["error"])
    headers = {key: value for key, value in exchange["headers"].items() if key != "content-type"}
    assert caught.value.headers.keys() == headers.keys()


def _words(message):
    """Return a message without the numbers of tokens, which depend on the moment."""
    return re.sub(r"only [\d.]+ were available. Retry after \d+s", "only so many were available", message).replace(
        "Rate limit exceeded", "rate limit exceeded"
    )
