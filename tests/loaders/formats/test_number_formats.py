"""Pairs of formats and texts as Excel shows them in American English."""

from __future__ import annotations

import datetime
import re
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kinsplit.loaders.sheets.number_formats import BUILT_IN, general, number_format

_ACCOUNTS = '_(* #,##0.00_);_(* (#,##0.00);_(* "-"??_);_(@_)'
_PHONE = "[<=9999999]###-####;(###) ###-####"


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        *(("General", 0.1 + 0.2, "0.3"), ("General", 1e21, "1E+21")),
        *(('General" units"', 5, "5 units"), ("@", 12.5, "12.5")),
        # Percentages, currencies, thousands, leading zeros.
        *(("0.0%", 0.075, "7.5%"), ("0%", 0.005, "1%"), ("0.00%", -0.0123, "-1.23%"), ("0.0 %", 0.5, "50.0 %")),
        *(('"$"#,##0.00', 1234.5, "$1,234.50"), ("#,##0.00 [$€-407]", 1234.5, "1,234.50 €"), ("0\\°", 21, "21°")),
        *(("00000", 1234, "01234"), ("0000.00", 12.3, "0012.30")),
        *(("0,000", 5, "0,005"), ("0", 123456789012345, "123456789012345")),
        *(("#,##0", 56701.03, "56,701"), ("#,##0", 1e15, "1,000,000,000,000,000")),
        *(("#,###", 0, ""), (".00", 0.5, ".50")),
        *(('#,##0,"k"', 1500000, "1,500k"), ('0.0,,"M"', 12345678, "12.3M"), ("0.00,", 1234, "1.23")),
        *(("0", 2.5, "3"), ("0", -2.5, "-3"), ("0.00", 1.005, "1.01"), ("0.00", -0.001, "0.00"), ("0.0", 0.25, "0.3")),
        *(("#.##", 5, "5."), ("0.0#", 1.5, "1.5"), ("?0.0", 5, " 5.0"), ("0x0", 5, "0x5")),
        ("000-00-0000", 123456789, "123-45-6789"),
        *((_PHONE, 5551234, "555-1234"), (_PHONE, 5551234567, "(555) 123-4567")),
        # Sections, conditions, colours.
        *(("#,##0.00;(#,##0.00)", -5.5, "(5.50)"), ("[Red]-0.0;[Blue]0.0", 3, "-3.0"), ('0;-0;"zero"', 0, "zero")),
        *((";;;", 5, ""), ("0;-0;;@", 0, "")),
        *(("$#,##0_);[Red]($#,##0)", -1234, "($1,234)"), (_ACCOUNTS, -1.5, " (1.50)")),
        ('[>100]"big";[<0]"neg";0', 500, "big"),
        *(('[>100]"big";[<0]"neg";0', 5, "5"), (_ACCOUNTS, 1234.5, " 1,234.50 ")),
        *(("0.0 kg", 2, "2.0 kg"), ("##\\,##\\,##0", 1234567, "12,34,567"), ('"Yes";"Yes";"No"', 0, "No")),
        *(("0.0;@", -2, "-2.0"), ("0.0;(0.0);@", -2, "(2.0)"), ("0;-0;0;[Red]>@", 3, "3")),
        # Scientific numbers and fractions.
        *(("0.00E+00", 12345, "1.23E+04"), ("0.00E+00", 0.00012, "1.20E-04")),
        *(("0E+00", 99999, "1E+05"), ("0.00E+00", 0, "0.00E+00")),
        *(("##0.0E+0", 12345, "12.3E+3"), ("# ?/?", 0.5, "1/2")),
        *(("# ?/8", 2.3, "2 2/8"), ("?/?", 1.5, "3/2"), ("# ?/?", -1.5, "-1 1/2")),
        # Dates and times.
        *(("yyyy-mm-dd", 46096, "2026-03-15"), ("dd.mm.yyyy", 46096, "15.03.2026"), ("mmm yyyy", 45413, "May 2024")),
        ("m/d/yy", 44927, "1/1/23"),
        *(("d-mmm", 44927, "1-Jan"), ("dddd, mmmm d, yyyy", 44927, "Sunday, January 1, 2023")),
        ('[$-411]ggge"年"', 44927, "2023年"),
        *(('yyyy"年"m"月"d"日"', 44927, "2023年1月1日"), ("[$-F800]dddd\\,\\ mmmm\\ dd", 44927, "Sunday, January 01")),
        ("yyyy-mm-dd hh:mm", 46096.60416666666, "2026-03-15 14:30"),
        *(("hh:mm", 0.6041666666, "14:30"), ("mmmmm", 44927, "J")),
        *(("h:mm AM/PM", 0.75, "6:00 PM"), ("h:mm AM/PM", 0, "12:00 AM"), ("h:mm:ss", 0.9999999999, "0:00:00")),
        ("mm:ss", 330 / 86400, "05:30"),
        *(("mm:ss.0", 65.25 / 86400, "01:05.3"), ("hh:mm:ss.000", 0.5, "12:00:00.000")),
        *(("[h]:mm", 1.25, "30:00"), ("[mm]:ss", 0.1, "144:00"), ("[ss]", 1 / 1440, "60"), ("[h]", 0.5, "12")),
        *(("yyyy-mm-dd", 15, "1900-01-15"), ("yyyy-mm-dd", 60, "1900-02-29"), ("yyyy-mm-dd", 61, "1900-03-01")),
        *(("yyyy-mm-dd", 2958465, "9999-12-31"), ("yyyy-mm-dd", 2958466, "2958466"), ("yyyy-mm-dd", -1, "-1")),
    ],
)  # fmt: skip
def test_numbers_stand_as_excel_shows_them(code: str, value: float, shown: str):
    assert number_format(code).number(value) == shown


