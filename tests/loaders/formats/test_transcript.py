from __future__ import annotations

import pytest

from kinsplit.chunk import Moment, Voice
from kinsplit.errors import LoadError
from kinsplit.index import Index
from kinsplit.loaders.formats.transcript import SRT, VTT
from tests.loaders.helpers import document_of, load_one

LECTURE = """1
00:00:01,000 --> 00:00:03,500
A loop repeats what

2
00:00:03,500 --> 00:00:06,000
stands <i>inside</i> it. {\\an8}Recursion
is something else.

3
01:00:20,000 --> 01:00:22,250
Questions?
"""


def test_cues_become_running_text_with_times(tmp_path):
    document = document_of(tmp_path / "lecture.srt", LECTURE)

    assert document.text == "A loop repeats what stands inside it. Recursion is something else.\n\nQuestions?"
    assert document.times == (
        Moment(0, 1.0, 3.5),
        Moment(document.text.index("stands"), 3.5, 6.0),
        Moment(document.text.index("Questions"), 3620.0, 3622.25),
    )
    assert document.time_range(0, 5) == (1.0, 3.5)
    assert document.time_range(0, len(document.text)) == (1.0, 3622.25)
    assert document.time_range(document.text.index("Recursion"), document.text.index("Questions")) == (3.5, 6.0)


def test_a_passage_says_its_time(tmp_path):
    path = tmp_path / "lecture.srt"
    path.write_text(LECTURE)
    with Index("memory:", embedder="hash", strategy="structure") as index:
        index.add(path)
        (passage,) = index.search("recursion", top_k=1)
        chunks = index.store.get([hit.chunk.id for hit in passage.hits])

    assert passage.times == (1.0, 3622.25)
    assert "time_start" not in passage.metadata
    assert chunks[0].metadata["time_end"] == 3622.25


def test_speakers_open_paragraphs_and_entities_are_decoded():
    reading = VTT.read(
        b"WEBVTT\n\nNOTE by hand\n\n00:01.000 --> 00:02.000 align:start\n<v Ann>Is 1 &lt; 2 and a < b?\n\n"
        b"00:02.000 --> 00:03.000\n<v Ann>Well?\n\n00:03.000 --> 00:04.000\n<v Bob>Yes.\n"
    )

    assert reading.contents[0].text == "Ann: Is 1 < 2 and a < b? Well?\n\nBob: Yes."
    assert [moment.at for moment in reading.contents[0].times] == [0, 25, 32]


def test_each_voice_of_a_cue_is_a_paragraph_with_the_times_of_the_cue(tmp_path):
    document = document_of(
        tmp_path / "a.vtt",
        "WEBVTT\n\n00:01.000 --> 00:04.000\n- <v.loud Ann &amp; Co>Hold</v>\nthe price.\n<v Bob>No, <i>cut</i> it.\n\n"
        "00:04.000 --> 00:05.000\n<v Bob>Now.\n\n00:05.000 --> 00:06.000\nA door.\n\n"
        "00:06.000 --> 00:07.000\n<v Bob>Oh.",
    )

    assert document.text == "Ann & Co: - Hold the price.\n\nBob: No, cut it. Now.\n\nA door.\n\nBob: Oh."
    bob, now, door, again = (document.text.index(words) for words in ("Bob", "Now", "A door", "Bob: Oh"))
    assert document.voices == (Voice(0, "Ann & Co"), Voice(bob, "Bob"), Voice(door, ""), Voice(again, "Bob"))
    assert [moment.at for moment in document.times] == [0, bob, now, door, again]
    assert document.time_range(0, bob) == document.time_range(bob, now) == (1, 4)
    assert document.time_range(now, door) == (4, 5)


def test_a_cue_whose_second_voice_repeats_the_line_above_keeps_it():
    reading = VTT.read(
        b"WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>Yes.\n\n00:02.000 --> 00:03.000\n<v Ann>No.\n<v Bob>Yes.\n"
    )

    assert reading.contents[0].text == "Ann: Yes. No.\n\nBob: Yes."


def test_a_transcript_without_names_has_no_voices():
    assert SRT.read(LECTURE.encode()).contents[0].voices == ()


