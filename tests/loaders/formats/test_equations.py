from __future__ import annotations

from xml.etree.ElementTree import fromstring

import pytest

from kinsplit.loaders.archive import linear

MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


def r(text: str) -> str:
    return f"<m:r><m:rPr/><m:t>{text}</m:t></m:r>"


def e(text: str) -> str:
    return f"<m:e>{r(text)}</m:e>"


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        (r("E=m") + f"<m:sSup>{e('c')}<m:sup>{r('2')}</m:sup></m:sSup>", "E=mc^2"),
        (f"<m:f><m:num>{r('a+b')}</m:num><m:den>{r('2a')}</m:den></m:f>", "(a+b)/2a"),
        (f"<m:rad><m:deg>{r('3')}</m:deg>{e('x+1')}</m:rad>", "3√(x+1)"),
        (f"<m:sSubSup>{e('x')}<m:sub>{r('i')}</m:sub><m:sup>{r('n+1')}</m:sup></m:sSubSup>", "x_i^(n+1)"),
        (
            f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{r("i=1")}</m:sub><m:sup/>{e("i")}</m:nary>',
            "∑_(i=1) i",
        ),
        (f"<m:nary><m:sub/><m:sup/>{e('f')}</m:nary>", "∫ f"),
        (
            f'<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val=""/></m:dPr>{e("a")}{e("b")}</m:d>',
            "[a|b",
        ),
        (f"<m:func><m:fName>{r('sin')}</m:fName>{e('2x')}</m:func>", "sin 2x"),
        (
            f"<m:m><m:mr>{e('1')}{e('0')}</m:mr><m:mr>{e('0')}{e('1')}</m:mr></m:m>",
            "1, 0; 0, 1",
        ),
        (f"<m:eqArr>{e('x=1')}{e('y=2')}</m:eqArr>", "x=1; y=2"),
        (f"<m:acc>{e('x')}</m:acc>", "x\u0302"),
        (f"<m:limLow>{e('lim')}<m:lim>{r('n→∞')}</m:lim></m:limLow>", "lim_(n→∞)"),
        (f"<!-- by hand --><m:box>{e('unknown')}</m:box><m:r><m:t/></m:r>", "unknown"),
    ],
)
def test_an_equation_is_one_line(inner, text):
    assert linear(fromstring(f"<m:oMath {MATH}>{inner}</m:oMath>")) == text
