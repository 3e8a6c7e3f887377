"""Numbers as a spreadsheet shows them: the number formats of Excel, in the words of American English.

A format has up to four sections for positive numbers, negative ones, zero and text, such as `#,##0.00;[Red](#,##0.00)`,
or sections with conditions of their own. Colours, widths and the languages of month names have no effect on the text.
"""

from __future__ import annotations

import datetime
import math
import operator
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache

#: The formats that files name by number only.
BUILT_IN = dict(
    enumerate(
        (
            *("General", "0", "0.00", "#,##0", "#,##0.00", "$#,##0_);($#,##0)", "$#,##0_);[Red]($#,##0)"),
            *("$#,##0.00_);($#,##0.00)", "$#,##0.00_);[Red]($#,##0.00)", "0%", "0.00%", "0.00E+00", "# ?/?", "# ??/??"),
            *("m/d/yyyy", "d-mmm-yy", "d-mmm", "mmm-yy", "h:mm AM/PM", "h:mm:ss AM/PM", "h:mm", "h:mm:ss"),
            "m/d/yyyy h:mm",
        )
    )
) | dict(
    enumerate(
        (
            *("#,##0_);(#,##0)", "#,##0_);[Red](#,##0)", "#,##0.00_);(#,##0.00)", "#,##0.00_);[Red](#,##0.00)"),
            *('_(* #,##0_);_(* (#,##0);_(* "-"_);_(@_)', '_($* #,##0_);_($* (#,##0);_($* "-"_);_(@_)'),
            *('_(* #,##0.00_);_(* (#,##0.00);_(* "-"??_);_(@_)', '_($* #,##0.00_);_($* (#,##0.00);_($* "-"??_);_(@_)'),
            *("mm:ss", "[h]:mm:ss", "mm:ss.0", "##0.0E+0", "@"),
        ),
        37,
    )
)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October"),
    *("November", "December"),
)
_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_LAST_DAY = 2_958_466  # the first day that no spreadsheet has, of the year 10,000
_LONGEST_DURATION = 1e9  # days
_DAY = 86_400
_LEAP_DAY = 60  # 29 February 1900, which spreadsheets have and history has not
_MOST_DIGITS = 15
_HUGE = 1e300
_LONGEST = 255  # characters of a format, of which Excel allows no more

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_(?P<wide>.)|\*(?P<fill>.)|\[(?P<bracket>[^\]]*)\]|(?P<general>General)'
    r"|(?P<exponent>E[+-])|(?P<noon>AM/PM|A/P)|(?P<fraction>(?<=[sS])\.0+|(?<=[sS]\])\.0+)|(?P<date>y+|m+|d+|h+|s+|e+|b+|g+|a{3,4})"
    r"|(?P<digit>[0#?])|(?P<mark>[.,%/@;])|(?P<literal>.)",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?[\d.]+(?:E[+-]?\d+)?)$", re.IGNORECASE)
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    **dict(zip(("<", "<=", "<>"), (operator.lt, operator.le, operator.ne), strict=True)),
    **dict(zip((">", ">=", "="), (operator.gt, operator.ge, operator.eq), strict=True)),
}
# Numbers that Python's own formats can show: they round halves to even, so halves are made a little larger.
_PLAIN = re.compile(r"(?:#[#,]*)?0(?:\.0+)?$")
_NUDGE = 1 + 1e-15
_MOST_DATES = 10_000  # that are remembered of each format
_Token = tuple[str, str]
_Show = Callable[[float], str]


class NumberFormat:
    """The format in which cells show their values; see `number_format`.

    Attributes:
        is_general: Whether numbers are shown as they are.
        is_date: Whether a number is a day, and not only a time of a day or a duration.
    """

    def __init__(self, code: str) -> None:
        sections = _sections(code)
        kinds = {value[0].lower() for section in sections for kind, value in section if kind == "date"}
        lasts = any(kind == "bracket" and _is_elapsed(value) for section in sections for kind, value in section)
        self.is_date = not lasts and bool(kinds & set("yeda") or kinds == {"m"})
        self.is_general = [kind for kind, _ in sections[0]] in (["general"], []) and len(sections) == 1
        # The last section is for text if it is the fourth, or shows the text.
        is_text = len(sections) > 3 or (len(sections) > 1 and ("mark", "@") in sections[-1])
        numbers = sections[: min(len(sections) - is_text, 3)]
        self._conditions = [_condition(section) for section in numbers]
        self._is_conditional = any(self._conditions)
        self._shows = [_renderer(section) for section in numbers]

    def number(self, value: float) -> str:
        """Return a number, a date or a time, which are days since 1899-12-30, as a cell shows it."""
        if 0 < value < _HUGE and not self._is_conditional:
            return self._shows[0](value)
        if not math.isfinite(value) or (self.is_date and value < 0):
            return general(value)
        chosen, is_negative = self._section(value)
        if chosen is None:
            return general(value)
        shown = self._shows[chosen](abs(value))
        # A section for negative numbers has its own sign; a number that rounds to zero has none.
        return f"-{shown}" if is_negative and re.search("[1-9]", shown) else shown

    def _section(self, value: float) -> tuple[int | None, bool]:
        """Return the number of a value's section, and whether the value needs a sign there."""
        if self._is_conditional:
            for number, condition in enumerate(self._conditions):
                if condition is None or condition(value):
                    return number, value < 0 and (condition is None or condition(1.0) or condition(0.0))
            return None, False
        if value < 0 and len(self._shows) > 1:
            return 1, False
        return (2 if value == 0 and len(self._shows) > 2 else 0), value < 0


