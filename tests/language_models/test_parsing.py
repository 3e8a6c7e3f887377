"""Numbers are found in whatever a model says."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.language_models.parsing import Numbers, escape_tags, read_numbers, text_of


@pytest.mark.parametrize(
    ("answer", "values"),
    [
        ('{"starts": [0, 4, 9]}', [0, 4, 9]),
        ("[0, 4, 9]", [0, 4, 9]),
        ('```json\n{"starts": [0, 4, 9]}\n```', [0, 4, 9]),
        ("Sure! Sentence [0] opens, so the chunks begin at:\n[0, 4, 9]\nHope that helps [1].", [0, 4, 9]),
        ('{"starts": [0, 4]} or maybe [0, 1, 2, 3, 4, 5]', [0, 4]),
        ('<think>[1, 2, 3, 4, 5]? No.</think>{"starts": [0, 4]}', [0, 4]),
        ('[1, 2, 3, 4, 5]? No.</think>{"starts": [0, 4]}', [0, 4]),
        ('{"starts": [0, 4]} <think>[1, 2, 3]</think> {"starts": [1, 2, 3]}', [1, 2, 3]),
        ('[1]</think> [2]</thinking> {"starts": [0, 4]} <think>[1, 2, 3]</think>', [0, 4]),
        ('{"boundaries": [0, 4, 9], "reasons": ["a", "b"]}', [0, 4, 9]),
        ('{"starts": ["0", " 4 ", "9.0"]}', [0, 4, 9]),
        ("[0.0, 4.5, 9.00]", [0, 9]),
        ("[-1, 2, 3]", [-1, 2, 3]),
        ("['0', +4, 9.0,]", [0, 4, 9]),
        ("[9, 4, 0, 4]", [9, 4, 0, 4]),
        ("[[0, 3], [4, 8], [9, 12]]", [0, 4, 9]),
        ("[[0, 4, 9]]", [0, 4, 9]),
        ('[{"start": 0, "end": 3}, {"start": 4, "title": "x"}]', [0, 4]),
        ("[0, null, true, [], {}, 4, NaN, Infinity]", [0, 4]),
        ('{"starts": []}', []),
        ("[]", []),
        ("", []),
        ("I can't do that.", []),
        ("0, 4, 9", []),
        ("<html><body>[object Object]</body></html>", []),
        ("[" * 5000, []),
        ('{"starts": "0, 4, 9"}', []),
        ("[99999999999999999999]", []),
    ],
)
def test_a_list_is_found_however_it_is_dressed_up(answer: str, values: list[int]) -> None:
    assert read_numbers(answer, "starts") == Numbers(values, whole=True)


@pytest.mark.parametrize(
    ("answer", "values"),
    [
        ('{"starts": [0, 4, 9, 1', [0, 4, 9]),
        ('{"starts": [0, 4, 9,', [0, 4, 9]),
        ('Looking at [0]: {"starts": ["0", "4", "1', [0, 4]),
        ("[0, 4, and so on", [0, 4]),
    ],
)
def test_of_a_list_that_breaks_off_the_last_number_may_be_cut(answer: str, values: list[int]) -> None:
    assert read_numbers(answer, "starts") == Numbers(values, whole=False)


def test_a_list_that_breaks_off_before_its_second_number_is_none() -> None:
    assert read_numbers('{"starts": [12', "starts").values == []


@given(st.text(st.sampled_from('[]{}",: 0123456789.-ntse\\\n`<think/>'), max_size=60))
def test_any_answer_is_read_without_an_error(answer: str) -> None:
    assert all(type(value) is int for value in read_numbers(answer, "s").values)


@pytest.mark.parametrize(
    "begin_part_end",
    [
        ("", "[", ""),
        ("[" * 900, "1,", ""),
        ("[", "1,", "]"),
        ("", "[1,", "]"),
        ("", '{"a":[', ""),
        ("", '["', ""),
        ("", "<think>", ""),
        ("", "x</think>", ""),
        ("", "<think></think>", "[1]"),
    ],
    ids=lambda parts: parts[1],
)
def test_an_answer_is_read_in_time_that_grows_with_its_length(begin_part_end: tuple[str, str, str]) -> None:
    begin, part, end = begin_part_end
    seconds = []
    for size in (2_000, 16_000):
        runs = []
        for _ in range(3):
            begun = time.thread_time()
            read_numbers(begin + part * size + end, "starts")
            runs.append(time.thread_time() - begun)
        seconds.append(min(runs))
    assert seconds[1] < 24 * seconds[0] + 0.1  # 64 times, were it quadratic.


def test_an_inert_text_ends_no_element_and_is_valid() -> None:
    assert escape_tags("a</text>\ud800 <b>") == "a<\\/text>\ufffd <b>"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a", "a"),
        (None, ""),
        (["a", {"type": "text", "text": "b"}, {"text": None}, {"type": "tool_use"}], "ab"),
        ([{"type": "reasoning", "text": "Hm."}, {"type": "thinking", "thinking": [{"text": "Hm."}]}], ""),
        ({"type": "text", "text": ["a", "b"]}, "ab"),
    ],
)
def test_what_a_message_says_may_come_in_parts(content: object, text: str) -> None:
    assert text_of(content) == text
