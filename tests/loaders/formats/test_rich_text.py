from __future__ import annotations

import pytest

from kinsplit.loaders.content import UnreadableError
from kinsplit.loaders.formats.plain import read_rich_text


@pytest.fixture(autouse=True)
def _library() -> None:
    pytest.importorskip("striprtf")


def test_paragraphs_are_read_without_their_formatting():
    data = rb"{\rtf1\ansi\ansicpg1251{\fonttbl{\f0 Arial;}}\f0 Plain \b bold\b0\par \'cf\'f0 \u1055?\par # no heading}"

    assert read_rich_text(data).contents[0].text == "Plain bold\n\nПр П\n\n\\# no heading"


def test_what_is_no_rich_text_is_told():
    with pytest.raises(UnreadableError, match="not a valid RTF file"):
        read_rich_text(b"plain")