@given(st.floats(-1e11, 1e11), st.integers(0, 4))
@example(1.005, 2)
@example(0.285, 2)
@example(-2.5, 0)
def test_decimals_round_halves_away_from_zero(value: float, digits: int):
    code = "0." + "0" * digits if digits else "0"
    exact = Decimal(f"{value:.15g}").quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    shown = number_format(code).number(value)
    assert Decimal(shown) == exact
    assert number_format(f"#,##{code}").number(value).replace(",", "") == shown
    assert number_format(f"{code};({code})").number(value).strip("()") == shown.lstrip("-")


@given(st.datetimes(datetime.datetime(1900, 3, 1), datetime.datetime(9999, 12, 31)))
def test_dates_and_times_stand_as_they_are(moment: datetime.datetime):
    moment = moment.replace(microsecond=0)
    serial = (moment - datetime.datetime(1899, 12, 30)) / datetime.timedelta(days=1)
    assert number_format("yyyy-mm-dd hh:mm:ss").number(serial) == moment.isoformat(" ")


@given(st.text('0#?.,%/@;E+-ymdhsAMP[]"\\_*$>=<1 é', max_size=40), st.floats())
@example("[<" + "9" * 500 + "]0", 1.0)
@example("[h]:mm", 1e308)
@example("0" * 200, 1e308)
@example("?/" + "?" * 200, 0.5)
def test_no_format_fails(code: str, value: float):
    assert isinstance(number_format(code).number(value), str)


@given(st.sampled_from(sorted(BUILT_IN.values())), st.integers(1, 60_000))
def test_every_built_in_format_shows_a_whole_number(code: str, value: int):
    assert re.search(r"\d", number_format(code).number(value))


def test_a_number_without_a_format_keeps_its_digits():
    assert [general(each) for each in (1.0, 1234567890123.0, 1 / 3, 1e-7, -2.5)] == [
        *("1", "1234567890123", "0.333333333333333", "1E-07", "-2.5")
    ]