def number_format(code: str) -> NumberFormat:
    """Return the format of a code."""
    return _known(code[:_LONGEST])


_known = lru_cache(4096)(NumberFormat)


def general(value: float) -> str:
    """Return a number without a format, with all its digits."""
    return f"{value:.15G}"


def _sections(code: str) -> list[list[_Token]]:
    sections: list[list[_Token]] = [[]]
    for match in _TOKEN.finditer(code):
        token = (match.lastgroup or "", match[match.lastgroup or 0])
        if token == ("mark", ";"):
            sections.append([])
        else:
            sections[-1].append(token)
    return [_with_units(section) for section in sections]


def _with_units(section: list[_Token]) -> list[_Token]:
    """Return a section in which letters beside digits are units, as in `0.0 kg`, unless they can only mean a date."""
    letters = {value[0].lower() for kind, value in section if kind == "date"}
    if not letters or letters & set("ymdhs") or all(kind != "digit" for kind, _ in section):
        return section
    return [("literal", value) if kind == "date" else (kind, value) for kind, value in section]


def _condition(section: list[_Token]) -> Callable[[float], bool] | None:
    for kind, value in section:
        if kind == "bracket" and (match := _CONDITION.match(value)):
            compare, bound = _COMPARE[match[1]], float(match[2])
            return lambda number: compare(number, bound)
    return None


def _plain(kind: str, value: str) -> str:
    """Return what a token other than a placeholder shows."""
    if kind == "bracket":
        # A currency with its language, such as `[$€-407]`.
        return value[1:].partition("-")[0] if value.startswith("$") else ""
    return {"wide": " ", "fill": ""}.get(kind, value)


def _renderer(section: list[_Token]) -> _Show:
    kinds = {kind for kind, _ in section}
    if "date" in kinds or any(kind == "bracket" and _is_elapsed(value) for kind, value in section):
        return _date_renderer(section)
    if "general" in kinds or ("mark", "@") in section:
        return lambda value: "".join(
            general(value) if kind == "general" or (kind, part) == ("mark", "@") else _plain(kind, part)
            for kind, part in section
        )
    if "digit" not in kinds:
        shown = "".join(_plain(kind, value) for kind, value in section)
        return lambda _: shown
    if ("mark", "/") in section:
        return _fraction_renderer(section)
    return _number_renderer(section)


