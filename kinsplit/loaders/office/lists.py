"""Lists of Office files: the forms of their numbers, and the levels that are open."""

from __future__ import annotations

from kinsplit.loaders.markup.writer import MarkdownWriter, roman

#: Shown before an item of a list without numbers.
BULLET = "-"

#: Forms that count through an alphabet or a row of signs, and then double them.
_ROWS = {
    "lowerLetter": "abcdefghijklmnopqrstuvwxyz",
    "α, β, γ, ...": "αβγδεζηθικλμνξοπρστυφχψω",
    "russianLower": "абвгдежзиклмнопрстуфхцчшщыэюя",
    "chicago": "*†‡§",
    "aiueoFullWidth": "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン",
    "irohaFullWidth": (
        "イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセスン"
    ),
    "ganada": "가나다라마바사아자차카타파하",
    "hebrew2": "אבגדהוזחטיכלמנסעפצקרשת",
    "arabicAlpha": "أبتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "ideographTraditional": "甲乙丙丁戊己庚辛壬癸",
    "ideographZodiac": "子丑寅卯辰巳午未申酉戌亥",
}
_KANJI = "〇一二三四五六七八九"
_TENS = frozenset({"chineseCounting", "chineseCountingThousand", "japaneseCounting", "taiwaneseCountingThousand"})
_WORDS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
_ORDINALS = ("Zeroth", "First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth", "Ninth", "Tenth")


def in_form(count: int, form: str) -> str:
    """Return a number in a form of Word's, or as digits if there is none."""
    if form in {"none", "bullet"}:
        return ""
    if form.startswith("upper") or form == "russianUpper":
        return in_form(count, form.replace("upper", "lower").replace("Upper", "Lower")).upper()
    if form in _ROWS and 0 < count < 10_000:
        row = _ROWS[form]
        return row[(count - 1) % len(row)] * ((count - 1) // len(row) + 1)
    if form == "lowerRoman" and 0 < count < 4000:
        return roman(count)
    if form == "decimalZero" or form.startswith("0"):
        return str(count).zfill(len(form.partition(",")[0]) if form.startswith("0") else 2)
    if form in {"decimalEnclosedCircle", "decimalEnclosedCircleChinese"} and 0 < count <= 20:
        return chr(ord("①") + count - 1)
    if form in {"decimalFullWidth", "decimalFullWidth2"}:
        return "".join(chr(ord("０") + int(digit)) for digit in str(count))
    if form in _TENS and 0 < count < 100:
        tens, ones = divmod(count, 10)
        return f"{_KANJI[tens] if tens > 1 else ''}{'十' if tens else ''}{_KANJI[ones] if ones else ''}"
    if form in {"ideographDigital", "japaneseDigitalTenThousand", *_TENS} and count > 0:
        return "".join(_KANJI[int(digit)] for digit in str(count))
    if form == "ordinal":
        last = 0 if count // 10 % 10 == 1 else count % 10
        return f"{count}{('th', 'st', 'nd', 'rd')[last] if last < 4 else 'th'}"
    if form in {"cardinalText", "ordinalText"} and 0 <= count <= 10:
        return (_WORDS if form == "cardinalText" else _ORDINALS)[count]
    return str(count)


class OpenLists:
    """The open levels of lists, given the level and label of each item in turn."""

    def __init__(self, writer: MarkdownWriter) -> None:
        self._writer = writer
        self._levels: list[int] = []

    def __bool__(self) -> bool:
        return bool(self._levels)

    def item(self, level: int, label: str) -> None:
        """Begin an item."""
        while self._levels and self._levels[-1] > level:
            self._levels.pop()
            self._writer.end_list()
        if not self._levels or self._levels[-1] < level:
            self._levels.append(level)
            self._writer.start_list(ordered=False)
        self._writer.start_item(label=label)

    def end(self) -> None:
        """End all lists."""
        for _ in self._levels:
            self._writer.end_list()
        self._levels = []