def test_rolling_subtitles_are_not_repeated_but_repetitions_are_kept():
    rolling = (
        "WEBVTT\n\n00:00:00.000 --> 00:00:02.000\nhello<00:00:01.000><c> everyone</c>\n\n"
        "00:00:02.000 --> 00:00:02.010\nhello everyone\n\n"
        "00:00:02.010 --> 00:00:04.000\nhello everyone\nand welcome\n\n"
        "00:00:04.000 --> 00:00:05.000\nand welcome\n\n"
    )

    assert VTT.read(rolling.encode()).contents[0].text == "hello everyone and welcome and welcome"


def test_what_is_no_transcript_is_refused_and_an_empty_one_is_not(tmp_path):
    (tmp_path / "x.srt").write_text("just text")
    with pytest.raises(LoadError, match=r"x\.srt: is not a valid transcript"):
        load_one(tmp_path / "x.srt")
    (tmp_path / "y.vtt").write_text("no header\n\n00:01.000 --> 00:02.000\nx")
    with pytest.raises(LoadError, match=r"y\.vtt: is not a valid transcript"):
        load_one(tmp_path / "y.vtt")
    (tmp_path / "z.vtt").write_text("WEBVTT\n")
    assert load_one(tmp_path / "z.vtt").warnings == ("holds no text",)


@pytest.mark.parametrize(
    "source",
    [
        "\n \n 1\n00:00:01,000 --> 00:00:02,500\na\n\n2\n00:00:03,000 --> 00:00:04,000\nb",
        "00:00:01,0 --> 00:00:02,5\na\n\n00:00:03 --> 00:00:04\nb",
        "1\r00:00:01 --> 00:00:02.5\ra\r\r0:03,000 --> 0:04 X1:40 X2:600\rb\r",
        "1\r\n00:00:01,000-->00:00:02,500\r\na\r\n00:00:03,000 --> 00:00:04,000\r\nb",
    ],
    ids=["blanks", "no numbers", "no hours", "no blank line"],
)
def test_cues_that_players_show_are_read(source):
    for content in (
        SRT.read(source.encode()).contents[0],
        VTT.read(f"WEBVTT\n\n{source.lstrip()}".encode()).contents[0],
    ):
        assert content.text == "a b"
        assert content.times == (Moment(0, 1.0, 2.5), Moment(2, 3.0, 4.0))


@pytest.mark.parametrize("read", [SRT.read, VTT.read])
def test_cues_without_times_are_counted(read):
    header = "WEBVTT\n\n" if read is VTT.read else ""
    reading = read(
        f"{header}1\n00:00:01,000 --> 00:00:02,000\na\n\n2\n00:00:0b,000 --> 00:00:04,000\nlost\n\n3\n"
        "00:00:05,000 --> 00:00:06,000\nc\n".encode()
    )

    assert reading.contents[0].text == "a\n\nc"
    assert reading.warnings == ("1 cues were left out, since their times can't be read",)


def test_an_arrow_inside_what_was_said_is_text():
    reading = SRT.read(b"1\n00:00:01,000 --> 00:00:02,000\nso\nx --> y holds\n")

    assert (reading.contents[0].text, reading.warnings) == ("so x --> y holds", ())


def test_overlapping_and_backward_times_keep_the_order_and_end_after_they_begin():
    reading = SRT.read(
        b"1\n00:00:05,000 --> 00:00:04,000\na\n\n2\n00:00:02,000 --> 00:00:09,000\nb\n\n3\n00:00:03,000 --> "
        b"00:00:04,000\nc\n"
    )

    assert reading.contents[0].text == "a b c"
    assert [(moment.start, moment.end) for moment in reading.contents[0].times] == [(5, 5), (2, 9), (3, 4)]
    assert reading.warnings == ("1 cues begin before the one above them",)


def test_other_line_ends_and_encodings_are_read():
    data = LECTURE.replace("\n", "\r\n").replace("loop", "Schleife für").encode("utf-16")

    assert SRT.read(data).contents[0].text.startswith("A Schleife für repeats what stands")


@pytest.mark.parametrize(("read", "header"), [(VTT.read, "WEBVTT\n\n"), (SRT.read, "")])
@pytest.mark.parametrize("digits", [11, 400, 5_000])
def test_hours_of_very_many_digits_cost_one_cue(read, header, digits):
    hours = "9" * digits
    reading = read(f"{header}1\n{hours}:00:01.000 --> {hours}:00:02.000\na\n\n2\n00:01.000 --> 00:02.000\nb\n".encode())

    assert reading.contents[0].text == "b"
    assert reading.warnings == ("1 cues were left out, since their times can't be read",)
