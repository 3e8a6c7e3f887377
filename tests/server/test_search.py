from __future__ import annotations

import asyncio
import json
import threading

import httpx
import pytest

from kinsplit import Document, Index
from kinsplit.retrieval import LanguageModelReranker, Ranked
from kinsplit.retrieval.rankings import names
from kinsplit.stores.filter_check import FilterWarning
from tests.server.conftest import HOME, STORE, Connect, error_of


async def test_it_answers_what_the_index_answers(client: httpx.AsyncClient) -> None:
    response = await client.get("/search", params={"q": "while loop asks", "top_k": 2, "window": 0})
    answer = response.json()
    assert response.status_code == 200
    assert (answer["query"], answer["strategy"]) == ("while loop asks", "sentence")
    with Index(STORE, collection="by-sentence", embedder="hash", must_exist=True) as index:
        passages = index.search("while loop asks", top_k=2, window=0)
    assert [(p["source_id"], p["text"], p["score"]) for p in answer["passages"]] == [
        (p.source_id, p.text, p.score) for p in passages
    ]


async def test_a_request_names_its_ranking(client: httpx.AsyncClient) -> None:
    for ranking in names():
        answer = (await client.get("/search", params={"q": "while loop asks", "ranking": ranking})).json()
        with Index(STORE, collection="by-sentence", embedder="hash", must_exist=True) as index:
            expected = index.search("while loop asks", ranking=ranking)
        assert [(p["text"], p["score"]) for p in answer["passages"]] == [(p.text, p.score) for p in expected]
    answer = (await client.get("/search", params={"q": "while loop asks", "diversity": 0.5})).json()
    assert all("mmr" in passage["scores"] for passage in answer["passages"])
    for error in (
        error_of(await client.get("/search", params={"q": "loop", "ranking": "bm25"}), 422),
        error_of(await client.post("/ask", json={"question": "loop", "ranking": "bm25"}), 422),
    ):
        assert (error["field"], error["rule"]) == ("ranking", "must be 'kin', 'hybrid', 'dense' or 'terms'")
    paths = (await client.get("/openapi.json")).json()
    (described,) = (p for p in paths["paths"]["/search"]["get"]["parameters"] if p["name"] == "ranking")
    assert described["schema"]["enum"] == names()


async def test_hits_are_marked_in_the_passage_in_both_units(client: httpx.AsyncClient) -> None:
    answer = (await client.get("/search", params={"q": "while loop asks first", "top_k": 1, "window": 2})).json()
    passage = answer["passages"][0]
    assert "😀" in passage["text"]
    units = passage["text"].encode("utf-16-le")
    for hit in passage["hits"]:
        (place,) = hit["ranges"]
        marked = passage["text"][place["start"] : place["end"]]
        assert units[2 * place["utf16_start"] : 2 * place["utf16_end"]].decode("utf-16-le") == marked
        assert len(marked) == hit["end"] - hit["start"]


async def test_the_sentence_that_answers_is_highlighted(client: httpx.AsyncClient) -> None:
    asked = {"q": "what asks first?", "top_k": 1, "window": 2, "render": True}
    (passage,) = (await client.get("/search", params=asked)).json()["passages"]
    (place,) = passage["highlight"]["ranges"]
    assert passage["text"][place["start"] : place["end"]] == "A while loop asks first."
    assert passage["highlight"]["end"] - passage["highlight"]["start"] == place["end"] - place["start"]
    assert passage["highlight"]["matches"]
    asked |= {"q": "zebra", "ranking": "dense"}
    (passage,) = (await client.get("/search", params=asked)).json()["passages"]
    assert not passage["highlight"]["matches"]
    assert passage["highlight"]["start"] < passage["hits"][0]["end"]
    del asked["render"]
    assert (await client.get("/search", params=asked)).json()["passages"][0]["highlight"] is None


async def test_the_strategy_chooses_the_collection(client: httpx.AsyncClient) -> None:
    for name, chosen in (("WORD", "word"), ("fixed", "word"), ("by-WORD", "word"), ("Sentence", "sentence")):
        answer = (await client.get("/search", params={"q": "loop", "strategy": name})).json()
        assert answer["strategy"] == chosen
    error = error_of(await client.get("/search", params={"q": "loop", "strategy": "SEMANTIC"}), 422)
    assert error == {
        "field": "strategy",
        "rule": "must be an indexed strategy",
        "value": "SEMANTIC",
        "remedy": "Indexed: sentence, word.",
    }


async def test_the_default_and_the_names_can_be_set(connect: Connect) -> None:
    client = await connect(strategy="WORD")
    assert (await client.get("/search", params={"q": "loop"})).json()["strategy"] == "word"
    client = await connect(collections={"Old": "by-word", "new": "by-sentence"}, strategy="NEW")
    assert (await client.get("/search", params={"q": "loop"})).json()["strategy"] == "new"
    assert (await client.get("/search", params={"q": "loop", "strategy": "old"})).json()["strategy"] == "Old"


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (["course=cs"], {"course/loops.md"}),
        (["course!=cs", "year<2022"], {"course/alice, ch. 1?.txt"}),
        (['{"$or": [{"year": {"$gte": 2024}}, {"course": "math"}]}'], {"course/loops.md", "course/alice, ch. 1?.txt"}),
        ([], {"course/loops.md", "course/alice, ch. 1?.txt", "gaps.txt"}),
    ],
)
async def test_filters(client: httpx.AsyncClient, where: list[str], found: set[str]) -> None:
    answer = (await client.get("/search", params={"q": "words", "top_k": 20, "where": where})).json()
    assert {passage["source_id"] for passage in answer["passages"]} == found
    # No other file has the word.
    assert answer["is_close"] is ("gaps.txt" in found)
    assert answer["notices"] == ([] if answer["is_close"] else ["No passage is close to this question."])