def _number_renderer(section: list[_Token]) -> _Show:
    """Return what shows decimal numbers: `#,##0.00`, `0%`, `0.0,,`, `0.00E+00`, `000-00-0000`."""
    digits = [place for place, (kind, _) in enumerate(section) if kind == "digit"]
    power = next((place for place, (kind, _) in enumerate(section) if kind == "exponent"), len(section))
    point = next((place for place, token in enumerate(section[:power]) if token == ("mark", ".")), power)
    whole = [place for place in digits if place < point]
    decimals = [place for place in digits if point < place < power]
    after = [place for place in digits if place > power]
    last = max((*whole, *decimals), default=-1)
    commas = [place for place, token in enumerate(section[:power]) if token == ("mark", ",")]
    is_grouped = any(whole and whole[0] < place < whole[-1] for place in commas)
    scale = 2 * section.count(("mark", "%")) - 3 * sum(place > (whole or [last])[-1] and place > 0 for place in commas)
    step = Decimal(1).scaleb(-len(decimals))
    most = sum(section[place][1] == "0" for place in whole)

    kinds = "".join(value for kind, value in section[min(digits) : last + 1] if kind in ("digit", "mark"))
    is_plain = power == len(section) and len(kinds) == last + 1 - min(digits) and bool(_PLAIN.match(kinds))
    head = "".join(_part(token, None, 0) for token in section[: min(digits)])
    tail = "".join(_part(token, None, 0) for token in section[last + 1 :])
    spec, factor, limit = (
        f"{',' * is_grouped}.{len(decimals)}f",
        10.0**scale * _NUDGE,
        10.0 ** (12 - len(decimals) - scale),
    )

    def show(value: float) -> str:
        if is_plain and value < limit:
            return f"{head}{value * factor:{spec}}{tail}"
        number = Decimal(f"{value:.{_MOST_DIGITS}g}").scaleb(scale)
        exponent = 0
        if power < len(section):
            exponent = _exponent(number, len(whole))
            number = number.scaleb(-exponent)
            if round_up(number, step) >= 10 ** max(len(whole), 1):
                exponent += max(len(whole), 1)
                number = number.scaleb(-max(len(whole), 1))
        integer, _, rest = f"{round_up(number, step):f}".partition(".")
        rest = rest.ljust(len(decimals), "0")
        integer = integer.lstrip("0").zfill(most)
        places = _placed(integer, [section[place][1] for place in whole], is_grouped=is_grouped)
        shown = dict(zip(whole, places, strict=True))
        kept = len(rest.rstrip("0"))
        for at, place in enumerate(decimals):
            shown[place] = rest[at] if at < kept or section[place][1] == "0" else " " * (section[place][1] == "?")
        if after:
            needed = _placed(str(abs(exponent)), [section[place][1] for place in after], is_grouped=False)
            shown |= dict(zip(after, needed, strict=True))
        if not whole and integer:
            shown[point] = integer + "."
        return "".join(_part(token, shown.get(place), exponent) for place, token in enumerate(section))

    return show


def round_up(number: Decimal, step: Decimal) -> Decimal:
    """Return a number rounded to a step, halves away from zero; one of more digits than any file has stays."""
    return number.quantize(step, ROUND_HALF_UP) if number.adjusted() < 20 else number


def _part(token: _Token, shown: str | None, exponent: int) -> str:
    kind, value = token
    if shown is not None:
        return shown
    if kind == "exponent":
        return f"E{'-' if exponent < 0 else '+' if value[1] == '+' else ''}"
    return "" if token == ("mark", ",") else _plain(kind, value)


def _exponent(number: Decimal, whole: int) -> int:
    """Return the power of ten of a scientific number with up to so many digits before the point."""
    if not number:
        return 0
    return number.adjusted() // whole * whole if whole > 1 else number.adjusted() + (1 - whole)


def _placed(digits: str, places: list[str], *, is_grouped: bool) -> list[str]:
    """Return what each place shows of an integer; the first one takes the digits that are left over."""
    if not places:
        return []
    padding = {"0": "0", "?": " ", "#": ""}
    count = len(places)
    cells = [padding[place] for place in places[: max(count - len(digits), 0)]]
    rest = count - len(cells)
    first = len(digits) - rest + 1 if rest else 0
    if is_grouped:
        ends = {at for at in range(len(digits) - 1) if (len(digits) - at) % 3 == 1}
        grouped = [digit + "," * (at in ends) for at, digit in enumerate(digits)]
        return [*cells, "".join(grouped[:first]), *grouped[first:]][:count] if rest else cells
    return [*cells, digits[:first], *digits[first:]][:count] if rest else cells


def _fraction_renderer(section: list[_Token]) -> _Show:
    """Return what shows fractions: `# ?/?`, `# ??/16`."""
    bar = section.index(("mark", "/"))
    before = [place for place in range(bar) if section[place][0] == "digit"]
    below = [value for kind, value in section[bar + 1 :] if kind == "digit" or value.isdigit()]
    numerator: list[int] = []
    for place in reversed(before):
        if numerator and numerator[0] != place + 1:
            break
        numerator.insert(0, place)
    has_whole = len(numerator) < len(before)
    stated = "".join(below) if any(value in "123456789" for value in below) else ""
    head = "".join(_plain(*token) for token in section[: before[0] if before else bar] if token[0] != "digit")
    tail = "".join(_plain(*token) for token in section[bar + 1 :] if token[0] != "digit" and not token[1].isdigit())

    def show(value: float) -> str:
        exact = Fraction(Decimal(f"{value:.{_MOST_DIGITS}g}"))
        if stated:
            part = Fraction(math.floor(exact * int(stated) + Fraction(1, 2)), int(stated))
            lower = int(stated)
        else:
            part = exact.limit_denominator(10 ** max(len(below), 1) - 1)
            lower = part.denominator
        whole = part.numerator // part.denominator if has_whole else 0
        upper = (part - whole) * lower
        pieces = [str(whole)] if whole or (has_whole and not upper) else []
        if upper or not has_whole:
            pieces.append(f"{upper}/{lower}")
        return f"{head}{' '.join(pieces)}{tail}"

    return show


