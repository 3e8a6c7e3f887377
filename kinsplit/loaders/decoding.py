"""Decoding of bytes by the rules in the package docstring."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from typing import NamedTuple

from kinsplit.support.extras import needs

# UTF-32 first: its little-endian mark begins with the one of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The encodings that browsers know and that can be told apart, for Latin and other scripts. Of those that are equally
# likely, the first is taken.
_LATIN = ("cp1252", "cp1250", "iso8859_2", "cp1254", "cp1257", "cp1258", "mac_roman")
_OTHERS = (
    *("cp1251", "koi8_r", "cp866", "cp1253", "iso8859_7", "cp1255", "cp1256"),
    *("cp932", "euc_jp", "cp949", "gb18030", "big5", "cp874"),
)
# Characters that most of a text's are in some encodings, and their least share of those beyond ASCII.
_MOSTLY = {
    "cp932": (re.compile("[^\uff61-\uff9f]"), 0.8),  # no narrow kana, which are Thai in other encodings
    "euc_jp": (re.compile("[\u3040-\u30ff]"), 0.1),
    "cp949": (re.compile("[\uac00-\ud7a3]"), 0.7),
}
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")
_LONG_RUN = 1.3  # bytes beyond ASCII in a row, on average, from which on they are words of another script
# Escapes of text in ASCII rather than encodings: they would change the text.
_ESCAPES = frozenset({"unicode-escape", "raw-unicode-escape"})
# What browsers read for a name, as the encoding standard lists them: mostly the superset that Windows writes.
_SUPERSETS = {
    **dict.fromkeys(("ascii", "iso8859-1"), "cp1252"),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    **dict.fromkeys(("iso8859-11", "tis-620"), "cp874"),
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
# Names of the standard that Python doesn't know, without `x-` and `cs` before them.
_NAMES = {
    **dict.fromkeys(("koi", "koi8"), "koi8-r"),
    **dict.fromkeys(("gb_2312", "gb_2312-80"), "gb18030"),
    **dict.fromkeys(("windows-949", "ksc_5601", "ks_c_5601-1989", "csksc56011987", "iso-ir-149"), "cp949"),
    **dict.fromkeys(("windows-31j", "sjis"), "cp932"),
    **dict.fromkeys(("windows-874", "dos-874"), "cp874"),
    **dict.fromkeys(("mac", "mac-roman"), "mac-roman"),
    **dict.fromkeys(("visual", "logical"), "iso8859-8"),
    "koi8-ru": "koi8-u",
    "mac-ukrainian": "mac-cyrillic",
    "cn-big5": "big5hkscs",
    "x-big5": "big5hkscs",
    "cseucpkdfmtjapanese": "euc_jp",
    "sun_eu_greek": "iso8859-7",
    "csisolatin9": "iso8859-15",
}
_ISO_8859 = re.compile(r"(?:cs)?iso-?8859-?(\d{1,2})(?:-?[ei])?")
# Encodings in seven bits, which are valid UTF-8 whatever they say.
_SEVEN_BITS = frozenset({"iso2022_jp", "iso2022_kr", "hz", "utf-7"})
_JAPANESE = re.compile(rb"\x1b(\$[@B]|\$\([@BD]|\([BHIJ])")
_TWO_BYTES = re.compile(rb"[\x21-\x7e]{2}")
# Characters of UTF-8 for each bad byte, from which on it is UTF-8. Other encodings have at most one.
_FEW = 3
_LOOKED_AT = 2**14  # bytes by which UTF-16 is recognised; an even number
_CONTROLS = bytes({*range(32)} - {7, 8, 9, 10, 11, 12, 13, 26, 27})
# Encodings of the scripts that have more letters than an alphabet.
_IDEOGRAPHS = ("gb2312", "shift_jis", "euc_kr", "big5")
#: Bullets and arrows of Symbol and Wingdings by code point.
SYMBOLS = str.maketrans({"\uf0b7": "•", "\uf0a7": "▪", "\uf0d8": "➢", "\uf0fc": "✓", "\uf0e0": "→", "\uf0df": "←"})
_WINDOWS = re.compile("[\x80\x82-\x84\x86-\x8c\x8e\x91-\x9c\x9e\x9f]")  # U+0085 is a line end.
_REFUSED = re.compile("[\0\ud800-\udfff]")


class Decoded(NamedTuple):
    """A text and the decisions that were made to decode it."""

    text: str
    warnings: tuple[str, ...] = ()


def decode(data: bytes, declared: str | None = None) -> Decoded:
    """Return the text of a file's bytes without a byte order mark, and warnings of guesses and losses.

    Args:
        data: The bytes.
        declared: Name of the encoding that the file, or what it came in, declares.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decode_marked(data[len(mark) :], encoding)
    if utf16 := _unmarked_utf16(data):
        return Decoded(data.decode(utf16), (f"has no byte order mark; read as {utf16} by its bytes",))
    meant = _meant(declared) if declared else None
    if (text := _seven_bits(data, meant)) is not None:
        return Decoded(text)
    if (text := _try(data, "utf-8")) is not None:
        return Decoded(text)
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd") - data.count("\ufffd".encode())
    if _FEW * bad <= _beyond_ascii(text) - bad:
        return Decoded(text, (_replaced(bad, "UTF-8"),))
    if meant and meant not in _SEVEN_BITS:
        text = data.decode(meant, "replace")
        bad = text.count("\ufffd")
        if 10 * bad <= _beyond_ascii(text):
            return Decoded(text, (_replaced(bad, str(declared)),) if bad else ())
    guess = _guess(data)
    if guess is not None:
        return Decoded(data.decode(guess, "replace"), (f"is not UTF-8; read as {guess}, the best guess",))
    warning = "is in no known encoding; read as UTF-8 with U+FFFD for every invalid sequence"
    return Decoded(data.decode("utf-8", "replace"), (warning,))


