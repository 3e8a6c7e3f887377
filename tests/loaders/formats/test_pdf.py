from __future__ import annotations

import threading

import pytest
from reportlab.lib.pdfencrypt import StandardEncryption

from kinsplit.errors import LoadError
from kinsplit.loaders.formats.pdf import read
from tests.loaders.formats.pages import assembled, stream
from tests.loaders.helpers import load_one, pdf


def test_pages_are_one_text_with_a_map(tmp_path):
    path = tmp_path / "slides.pdf"
    path.write_bytes(pdf(["First page", "second line"], ["Page two"], [], ["Page four"], title="My  slides"))

    loaded = load_one(path)
    (document,) = loaded.documents

    assert document.text == "First page\nsecond line\n\nPage two\n\n\n\nPage four"
    assert document.pages == (0, 24, 34, 36)
    assert [document.text[start:].split("\n")[0] for start in document.pages] == [
        "First page",
        "Page two",
        "",
        "Page four",
    ]
    assert document.metadata["title"] == "My slides"
    assert loaded.warnings == ("pages without text, perhaps scanned: 3",)
    assert document.page_range(2, 4) == (1, 1)
    start = document.text.index("line")
    assert document.page_range(start, document.text.index("two")) == (1, 2)


def test_a_chunk_of_each_page_is_on_that_page(tmp_path):
    path = tmp_path / "many.pdf"
    path.write_bytes(pdf(*[[f"This is sheet {number} of many"] for number in range(1, 31)]))

    (document,) = load_one(path).documents

    for number in range(1, 31):
        start = document.text.index(f"sheet {number} of")
        assert document.page_range(start, start + 5) == (number, number)


def test_the_document_decides_which_hyphens_at_line_ends_stay():
    data = pdf(
        ["we say exam-", "ple and lithium-", "ion and top-", "ranked and 15d-", "15(f) and read-", "able"],
        ["an example; lithium-ion cells; the top is ranked; a top place"],
    )

    text = read(data).contents[0].text

    assert text.startswith("we say example and lithium-ion and top-ranked and 15d-15(f) and readable")


def test_what_no_hyphen_breaks_stays_in_two() -> None:
    lines = ["Vor-", "und Nachteile of Jean-", "Pierre and range(n-", "1)"]

    assert read(pdf(lines)).contents[0].text == "Vor-\nund Nachteile of Jean-Pierre and range(n-1)"


def test_code_keeps_its_indentation() -> None:
    code = ["def f(n):", "    if n > 1:", "        return n", "    return 1"]

    assert read(pdf(code)).contents[0].text.split("\n") == code


def test_a_word_that_goes_on_over_a_page_is_on_the_first() -> None:
    content = read(pdf(["An over-", "view of exam-"], ["ples and more", "follows."])).contents[0]

    assert content.text == "An overview of examples\nand more\nfollows."
    assert content.text[content.pages[1] :] == "and more\nfollows."


def test_soft_hyphens_and_word_bullets_become_readable():
    assert "end-test" in read(pdf(["an end\xadtest for loops"])).contents[0].text


@pytest.mark.parametrize("data", [b" ", b"%PDF-1.4\nnonsense", b"not a pdf at all", pdf(["cut off"])[:500]])
def test_a_broken_file_is_named(tmp_path, data):
    path = tmp_path / "broken.pdf"
    path.write_bytes(data)

    with pytest.raises(LoadError, match=r"broken\.pdf: is broken or not a valid PDF"):
        load_one(path)


def test_a_password_is_named_as_the_reason(tmp_path):
    path = tmp_path / "secret.pdf"
    path.write_bytes(pdf(["hidden"], encrypt="secret"))

    with pytest.raises(LoadError, match=r"secret\.pdf: is protected by a password"):
        load_one(path)


def test_a_file_that_opens_without_a_password_is_read():
    assert read(pdf(["open"], encrypt=StandardEncryption("", ownerPassword="own"))).contents[0].text == "open"


def test_a_file_without_any_text_is_an_error(tmp_path):
    path = tmp_path / "scan.pdf"
    path.write_bytes(pdf([], []))

    with pytest.raises(LoadError, match=r"none of its 2 pages holds text.*OCR"):
        load_one(path)


def _raw_pdf(content: bytes, unicode_map: bytes) -> bytes:
    return assembled(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        stream(content),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 6 0 R>>",
        stream(unicode_map),
    )


def test_code_points_beyond_the_basic_plane_and_lone_surrogates(tmp_path):
    path = tmp_path / "maths.pdf"
    unicode_map = (
        b"begincmap 1 begincodespacerange <00> <FF> endcodespacerange "
        b"3 beginbfchar <41> <D835DC34> <42> <D835> <43> <F0B7> endbfchar endcmap"
    )
    path.write_bytes(_raw_pdf(b"BT /F 24 Tf 72 700 Td (C let A be; x B y) Tj ET", unicode_map))

    loaded = load_one(path)

    assert loaded.documents[0].text == "• let 𝐴 be; x \ufffd y"
    assert loaded.warnings == ("NUL characters or lone surrogates were replaced by U+FFFD: 1",)


def test_threads_may_read_at_once():
    files = [pdf(*[[f"file {number} page {page}"] for page in range(20)]) for number in range(4)]
    texts: dict[int, str] = {}

    def work(number: int) -> None:
        texts[number] = read(files[number]).contents[0].text

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all(f"file {number} page 19" in texts[number] for number in range(4))