@pytest.mark.parametrize("render", [False, True])
async def test_a_value_that_no_chunk_has_is_a_notice(client: httpx.AsyncClient, render: bool) -> None:
    with pytest.warns(FilterWarning):
        answer = (await client.get("/search", params={"q": "words", "where": "course=CS", "render": render})).json()
    assert (answer["passages"], answer["notices"]) == ([], ["where: no chunk has course = 'CS'. Did you mean 'cs'?"])


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({}, "q"),
        ({"q": ""}, "q"),
        ({"q": " \n"}, "q"),
        ({"q": "x" * 2001}, "q"),
        ({"q": "x", "top_k": 0}, "top_k"),
        ({"q": "x", "top_k": 51}, "top_k"),
        ({"q": "x", "top_k": "many"}, "top_k"),
        ({"q": "x", "window": -1}, "window"),
        ({"q": "x", "budget": 0}, "budget"),
        ({"q": "x", "parents": "perhaps"}, "parents"),
        ({"q": "x", "topk": 1}, "topk"),
        ({"q": "x", "rerank": "cross-encoder:/etc/passwd"}, "rerank"),
        ({"q": "x", "rerank": "llm:ollama:llama3"}, "rerank"),
        ({"q": "x", "where": "nonsense"}, "where"),
        ({"q": "x", "where": "year<soon"}, "where"),
        ({"q": "x", "where": "{"}, "where"),
        ({"q": "x", "where": "{'a': 1}"}, "where"),
        ({"q": "x", "where": '{"year": {"$near": 1}}'}, "where['year']"),
        ({"q": "x", "where": '{"$not":' * 16 + "{}" + "}" * 16}, "where"),
        ({"q": "x", "where": json.dumps({"$or": [{f"k{i}": i} for i in range(33)]})}, "where"),
        ({"q": "x", "where": json.dumps({"a": {"$in": [1] * 600}, "$or": [{"a": {"$b": 1}}]})}, "where['a']"),
        ({"q": "x", "where": '{"a":' + "[" * 1900}, "where"),
        ({"q": "x", "where": ["a=b"] * 21}, "where"),
        ({"q": "x", "where": f"absolute_path={HOME}/loops.md"}, "where"),
        ({"q": "x", "where": '{"$or": [{"_record": "x"}, {"a": "b"}]}'}, "where"),
    ],
)
async def test_wrong_parameters(client: httpx.AsyncClient, parameters: dict[str, object], field: str) -> None:
    assert error_of(await client.get("/search", params=parameters), 422)["field"] == field


async def test_late_reranking_and_budget(client: httpx.AsyncClient) -> None:
    answer = (await client.get("/search", params={"q": "loop counts", "budget": 30, "window": 0})).json()
    assert answer["passages"]
    # The embedder of these tests has no vectors for tokens.
    assert error_of(await client.get("/search", params={"q": "x", "rerank": "late"}), 422)["field"] == "rerank"


async def test_what_is_known_of_the_machine_stays_there(client: httpx.AsyncClient) -> None:
    for path in ("/search?q=loop&top_k=9", "/documents/course/loops.md", "/documents/course/loops.md/chunks"):
        response = await client.get(path)
        assert response.status_code == 200
        assert HOME not in response.text
        assert '"course":"cs"' in response.text


async def test_a_search_that_asks_a_model_keeps_nobody_waiting(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = threading.Event(), threading.Event()

    def slow(*_: object) -> list[Ranked]:
        begun.set()
        go.wait(30)
        return [Ranked(0, 1.0)]

    monkeypatch.setattr(LanguageModelReranker, "rerank", slow)
    client = await connect(rerankers="none,llm:hash", threads=1, queue=0)
    judged = asyncio.create_task(client.get("/search?q=loop&rerank=llm:hash"))
    assert await asyncio.to_thread(begun.wait, 30)
    assert (await client.get("/search?q=loop")).status_code == 200
    go.set()
    assert "rerank" in (await judged).json()["passages"][0]["scores"]


async def test_of_a_long_table_only_the_line_that_answers_is_highlighted(client: httpx.AsyncClient) -> None:
    rows = "".join(f"| bird {number} | sings at {number} o'clock |\n" for number in range(40))
    text = f"| who | when |\n|---|---|\n{rows}| lark | begins at dawn |\n"
    with Index(STORE, collection="by-sentence", embedder="hash", must_exist=True) as index:
        assert not index.add([Document("birds.md", text)]).failed
    try:
        asked = {"q": "lark dawn", "render": True, "top_k": 1, "window": 5}
        (passage,) = (await client.get("/search", params=asked)).json()["passages"]
        (place,) = passage["highlight"]["ranges"]
        assert passage["text"][place["start"] : place["end"]].strip() == "| lark | begins at dawn |"
    finally:
        with Index(STORE, collection="by-sentence", embedder="hash", must_exist=True) as index:
            index.delete("birds.md")