def _beyond_ascii(text: str) -> int:
    return sum(map("\x7f".__lt__, text))


def _replaced(bad: int, encoding: str) -> str:
    what = "1 sequence of bytes is" if bad == 1 else f"{bad:,} sequences of bytes are"
    return f"{what} not valid {encoding} and became U+FFFD"


def clean(text: str) -> Decoded:
    """Replace NUL and lone surrogates by U+FFFD, one for one, and count them in a warning."""
    cleaned, count = _REFUSED.subn("\ufffd", text)
    warnings = (f"NUL characters or lone surrogates were replaced by U+FFFD: {count:,}",) if count else ()
    return Decoded(cleaned, warnings)


def legible(text: str) -> str:
    """Replace code points that no font shows by what they stand for, one for one.

    Bullets and arrows of symbol fonts, which Word writes as private-use code points, become those of Unicode; and
    control characters that are quotation marks and dashes of Windows-1252, misread as Latin-1, become these.
    """
    if any(chr(symbol) in text for symbol in SYMBOLS):
        text = text.translate(SYMBOLS)
    return _WINDOWS.sub(lambda match: match[0].encode("latin-1").decode("cp1252"), text)


def _decode_marked(data: bytes, encoding: str) -> Decoded:
    warning = f"read as {encoding} by its byte order mark"
    if (text := _try(data, encoding)) is not None:
        return Decoded(text, () if encoding == "utf-8" else (warning,))
    return Decoded(data.decode(encoding, "replace"), (f"{warning}, with U+FFFD for every invalid sequence",))


def _unmarked_utf16(data: bytes) -> str | None:
    """Return the form of UTF-16 that data without a mark is in, or None.

    Text in other encodings has no control characters such as zero. In UTF-16, Latin text has them as every other byte,
    other alphabets have their number as every other byte, and of ideographs some have one.
    """
    if len(data) % 2 or len(data) == len(data.translate(None, _CONTROLS)):
        return None
    sample = data[:_LOOKED_AT]
    half = len(sample) // 2
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    for encoding, mostly, hardly in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if mostly > 0.4 * half and hardly < 0.02 * half and _try(data, encoding) is not None:
            return encoding
    for encoding, high, low in (("utf-16-le", 1, 0), ("utf-16-be", 0, 1)):
        if _are_numbers(sample[high::2], sample[low::2]) and _try(data, encoding) is not None:
            return encoding
    if _try(data, "utf-8") is not None:
        return None
    written = [name for name in ("utf-16-le", "utf-16-be") if _is_in_use(_try(sample, name) or "")]
    return written[0] if len(written) == 1 and _try(data, written[0]) is not None else None


def _are_numbers(high: bytes, low: bytes) -> bool:
    """Return whether bytes are the numbers of a few alphabets, next to the letters in these."""
    most = Counter(high).most_common(4)
    few = sum(count for _, count in most) >= 0.95 * len(high) and all(number <= 0x20 for number, _ in most)
    return few and len(set(low)) > 5 and (most[0][0] not in b"\t\n\r " or 0 in high)