def _is_elapsed(bracket: str) -> bool:
    return bool(bracket) and bracket.lower() in ("h" * len(bracket), "m" * len(bracket), "s" * len(bracket))


def _date_renderer(section: list[_Token]) -> _Show:
    """Return what shows dates, times and durations: `yyyy-mm-dd`, `h:mm AM/PM`, `[h]:mm`."""
    tokens = _with_minutes(section)
    has_noon = any(kind == "noon" for kind, _ in tokens)
    is_duration = any(kind == "elapsed" for kind, _ in tokens)
    digits = max((len(value) - 1 for kind, value in tokens if kind == "fraction"), default=0)

    @lru_cache(_MOST_DATES)
    def show(value: float) -> str:
        if value >= (_LONGEST_DURATION if is_duration else _LAST_DAY):
            return general(value)
        ticks = math.floor(value * _DAY * 10**digits + 0.5)
        seconds, fraction = divmod(ticks, 10**digits)
        days, of_day = divmod(seconds, _DAY)
        clock = _Clock(days, of_day, seconds, f"{fraction:0{digits}}" if digits else "", has_noon)
        return "".join(clock.shown(kind, part) for kind, part in tokens)

    return show


def _with_minutes(section: list[_Token]) -> list[_Token]:
    """Return the tokens of a date with its minutes told from its months, and elapsed times from other brackets."""
    tokens = [
        ("elapsed", value.lower()) if kind == "bracket" and _is_elapsed(value) else (kind, value)
        for kind, value in section
    ]
    tokens = [(kind, value.lower() if kind == "date" else value) for kind, value in tokens]
    units = [place for place, (kind, _) in enumerate(tokens) if kind in ("date", "elapsed")]
    for at, place in enumerate(units):
        kind, value = tokens[place]
        before = tokens[units[at - 1]][1][0] if at else ""
        after = tokens[units[at + 1]][1][0] if at + 1 < len(units) else ""
        if kind == "date" and value in ("m", "mm") and (before == "h" or after == "s"):
            tokens[place] = ("minutes", value)
    return tokens


class _Clock:
    """A moment of a spreadsheet."""

    def __init__(self, days: int, of_day: int, seconds: int, fraction: str, has_noon: bool) -> None:
        self._hour, self._minute, self._second = of_day // 3600, of_day // 60 % 60, of_day % 60
        self._total, self._fraction, self._has_noon = seconds, fraction, has_noon
        self._weekday = (days - 1) % 7  # Sunday is 0
        if days == _LEAP_DAY:
            self._year, self._month, self._day = 1900, 2, 29
        elif days == 0:
            self._year, self._month, self._day = 1900, 1, 0
        else:
            start = datetime.date(1899, 12, 31 if days < _LEAP_DAY else 30)
            date = start + datetime.timedelta(days=min(days, _LAST_DAY - 1))
            self._year, self._month, self._day = date.year, date.month, date.day

    def shown(self, kind: str, value: str) -> str:
        """Return what a token shows."""
        match kind:
            case "date":
                return self._part(value)
            case "minutes":
                return f"{self._minute:0{len(value)}}"
            case "elapsed":
                return f"{self._total // {'h': 3600, 'm': 60, 's': 1}[value[0]]:0{len(value)}}"
            case "fraction":
                return "." + self._fraction[: len(value) - 1]
            case "noon":
                half = "AP"[self._hour >= 12] + ("M" if len(value) > 3 else "")
                return half.lower() if value.islower() else half
            case "digit":
                return value if value == "0" else ""
        return _plain(kind, value)

    def _part(self, value: str) -> str:
        long = len(value)
        match value[0]:
            case "y" | "e":
                return f"{self._year % 100:02}" if value[0] == "y" and long < 3 else str(self._year)
            case "b":
                return f"{(self._year + 543) % 100:02}" if long < 3 else str(self._year + 543)
            case "m":
                return _named(_MONTHS[self._month - 1], self._month, long)
            case "g":
                return ""  # the era, of which the year is not counted
            case "d" | "a":
                return _named(_DAYS[self._weekday], self._day, long)
            case "h":
                return _padded((self._hour + 11) % 12 + 1 if self._has_noon else self._hour, long)
        return _padded(self._second, long)


def _named(name: str, number: int, width: int) -> str:
    if width < 3:
        return _padded(number, width)
    return name[:1] if width == 5 else name[:3] if width == 3 else name


def _padded(number: int, width: int) -> str:
    return f"{number:0{min(width, 2)}}"
