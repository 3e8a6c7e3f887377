from __future__ import annotations

import codecs
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.errors import MissingExtraError
from kinsplit.loaders.decoding import clean, decode
from kinsplit.loaders.formats import html

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
        (f"has no byte order mark; read as {encoding} by its bytes",),
    )


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text",
    [
        "Съешь же ещё этих мягких\nбулок",
        "बिल्ली छत पर बैठी है।",
        "แมวนั่งอยู่บนหลังคา",
        "明日の会議は四時です。\n",
        "今天天气很好，我们去公园吧。",
        "내일 회의는 네 시에 시작합니다.",
        "כל בני האדם נולדו בני חורין",
    ],
)
def test_utf16_without_a_mark_is_known_in_every_script(text, encoding):
    assert decode(text.encode(encoding)).text == text


@pytest.mark.parametrize(
    "data", [b"a\tb\tc\td\te\tf\tg\t", b"1\x002\x00\x01 names", b"\x1b[0mred\x1b[1m", b"\x01\x01" * 9]
)
def test_control_characters_are_not_utf16(data):
    assert decode(data).text == data.decode()


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
        ("会議室予約", "shift_jis"),
        ("今日の会議は三時からです", "euc_jp"),
        ("今天天气很好，我们去公园吧。你想去吗？", "gb18030"),
        ("今天下午三点开会", "gb18030"),
        ("這是一個測試文件，請勿回覆", "big5"),
        ("안녕하세요. 오늘 회의는 세 시에 있습니다.", "euc_kr"),
        ("สวัสดีครับ วันนี้อากาศดี", "cp874"),
        ("مرحبا بالعالم كيف حالك اليوم", "cp1256"),
        ("Καλημέρα σας, τι κάνετε;", "cp1253"),
        ("Привет, как дела? Всё хорошо, спасибо большое.", "koi8-r"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy", "cp1250"),
        ("café très à Paris", "cp1252"),
        ("Smörgåsbord på svenska, älskar köttbullar", "cp1252"),
        ("50 µm ± 2°, § 5 Abs. 3", "cp1252"),
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


@pytest.mark.parametrize(
    ("declared", "codec", "text"),
    [
        ("iso-8859-8-i", "iso8859-8", "שלום עולם"),
        ("ISO-8859-8-E", "iso8859-8", "שלום עולם"),
        ("GB2312", "gb18030", "朱镕基总理 €"),
        ("shift_jis", "cp932", "①髙橋㈱"),
        ("x-sjis", "cp932", "①髙橋㈱"),
        ("euc-kr", "cp949", "똠방각하 펲시콜라"),
        ("ks_c_5601-1987", "cp949", "똠방각하"),
        ("windows-874", "cp874", "แมว “นั่ง”"),
        ("cp50221", "iso2022_jp", "会議"),
        ("iso-8859-9", "cp1254", "“İstanbul’da”"),
        ("koi8-ru", "koi8-u", "Їжак і ґава"),
        ("x-mac-roman", "mac-roman", "naïve – café"),
        ("csISOLatin2", "iso8859-2", "źdźbło trawy"),
    ],
)
def test_names_mean_what_they_mean_to_browsers(declared, codec, text):
    assert decode(text.encode(codec), declared) == (text, ())


def test_a_declared_encoding_holds_in_spite_of_a_bad_byte():
    text = "明日の会議は四時です。" * 3

    assert decode(text.encode("cp932") + b"\x81", "shift_jis") == (
        text + "\ufffd",
        ("1 sequence of bytes is not valid shift_jis and became U+FFFD",),
    )


@pytest.mark.parametrize(
    ("charset", "codec", "text"),
    [
        ("iso-2022-jp", "iso2022_jp", "明日の会議"),
        ("iso-8859-8-i", "iso8859-8", "שלום"),
        ("gb2312", "gb18030", "朱镕基"),
    ],
)
def test_a_page_is_read_by_the_charset_in_its_head(charset, codec, text):
    page = f'<html><head><meta http-equiv="Content-Type" content="text/html; charset={charset}"></head><p>{text}</p>'

    reading = html.read(page.encode(codec))

    assert (reading.contents[0].text, reading.warnings) == (text, ())


MEETING = b"\x1b$BL@F|$N2q5D$O;M;~$G$9!#\x1b(B ok"


@pytest.mark.parametrize("declared", ["ISO-2022-JP", "csISO2022JP", None, "utf-8"])
def test_iso_2022_jp_is_told_by_its_name_or_its_escapes(declared):
    assert decode(MEETING, declared) == ("明日の会議は四時です。 ok", ())


def test_iso_2022_jp_has_the_characters_of_windows():
    assert decode(b"\x1b$B-!-j\x1b(I6E\x1b(J.\x1b$(D0!\x1b(B", "iso-2022-jp").text == "①㈱ｶﾅ.丂"


@given(st.text(st.sampled_from("あ漢字カナ。a \n"), max_size=20))
def test_iso_2022_jp_round_trips(text):
    assert decode(text.encode("iso2022_jp"), "iso-2022-jp") == (text, ())


@pytest.mark.parametrize(
    ("codec", "text"), [("iso2022_kr", "안녕 여러분"), ("hz", "汉字 ok"), ("utf-7", "1 + 1 = “2”")]
)
def test_other_encodings_in_seven_bits_need_their_name(codec, text):
    assert decode(text.encode(codec), codec.replace("_", "-")) == (text, ())


def test_the_same_name_says_nothing_about_bytes_beyond_seven_bits():
    assert decode("größer".encode(), "iso-2022-jp") == ("größer", ())


@given(st.lists(st.sampled_from(["é ", "漢字 ", "plain "]), min_size=8, max_size=20), st.integers(0, 7))
def test_one_bad_byte_in_utf8_is_one_replaced_character(words, at):
    words = ["é漢", *words, "ü漢"]
    data = b"".join([*(word.encode() for word in words[:at]), b"\xe9 ", *(word.encode() for word in words[at:])])

    text, warnings = decode(data)

    assert text == "".join([*words[:at], "\ufffd ", *words[at:]])
    assert warnings == ("1 sequence of bytes is not valid UTF-8 and became U+FFFD",)


def test_characters_that_were_replaced_before_are_not_counted():
    assert decode("é\ufffdüß".encode() + b"\xff").warnings[0].startswith("1 sequence")


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


def test_a_hangul_filler_which_korean_encodings_write_but_do_not_read_is_no_fault():
    text = "一\u3164亀"
    assert decode(text.encode("utf-16-le")).warnings


def test_cleaning_replaces_one_for_one_and_counts():
    assert clean("a\0b\ud800c\udfff😀") == (
        "a\ufffdb\ufffdc\ufffd😀",
        ("NUL characters or lone surrogates were replaced by U+FFFD: 3",),
    )
    assert clean("plain 😀") == ("plain 😀", ())


def test_a_charset_that_has_to_be_guessed_names_the_extra_that_guesses(monkeypatch):
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)

    assert decode(GERMAN.encode()) == (GERMAN, ())
    with pytest.raises(MissingExtraError, match=r'^charset-normalizer is not installed. Run: .*"kinsplit\[files\]"$'):
        decode(GERMAN.encode("cp1252"))