def _is_in_use(text: str) -> bool:
    """Return whether nearly all ideographs of a text are among the several thousand in use, of over ninety thousand."""
    others = "".join(character for character in text if character >= "\x80")
    known = max(len(others.encode(name, "ignore").decode(name, "ignore")) for name in _IDEOGRAPHS)
    return bool(others) and known >= 0.98 * len(others)


def _seven_bits(data: bytes, meant: str | None) -> str | None:
    """Return text whose encoding uses seven bits, by its declaration or its escapes, or None."""
    if (meant not in _SEVEN_BITS and b"\x1b$" not in data) or not data.isascii():
        return None
    if meant == "iso2022_jp" or (meant not in _SEVEN_BITS and _JAPANESE.search(data)):
        return _japanese(data)
    return _try(data, meant if meant in _SEVEN_BITS else "iso2022_kr")


def _japanese(data: bytes) -> str:
    """Return text in ISO-2022-JP with the characters of Windows, which Python's codec refuses."""
    first, *rest = _JAPANESE.split(data)
    return first.decode("ascii") + "".join(map(_of_set, rest[::2], rest[1::2]))


def _of_set(escape: bytes, data: bytes) -> str:
    """Return text of the character set that an escape sequence selects."""
    if escape == b"(I":
        return bytes(byte | 0x80 if 0x20 < byte < 0x60 else byte for byte in data).decode("cp932", "replace")
    if escape == b"$(D":
        return _TWO_BYTES.sub(lambda two: b"\x8f" + bytes(b | 0x80 for b in two[0]), data).decode("euc_jp", "replace")
    if escape.startswith(b"$"):
        return _TWO_BYTES.sub(lambda two: _shifted(*two[0]), data).decode("cp932", "replace")
    return data.decode("ascii")


def _shifted(row: int, cell: int) -> bytes:
    """Return a character of JIS X 0208 in Shift_JIS."""
    lead = (row + 1 >> 1) + (0x70 if row < 0x5F else 0xB0)
    return bytes((lead, cell + (0x7E if row % 2 == 0 else 0x1F + (cell > 0x5F))))


def _try(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (LookupError, ValueError):  # no such text encoding, or not this one
        return None


def _meant(declared: str) -> str | None:
    """Return the codec that a declaration means to browsers, or None if it can't be right."""
    label = declared.strip().lower()
    iso = _ISO_8859.fullmatch(label)
    if label.startswith(("iso-2022-jp", "cp5022")):  # with extensions that all programs read
        return "iso2022_jp"
    spelled = (f"iso8859-{iso[1]}",) if iso else (label, label.removeprefix("x-"), label.removeprefix("cs"))
    name = next(filter(None, map(_codec, spelled)), "")
    try:
        # The declaration was found by its ASCII letters, so it can't be UTF-16 or EBCDIC.
        possible = name not in _ESCAPES and b"coding 1".decode(name, "replace") == "coding 1"
    except (LookupError, ValueError):
        return None
    return _SUPERSETS.get(name, name) if possible else None


def _codec(label: str) -> str | None:
    try:
        return codecs.lookup(_NAMES.get(label, label)).name
    except LookupError:
        return None


def _guess(data: bytes) -> str | None:
    """Return the encoding that the data are most likely in, or None.

    Raises:
        MissingExtraError: charset-normalizer is not installed.
    """
    with needs("files"):
        from charset_normalizer import from_bytes

    runs = [len(run) for run in _BEYOND_ASCII.findall(data[:_LOOKED_AT])]
    is_latin = bool(runs) and sum(runs) < _LONG_RUN * len(runs)  # Letters with accents stand between others.
    among = _LATIN if is_latin else (*_LATIN, *_OTHERS)
    matches = [m for m in from_bytes(data, cp_isolation=list(among)) if _is_likely(m.encoding, str(m))]
    best = [m for m in matches if (m.chaos, m.coherence) == (matches[0].chaos, matches[0].coherence)]
    equal = {name for match in best for name in match.could_be_from_charset}
    return next((name for name in among if name in equal), "cp1252" if is_latin else None)


def _is_likely(encoding: str, text: str) -> bool:
    """Return whether a text has the characters that texts in its encoding mostly have."""
    if encoding not in _MOSTLY:
        return True
    beyond = [character for character in text if character >= "\x80"]
    script, share = _MOSTLY[encoding]
    return len(script.findall("".join(beyond))) >= share * len(beyond)
