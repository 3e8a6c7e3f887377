from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.loaders.decoding import clean, decode

GERMAN = "Über die Größe der Straße können wir später sprechen – sagte „Jürgen“.\r\n"


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_exactly_one_byte_order_mark_is_dropped(mark, encoding):
    text, warnings = decode(mark + f"\ufeff{GERMAN}a\ufeffb".encode(encoding))

    assert text == f"\ufeff{GERMAN}a\ufeffb"
    assert any(encoding in warning for warning in warnings) == (encoding != "utf-8")


def test_bad_bytes_behind_a_mark_are_replaced_with_a_warning():
    assert decode(codecs.BOM_UTF8 + b"a\xffb") == (
        "a\ufffdb",
        ("read as utf-8 by its byte order mark, with U+FFFD for every invalid sequence",),
    )
    assert decode(codecs.BOM_UTF16_LE + b"a\0b").text == "a\ufffd"


@given(st.text())
def test_utf8_is_taken_as_it_is(text):
    # Only a text full of NUL can look like UTF-16, and a leading U+FEFF is a mark.
    text = text.replace("\0", "").lstrip("\ufeff")

    assert decode(text.encode()) == (text, ())


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_known_by_its_zeros(encoding):
    assert decode(GERMAN.encode(encoding)) == (
        GERMAN,
        (f"has no byte order mark; read as {encoding} by its zero bytes",),
    )


def test_a_few_zeros_are_not_utf16():
    assert decode(b"a\0b\0\0 some text") == ("a\0b\0\0 some text", ())


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "cp1252"),
        ("Le café est très agréable, où l’on mange à côté de la forêt", "cp1252"),
        ("café", "cp1252"),
        ("Съешь же ещё этих мягких французских булок, да выпей чаю", "cp1251"),
        ("これは日本語のテキストです。今日は天気がいいですね。", "shift_jis"),
        ("今天天气很好，我们去公园吧。你想去吗？", "gb18030"),
    ],
)
def test_legacy_encodings_are_guessed_with_a_warning(text, encoding):
    decoded, warnings = decode(text.encode(encoding))

    assert decoded == text
    assert [("not UTF-8" in warning, "guess" in warning) for warning in warnings] == [(True, True)]


def test_a_declared_encoding_comes_before_a_guess():
    data = "בראשית ברא אלהים את השמים ואת הארץ".encode("cp1255")

    assert decode(data, "windows-1255").text == "בראשית ברא אלהים את השמים ואת הארץ"
    assert decode("“quotes” and café".encode("cp1252"), "ISO-8859-1").text == "“quotes” and café"
    assert decode("größer".encode(), "iso-8859-1") == ("größer", ())


@pytest.mark.parametrize("declared", ["no-such-thing", "base64", "rot13", "utf-8", "ascii", "undefined"])
def test_a_wrong_declaration_never_fails(declared):
    assert decode("Größe der Straße".encode("cp1252"), declared).text == "Größe der Straße"


@pytest.mark.parametrize("declared", ["utf-16", "utf-32-be", "cp037", "unicode_escape", "utf-7", "punycode", "idna"])
def test_a_declaration_that_could_not_stand_there_is_passed_over(declared):
    text = "# Größe der Straße nach Köln, \\u0041 +AGE-"

    decoded, warnings = decode(text.encode("cp1252"), declared)

    assert decoded == text
    assert "guess" in warnings[0]


def test_bytes_in_no_encoding_become_utf8_with_replacements():
    text, warnings = decode(bytes(range(256)) * 10)

    assert "\ufffd" in text
    assert "A" in text
    assert len(warnings) == 1


@given(st.binary(max_size=300))
def test_decoding_never_fails_and_says_what_it_decided(data):
    text, warnings = decode(data)

    try:
        plain = data.decode("utf-8")
    except UnicodeDecodeError:
        assert warnings
    else:
        assert warnings or text in (plain, plain[1:])


def test_cleaning_replaces_one_for_one_and_counts():
    assert clean("a\0b\ud800c\udfff😀") == (
        "a\ufffdb\ufffdc\ufffd😀",
        ("3 NUL or lone surrogate code points were replaced by U+FFFD",),
    )
    assert clean("plain 😀") == ("plain 😀", ())
