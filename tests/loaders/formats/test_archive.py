"""Archives that are broken, locked or made to do harm, through every loader that opens one."""

from __future__ import annotations

import io
import tracemalloc
import zipfile

import pytest

from kinsplit.loaders import load
from kinsplit.loaders.archive import Archive
from kinsplit.loaders.content import UnreadableError
from kinsplit.loaders.registry import FORMATS
from tests.loaders.office import changed, document, epub, presentation, saved, zipped

_LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "ha"}">' for n in range(10))
_BOMB = f'<?xml version="1.0"?><!DOCTYPE x [{_LAUGHS}]><x>&l9;</x>'
_FILE = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'

GOOD = {
    ".docx": saved(document()),
    ".pptx": saved(presentation("One")),
    ".epub": epub({"a.xhtml": "<p>Text</p>"}, ["a.xhtml"]),
}
_MAIN = {".docx": "word/document.xml", ".pptx": "ppt/slides/slide1.xml", ".epub": "book/content.opf"}
READ = {suffix: fmt.read for fmt in FORMATS for suffix in fmt.suffixes}


@pytest.mark.parametrize("suffix", GOOD)
@pytest.mark.parametrize("attack", [_BOMB, _FILE, _BOMB.encode("utf-16")], ids=["laughs", "file", "utf-16"])
def test_entities_are_refused(suffix, attack):
    with pytest.raises(UnreadableError, match=r"Forbidden|entit"):
        READ[suffix](changed(GOOD[suffix], {_MAIN[suffix]: attack}))


def memory(suffix: str, data: bytes) -> int:
    """Return how many bytes were in use at once while an archive was refused as a bomb."""
    tracemalloc.start()
    with pytest.raises(UnreadableError, match="as a zip bomb does"):
        READ[suffix](data)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


@pytest.mark.parametrize("suffix", GOOD)
def test_a_zip_bomb_is_refused_before_it_is_unpacked(suffix):
    bomb = changed(GOOD[suffix], {_MAIN[suffix]: bytes(2**26)})

    assert len(bomb) < 2**19
    assert memory(suffix, bomb) < 2**23


def test_a_bomb_in_a_chapter_refuses_the_book_whatever_the_chapter_is_called():
    bomb = epub({"a.xhtml": "<p>a</p>", "b.png": " " * 2**26}, ["a.xhtml", "b.png"])

    assert memory(".epub", bomb) < 2**23


def test_an_archive_of_very_many_files_is_refused():
    crowd = changed(GOOD[".docx"], {f"media/{n}.png": "" for n in range(20_000)})
    for suffix in GOOD:  # Nothing of an archive is looked at before its files are counted.
        with pytest.raises(UnreadableError, match=r"20,0.. files, as a zip bomb does"):
            READ[suffix](crowd)


@pytest.mark.parametrize("suffix", [".docx", ".pptx"])
def test_media_are_never_unpacked(suffix):
    harmless = changed(GOOD[suffix], {"media/film.mp4": bytes(2**26 + 1), "media/drawing.svg": _BOMB})

    assert READ[suffix](harmless).contents


@pytest.mark.parametrize("suffix", [".docx", ".pptx"])
def test_a_part_is_what_its_relation_says_whatever_it_is_called(suffix):
    place = {".docx": "_rels/.rels", ".pptx": "ppt/_rels/presentation.xml.rels"}[suffix]
    with zipfile.ZipFile(io.BytesIO(GOOD[suffix])) as archive:
        relations, main = archive.read(place), archive.read(_MAIN[suffix])
    renamed = relations.replace(_MAIN[suffix].removeprefix("ppt/").encode(), b"/media/hidden.png")
    assert renamed != relations

    assert READ[suffix](changed(GOOD[suffix], {place: renamed, "media/hidden.png": main})).contents
    with pytest.raises(UnreadableError, match=r"Forbidden|entit"):
        READ[suffix](changed(GOOD[suffix], {place: renamed, "media/hidden.png": _BOMB}))


@pytest.mark.parametrize("suffix", GOOD)
def test_names_that_point_elsewhere_are_only_names(suffix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = changed(GOOD[suffix], {"../../outside.xml": "<a/>", "/etc/passwd.xml": "<a/>", "..\\windows.xml": "<a/>"})

    assert READ[suffix](data).contents
    assert list(tmp_path.iterdir()) == []


def test_a_book_whose_chapters_point_outside_has_none():
    reading = READ[".epub"](epub({"a.xhtml": "<p>a</p>", "../../../etc/passwd": "<p>b</p>"}, ["a.xhtml"]))
    assert reading.contents[0].text == "a"

    reading = READ[".epub"](
        epub({"a.xhtml": "<p>a</p>", "../../../../etc/hostname": ""}, ["a.xhtml", "../../../../etc/hostname"])
    )
    assert reading.contents[0].text == "a"
    assert reading.warnings == ("has no ../../../etc/hostname, one of its chapters",)


@pytest.mark.parametrize("suffix", GOOD)
@pytest.mark.parametrize(
    "damage",
    [
        lambda data, main: b"",
        lambda data, main: data[: len(data) // 2],
        lambda data, main: zipped({"a.txt": "a"}),
        lambda data, main: changed(data, {main: "<broken"}),
        lambda data, main: changed(data, {main: "<x/>"}),
        lambda data, main: changed(data, {main: "<x>" * 50_000 + "</x>" * 50_000}),
        lambda data, main: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
    ],
    ids=["empty", "cut", "other", "unclosed", "unknown", "deep", "ole"],
)
def test_what_is_damaged_is_one_clear_error(suffix, damage):
    with pytest.raises(UnreadableError) as caught:
        READ[suffix](damage(GOOD[suffix], _MAIN[suffix]))

    assert str(caught.value).endswith(".")


def test_an_encrypted_archive_says_so():
    data = bytearray(zipped({"a.xml": "<a/>"}))
    data[6] |= 1  # the flag in the local header, and in the directory
    data[data.index(b"PK\x01\x02") + 8] |= 1

    with pytest.raises(UnreadableError, match="has a password"):
        Archive(bytes(data), "Word document")


def test_damage_inside_is_named():
    data = bytearray(zipped({"a.xml": "<a>" + "some text that is stored " * 20 + "</a>"}))
    data[50] ^= 0xFF

    with pytest.raises(UnreadableError, match=r"is broken at a\.xml"):
        Archive(bytes(data), "Word document").read("a.xml")


def test_an_encrypted_office_file_says_so():
    container = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)

    with pytest.raises(UnreadableError, match="has a password"):
        Archive(container + "EncryptedPackage".encode("utf-16-le"), "Word document")
    with pytest.raises(UnreadableError, match="has the format of before 2007, or is no Word document"):
        Archive(container, "Word document")


@pytest.mark.parametrize("lost", range(1, 60, 7))
def test_an_archive_without_its_beginning_is_one_clear_error(lost):
    archive = Archive(GOOD[".docx"][lost:], "Word document")

    with pytest.raises(UnreadableError, match="is broken at"):
        archive.read(next(iter(archive.names)))


def test_the_other_files_of_a_folder_go_on(tmp_path):
    (tmp_path / "a.docx").write_bytes(b"nonsense")
    (tmp_path / "b.pptx").write_bytes(GOOD[".pptx"])
    (tmp_path / "c.epub").write_bytes(changed(GOOD[".epub"], {_MAIN[".epub"]: _BOMB}))

    loaded = list(load(tmp_path))

    assert [one.error is None for one in loaded] == [False, True, False]
    assert "a.docx" in str(loaded[0].error)
