"""The data of charts that no library of the tests can draw."""

from __future__ import annotations

import pytest

from kinsplit.loaders.content import UnreadableError
from kinsplit.loaders.markup.writer import MarkdownWriter
from kinsplit.loaders.office.drawings import write_chart

_C = "http://schemas.openxmlformats.org/drawingml/2006/chart"
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"


def points(*values: str) -> str:
    return "".join(f'<c:pt idx="{i}"><c:v>{value}</c:v></c:pt>' for i, value in enumerate(values) if value)


def title(text: str) -> str:
    return f"<c:title><c:tx><c:rich><a:p><a:r><a:t>{text}</a:t></a:r></a:p></c:rich></c:tx></c:title>"


def numbers(code: str, *values: str) -> str:
    cache = f"<c:numCache><c:formatCode>{code}</c:formatCode>{points(*values)}</c:numCache>"
    return f"<c:val><c:numRef>{cache}</c:numRef></c:val>"


def strings(*values: str) -> str:
    return f"<c:strRef><c:strCache>{points(*values)}</c:strCache></c:strRef>"


def chart(inner: str) -> bytes:
    return f'<c:chartSpace xmlns:c="{_C}" xmlns:a="{_A}"><c:chart>{inner}</c:chart></c:chartSpace>'.encode()


def chart_text(data: bytes) -> str:
    writer = MarkdownWriter()
    has_text = write_chart(writer, data)
    text = writer.finish()
    assert has_text == bool(text)
    return text


def cells(data: bytes) -> list[list[str]]:
    """Return the cells of a chart's table without its rule."""
    lines = chart_text(data).split("\n\n")[-1].splitlines()
    return [line.strip("| ").split(" | ") for number, line in enumerate(lines) if number != 1]


def test_titles_of_the_chart_and_its_axes_go_before_the_table():
    value = numbers("General", "0.30000000000000004")
    series = f"<c:ser><c:tx><c:v>s</c:v></c:tx><c:cat>{strings('a')}</c:cat>{value}</c:ser>"
    axes = f"<c:catAx>{title('Year')}</c:catAx><c:valAx>{title('Million USD')}</c:valAx>"

    text = chart_text(
        chart(f"{title('# Sales')}<c:plotArea><c:surfaceChart>{series}</c:surfaceChart>{axes}</c:plotArea>")
    )

    assert text.split("\n\n")[:2] == ["\\# Sales", "Year; Million USD"]
    assert "0.3 |" in text


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        ("0.0%", "0.07", "7.0%"),
        ("yyyy\\-mm\\-dd", "43831", "2020-01-01"),
        ("Standard", "5", "5"),
        ('0 "days"', "5", "5 days"),
        ("[Red]0", "1e3", "1000"),
        ("[h]:mm", "1.25", "30:00"),
        ("#,##0", "1234567", "1,234,567"),
        ("yy", "1e99", "1E+99"),
        ("0", "#N/A", "#N/A"),
    ],
)
def test_numbers_are_written_as_they_are_shown(code: str, value: str, shown: str):
    series = f"<c:ser><c:tx><c:v>s</c:v></c:tx><c:cat>{strings('a')}</c:cat>{numbers(code, value)}</c:ser>"

    assert cells(chart(series)) == [["s"], ["a", shown]]


def test_an_outer_level_of_categories_names_every_point_below_it():
    levels = f"<c:lvl>{points('Q1', 'Q2', 'Q1')}</c:lvl><c:lvl>{points('2023', '', '2024')}</c:lvl>"
    series = (
        f"<c:ser><c:tx><c:v>s</c:v></c:tx><c:cat><c:multiLvlStrRef><c:multiLvlStrCache>{levels}</c:multiLvlStrCache>"
        f"</c:multiLvlStrRef></c:cat>{numbers('0', '1', '2', '3')}</c:ser>"
    )

    assert cells(chart(series))[1:] == [["2023 Q1", "1"], ["2023 Q2", "2"], ["2024 Q1", "3"]]


def test_a_waterfall_is_a_table_too():
    levels = "<cx:lvl><cx:pt idx='0'>Start</cx:pt><cx:pt idx='1'>Loss</cx:pt></cx:lvl>"
    values = "<cx:lvl formatCode='General'><cx:pt idx='0'>10</cx:pt><cx:pt idx='1'>-3</cx:pt></cx:lvl>"
    name = "<cx:tx><cx:txData><cx:v>Cash</cx:v></cx:txData></cx:tx>"
    data = (
        "<cx:chartSpace xmlns:cx='http://schemas.microsoft.com/office/drawing/2014/chartex'><cx:chartData>"
        f"<cx:data id='0'><cx:strDim>{levels}</cx:strDim><cx:numDim>{values}</cx:numDim></cx:data></cx:chartData>"
        f"<cx:chart><cx:title>{name}</cx:title><cx:series>{name}</cx:series></cx:chart></cx:chartSpace>"
    )

    assert chart_text(data.encode()) == "Cash\n\n|  | Cash |\n| --- | --- |\n| Start | 10 |\n| Loss | -3 |"


@pytest.mark.parametrize("inner", ["", "<c:ser/>", "<c:ser><c:cat/><c:val/></c:ser>", "<c:ser><c:yVal/></c:ser>"])
def test_a_chart_without_data_has_no_text(inner: str):
    assert chart_text(chart(inner)) == ""


def test_a_damaged_chart_is_told():
    with pytest.raises(UnreadableError):
        chart_text(b"<c:chart")
