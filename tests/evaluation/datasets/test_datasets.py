"""Detection and reading of labelled sets in all formats."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kinsplit.errors import InvalidParameterError, LoadError
from kinsplit.evaluation import datasets
from kinsplit.evaluation.datasets import DatasetWarning, load
from kinsplit.evaluation.labels import Dataset, Label, Place
from kinsplit.spans import Span
from tests.generators import valid_texts
from tests.shared_data import shared_path

TEXT = "\ufeffLoops repeat. A while loop\r\nasks first. Loops repeat.\u2028 End."
TITLED = {"title": "On loops"}


def write_rows(path: Path, *rows: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def write_json(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_set(folder: Path, *rows: dict[str, Any], docid: str = "d") -> Path:
    write_rows(folder / "docs.jsonl", {"docid": docid, "title": "On loops", "text": TEXT, "source": "x"})
    write_rows(folder / "queries.jsonl", *rows)
    return folder


def place(text: str, source_id: str = "d", *, after: int = 0, of: str = TEXT) -> Place:
    at = of.index(text, after)
    return Place(source_id, Span(at, at + len(text)))


def labels(dataset: Dataset) -> dict[str, tuple[Label, ...]]:
    return {question.id: question.labels for question in dataset.questions}


def test_rows_are_read_as_they_are_stored(tmp_path: Path) -> None:
    first, second = place("Loops repeat."), place("loop\r\nasks")
    spans = [list(p.span or ()) for p in (first, second)]
    answers = ["Loops repeat.", "loop\r\nasks"]
    row = {"query_id": "q1", "query": "Loops?\u2028Really?", "docid": "d", "spans": spans, "answers": answers}
    dataset = load(write_set(tmp_path / "loops", row, {"query_id": "q2", "query": "What else?", "answer": "Nothing."}))
    assert dataset.name == "loops"
    assert [(d.id, d.text, dict(d.metadata)) for d in dataset.documents] == [("d", TEXT, TITLED)]
    one, two = dataset.questions
    assert (one.id, one.text, one.labels) == ("q1", "Loops?\u2028Really?", (Label((first,)), Label((second,))))
    assert (two.labels, two.answer) == ((), "Nothing.")
    assert dataset.labelled


@given(text=valid_texts(), data=st.data(), ascii_=st.booleans())
def test_any_text_and_span_come_back(text: str, data: st.DataObject, ascii_: bool) -> None:
    text = f"{text}."
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assume(text[start:end].strip())
    row = {"query": "?", "docid": "d", "spans": [[start, end]], "answers": [text[start:end]]}
    with TemporaryDirectory() as folder:
        for name, value in (("docs", {"docid": "d", "text": text}), ("queries", row)):
            line = json.dumps(value, ensure_ascii=ascii_).encode() + b"\n"
            (Path(folder) / f"{name}.jsonl").write_bytes(line)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DatasetWarning)  # The loaders warn of NUL, which they replace.
            dataset = load(folder)
    assert dataset.documents[0].text == text.replace("\0", "\ufffd")
    assert labels(dataset) == {"q0001": (Label((Place("d", Span(start, end)),)),)}


def test_a_label_that_is_stated_twice_is_one(tmp_path: Path) -> None:
    found = labels(load(write_set(tmp_path, {"query": "?", "docid": "d", "spans": [[1, 6], [1, 6], [1, 7]]})))
    assert [label.places[0].span for label in found["q0001"]] == [(1, 6), (1, 7)]


def test_logic_makes_the_labels(tmp_path: Path) -> None:
    words = ["Loops", "repeat", "while", "asks", "first", "End"]
    at = [place(word) for word in words]
    base = {"docid": "d", "spans": [list(p.span or ()) for p in at]}
    logic = ["COMPLETE_SPAN", "AND", "OR", "AND", "OR", "OR"]
    groups = ["a", "a", "a", "b", "a", "b"]
    folder = write_set(
        tmp_path,
        {**base, "query_id": "all", "query": "?"},
        {**base, "query_id": "any", "query": "?", "match": "any"},
        {**base, "query_id": "logic", "query": "?", "logic": logic, "groups": groups},
        {**base, "query_id": "alone", "query": "?", "logic": logic},
    )
    found = labels(load(folder))
    assert found["all"] == tuple(Label((p,)) for p in at)
    assert found["any"] == (Label(tuple(at)),)
    alone, both, either, other, last = Label((at[0],)), Label((at[1],), "a"), Label((at[2], at[4])), at[3], at[5]
    assert found["logic"] == (alone, both, either, Label((other,), "b"), Label((last,)))
    together = Label((at[1],), "g1"), Label((at[2], at[4], at[5])), Label((at[3],), "g1")
    assert found["alone"] == (alone, *together)


def test_occurrences_are_places_of_one_label(tmp_path: Path) -> None:
    first, copy = place("Loops repeat."), place("Loops repeat.", after=5)
    elsewhere = Place("e", Span(0, 5))
    row = {"query_id": "q", "query": "?", "docid": "d", "spans": [list(first.span or ())]}
    row["occurrences"] = [[list(first.span or ()), list(copy.span or ()), ["e", 0, 5]]]
    write_set(tmp_path / "one", row)
    write_rows(tmp_path / "two" / "docs.jsonl", {"docid": "e", "text": "Loops repeat."})
    paths = [tmp_path / "one", tmp_path / "two"]
    assert labels(load(paths, tmp_path / "one" / "queries.jsonl"))["q"] == (Label((first, copy, elsewhere)),)


def test_several_folders_make_one_set(tmp_path: Path) -> None:
    # Both paths end in the same name, as folders of translations may.
    for number in "12":
        row = {"query_id": f"q{number}", "query": "?", "spans": [[f"d{number}", 1, 6]]}
        write_set(tmp_path / number / "set", row, docid=f"d{number}")
    dataset = load([tmp_path / "1" / "set", tmp_path / "2" / "set"], name="both")
    assert (dataset.name, len(dataset.documents), set(labels(dataset))) == ("both", 2, {"q1", "q2"})


@pytest.mark.parametrize("docid", ["d#1", "loops/docs.jsonl#d#1", "uploads/docs.jsonl#d#1"])
def test_a_label_may_name_a_row_with_its_file(tmp_path: Path, docid: str) -> None:
    row = {"query_id": "q", "query": "?", "docid": docid, "spans": [[1, 6]]}
    dataset = load(write_set(tmp_path / "loops", row, docid="d#1"))
    assert labels(dataset) == {"q": (Label((Place("d#1", Span(1, 6)),)),)}


@pytest.mark.parametrize("docid", ["uploads/other.jsonl#d#1", "docs.jsonl#d", "1"])
def test_a_label_of_another_file_is_refused(tmp_path: Path, docid: str) -> None:
    row = {"query_id": "q", "query": "?", "docid": docid, "spans": [[1, 6]]}
    with pytest.raises(LoadError, match="must name a document that is there"):
        load(write_set(tmp_path / "loops", row, docid="d#1"))


def test_documents_may_be_any_files(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "sub").mkdir(parents=True)
    (docs / "sub" / "a.txt").write_bytes(b"One.\r\nTwo.")
    (docs / "b.md").write_text("# B\n\nThree.")
    queries = write_rows(
        docs / "queries.jsonl", {"query": "What is two?", "docid": "docs/sub/a.txt", "spans": [[6, 10]]}
    )
    dataset = load(docs, queries)
    assert dataset.sources.keys() == {"docs/b.md", "docs/sub/a.txt"}
    assert labels(dataset) == {"q0001": (Label((Place("docs/sub/a.txt", Span(6, 10)),)),)}
    assert labels(load(docs)) == labels(dataset)


def test_a_remark_of_the_loaders_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("caf\u00e9".encode("latin-1") * 9)
    queries = write_json(tmp_path / "q" / "queries.json", ["What is served?"])
    with pytest.warns(DatasetWarning, match=r"a\.txt: is not UTF-8; read as"):
        load(tmp_path / "a.txt", queries)


def sc_qrels(folder: Path, **changes: object) -> Path:
    text = "\u201cOh,\u201d said\n  Alice. Then\u2014nothing."
    plain = '"Oh," said Alice. Then-nothing.'
    write_json(folder / "documents" / "a.json", {"docid": "a", "title": "A\nB", "text": text})
    write_json(folder / "questions_one.json", [{"qid": q, "question": f"{q}?", "docid": "a"} for q in ("x", "y")])
    rows = [
        {"qid": "x", "docid": "a", "text": part, "logic": logic, "group": "g7"}
        for part, logic in (("said Alice", "AND"), ("Then-nothing", "AND"), ('"Oh,"', "OR"), ("nothing", "OR"))
    ]
    annotations = [
        {**row, "start": plain.index(row["text"]), "end": plain.index(row["text"]) + len(row["text"])} for row in rows
    ]
    write_json(folder / "annotations_final.json", [*annotations[:-1], {**annotations[-1], **changes}])
    return folder


def test_sc_qrels_labels_are_those_of_the_stored_text(tmp_path: Path) -> None:
    dataset = load(sc_qrels(tmp_path))
    (document,) = dataset.documents

    def text(label: Label) -> list[str]:
        return [document.text[p.span.start : p.span.end] for p in label.places if p.span]

    x, y = dataset.questions
    assert [(text(label), label.group) for label in x.labels] == [
        (["said\n  Alice"], "g7"),
        (["Then\u2014nothing"], "g7"),
        (["\u201cOh,\u201d", "nothing"], ""),
    ]
    assert (y.text, y.labels) == ("y?", ())
    files = [tmp_path / "annotations_final.json", tmp_path / "questions_one.json"]
    assert load(tmp_path / "documents", files) == Dataset("documents", dataset.documents, dataset.questions)


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"qid": "z"}, "row 4, query 'z': qid must be that of a question"),
        ({"logic": "XOR"}, "row 4, query 'x': logic must be one of"),
        ({"end": 999}, r"row 4, query 'x': start, end or text must be \[start, end\) within the 31 characters of 'a'"),
        ({"text": "other"}, "row 4, query 'x': start, end or text must be the text at"),
    ],
)
def test_sc_qrels_are_verified(tmp_path: Path, changes: dict[str, object], wrong: str) -> None:
    with pytest.raises(LoadError, match=f"annotations_final.json: {wrong}"):
        load(sc_qrels(tmp_path, **changes))


def test_chromas_csv(tmp_path: Path) -> None:
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "talks.md").write_bytes(TEXT.encode())
    references = [{"content": "loop\r\nasks", "start_index": TEXT.index("loop\r"), "end_index": TEXT.index(" first")}]
    cell = json.dumps(references).replace('"', '""')
    rows = [
        "question,references,corpus_id",
        f'"Why,\r\nthen?","{cell}",talks',
        f'"And?","{cell}",a/corpora/talks.md',
        "",
    ]
    (tmp_path / "questions_df.csv").write_bytes("\r\n".join(rows).encode())
    dataset = load(tmp_path, name="general")
    assert [(d.id, d.text) for d in dataset.documents] == [("talks", TEXT)]
    assert [q.text for q in dataset.questions] == ["Why,\r\nthen?", "And?"]
    assert labels(dataset) == dict.fromkeys(["talks-000", "talks-001"], (Label((place("loop\r\nasks", "talks"),)),))
    same = load(tmp_path / "corpora", tmp_path / "questions_df.csv", name="general")
    assert same == dataset


@pytest.mark.parametrize(
    ("cell", "corpus", "wrong"),
    [
        ("nothing", "talks", "row 1, query 'talks-000': references must be a JSON list"),
        ('[{""content"": ""x"", ""start_index"": 0, ""end_index"": 1}]', "talks", "references.0. must be the text at"),
        ('[{""start_index"": 0, ""end_index"": 1}]', "other", "references.0. must name a document that is there"),
    ],
)
def test_chromas_csv_is_verified(tmp_path: Path, cell: str, corpus: str, wrong: str) -> None:
    (tmp_path / "talks.md").write_text("A talk.")
    (tmp_path / "questions_df.csv").write_text(f'question,references,corpus_id\nWhy?,"{cell}",{corpus}\n')
    with pytest.raises(LoadError, match=wrong):
        load(tmp_path)


@pytest.mark.parametrize(
    "value",
    [
        ["What is a loop?", "Why?"],
        {"queries": ["What is a loop?", "Why?"]},
        {"queries": [{"query": "What is a loop?"}, {"question": "Why?", "why_this_tests_chunking": "..."}]},
    ],
)
def test_questions_without_labels(tmp_path: Path, value: object) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("Loops repeat.")
    (tmp_path / "README.md").write_text("Not a document.")
    write_json(tmp_path / "queries.json", value)
    dataset = load(tmp_path)
    assert [(q.id, q.text, q.labels) for q in dataset.questions] == [
        ("q0001", "What is a loop?", ()),
        ("q0002", "Why?", ()),
    ]
    assert [d.id for d in dataset.documents] == ["docs/a.txt"]
    assert not dataset.labelled


def test_questions_of_a_json_file_may_have_ids_and_spans(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Loops repeat.")
    queries = [{"id": 7, "question": "What repeats?", "docid": f"{tmp_path.name}/a.txt", "spans": [[0, 5]]}]
    dataset = load(tmp_path, write_json(tmp_path / "queries.json", {"queries": queries}))
    assert labels(dataset) == {"7": (Label((Place(f"{tmp_path.name}/a.txt", Span(0, 5)),)),)}


def beir(folder: Path, *judgements: str) -> Path:
    write_rows(
        folder / "corpus.jsonl",
        {"_id": "d1", "title": "Loops", "text": "They repeat.", "metadata": {}},
        {"_id": "d2", "text": "Nothing."},
    )
    write_rows(folder / "queries.jsonl", *({"_id": f"q{n}", "text": f"{n}?"} for n in (1, 2, 3)))
    (folder / "qrels").mkdir()
    lines = ["query-id\tcorpus-id\tscore", *judgements, ""]
    (folder / "qrels" / "test.tsv").write_bytes("\r\n".join(lines).encode())
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq3\td2\t1\n")
    return folder


def test_beir_judges_documents(tmp_path: Path) -> None:
    dataset = load(beir(tmp_path, "q2\td1\t2", "q2\td2\t1", "q1\td2\t0"))
    assert [d.text for d in dataset.documents] == ["Loops\n\nThey repeat.", "Nothing."]
    assert labels(dataset) == {"q1": (), "q2": (Label((Place("d1"),), grade=2), Label((Place("d2"),)))}
    assert labels(load(tmp_path, tmp_path / "qrels" / "dev.tsv")) == {"q3": (Label((Place("d2"),)),)}


@pytest.mark.parametrize(
    ("judgement", "wrong"),
    [
        ("q1 d1 1", "test.tsv: line 2, query 'q1 d1 1': row must have"),
        (f"q1\td1\t{'1' * 5_000}", "test.tsv: line 2, query 'q1': row must have"),
        ("q1\td9\t1", "test.tsv: line 2, query 'q1': corpus-id must name a document"),
        ("q9\td1\t1", "test.tsv: line 2, query 'q9': query-id must be that of a query"),
    ],
)
def test_beir_is_verified(tmp_path: Path, judgement: str, wrong: str) -> None:
    with pytest.raises(LoadError, match=wrong):
        load(beir(tmp_path, judgement))


def test_beir_without_the_usual_split(tmp_path: Path) -> None:
    beir(tmp_path, "q1\td1\t1")
    (tmp_path / "qrels" / "test.tsv").rename(tmp_path / "qrels" / "train.tsv")
    with pytest.raises(LoadError, match=r"has no test.tsv but dev.tsv, train.tsv"):
        load(tmp_path)


def test_what_fits_no_format_names_all(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Text.")
    for name in datasets.names():
        with pytest.raises(LoadError, match=f"known format.* {name}: "):
            load(tmp_path)
        with pytest.raises(LoadError, match=f"doesn't have the format {name}, which is "):
            load(tmp_path, format=name)
    with pytest.raises(InvalidParameterError, match="format: must be one of kinsplit, "):
        load(tmp_path, format="squad")
    with pytest.raises(InvalidParameterError, match="documents: must name a file or a folder"):
        load([])
    with pytest.raises(LoadError, match="doesn't exist"):
        load(tmp_path / "none")
    with pytest.raises(LoadError, match="is a folder, and questions are files"):
        load(tmp_path, tmp_path)


def test_what_fits_two_formats_asks_for_one(tmp_path: Path) -> None:
    write_set(tmp_path, {"query": "One?", "spans": [["d", 1, 6]]})
    write_json(tmp_path / "queries.json", ["Two?"])
    with pytest.raises(LoadError, match=r"fits the formats kinsplit, queries\. Name one"):
        load(tmp_path)
    assert [q.text for q in load(tmp_path, format="kinsplit").questions] == ["One?"]
    assert [q.text for q in load(tmp_path, format="queries").questions] == ["Two?"]
    assert [q.text for q in load(tmp_path, tmp_path / "queries.json").questions] == ["Two?"]


def test_sc_qrels_of_alice_are_its_rows() -> None:
    ours = load(shared_path("alice/sc_qrels"))
    rows = load(shared_path("alice/docs_raw.jsonl"), shared_path("alice/queries_raw.jsonl"))
    assert ours.documents == rows.documents

    def by_place(dataset: Dataset) -> dict[str, list[Label]]:
        return {q.id: sorted(q.labels, key=lambda label: (label.places, label.group)) for q in dataset.questions}

    assert by_place(ours) == by_place(rows)
    assert len(ours.questions) == 118


def test_code_has_the_outline_that_indexing_gives_it(tmp_path: Path) -> None:
    (tmp_path / "stack.py").write_text("def push(item):\n    items.append(item)\n")
    (tmp_path / "queries.jsonl").write_text('{"query": "How is an item put there?"}\n')

    (document,) = load(tmp_path / "stack.py", tmp_path / "queries.jsonl").documents

    assert [part.title for part in document.outline] == ["def push"]
