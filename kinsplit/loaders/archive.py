"""Zip archives of XML, as office files and e-books are; zip bombs and hostile XML are rejected.

Equations of Office files (OMML) become one line of text, close to Unicode's linear format.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator, KeysView
from contextlib import suppress
from typing import Any, NamedTuple

from kinsplit.loaders.content import UnreadableError
from kinsplit.loaders.markup.scripts import bracketed

# Far beyond any lecture or book, but readable on any machine: dense Word XML takes 70 times its size in memory.
_MOST_FILES = 20_000
_MOST_BYTES = 2**26
_PIECE = 2**14  # bytes of XML in which the root is looked for
_PROPERTIES = "docProps/core.xml"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # container of encrypted files, and of the formats before 2007
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
# Files in the strict form of the standard differ in their namespaces only, as far as text goes.
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_TRANSITIONAL = rb"http://schemas.openxmlformats.org/\1/2006/"
_RELATIONSHIP = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"


class BombError(UnreadableError):
    """The archive would unpack to far more data than such files contain."""


class Relation(NamedTuple):
    """A reference from one part of an office file to another."""

    kind: str  # such as "footnotes"
    target: str  # name of the part in the archive, or an address outside of it


class Archive:
    """The files of a zip archive, which should be of a kind such as "Word document".

    A file is also found by its name in other letters or slashes, as some programs refer to it.

    Args:
        data: The archive.
        name: Its kind, for errors.
        most: Maximum number of bytes that are unpacked, besides those of `pieces`.

    Raises:
        UnreadableError: The data is not a zip archive, is encrypted, or contains far too many files.
    """

    def __init__(self, data: bytes, name: str, most: int = _MOST_BYTES) -> None:
        if data.startswith(_OLE):
            if _ENCRYPTED in data:
                raise UnreadableError("has a password. Save a copy without it.")
            raise UnreadableError(f"has the format of before 2007, or is no {name}. Save it in the newer format.")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except MemoryError:
            raise
        except Exception as error:  # zipfile raises exceptions of any kind for a damaged directory
            raise UnreadableError(f"is broken or not a valid {name}: {error}. Open it and save it again.") from error
        self._name, self._most = name, most
        infos = self._zip.infolist()
        self._infos = {info.filename: info for info in infos}
        self._folded = {_folded(info.filename): info for info in infos}
        self._unpacked = 0
        if len(infos) > _MOST_FILES:
            raise BombError(f"holds {len(infos):,} files, as a zip bomb does (at most {_MOST_FILES:,}). Split it.")
        if any(info.flag_bits & 1 for info in infos):
            raise UnreadableError("has a password. Save a copy without it.")

    @property
    def names(self) -> KeysView[str]:
        """Names of all files, in the archive's order."""
        return self._infos.keys()

    def __contains__(self, name: str) -> bool:
        return name in self._infos or _folded(name) in self._folded

    def read(self, name: str) -> bytes:
        """Return a file's bytes.

        Raises:
            BombError: In total, far more data would be unpacked than such archives contain.
            UnreadableError: The file is missing or damaged.
        """
        info = self._info(name)
        # zipfile never unpacks a file to more than its declared size.
        self._unpacked += info.file_size
        if self._unpacked > self._most:
            reason = f"would unpack to more than {self._most:,} bytes without its media, as a zip bomb does"
            raise BombError(f"{reason}. Split it.")
        return b"".join(self.pieces(name, info.file_size))

    def pieces(self, name: str, size: int) -> Iterator[bytes]:
        """Yield a file's bytes in pieces of a size, whatever their number, or raise UnreadableError; see `read`."""
        info = self._info(name)
        try:
            with self._zip.open(info) as opened:
                while piece := opened.read(size):
                    yield piece
        except MemoryError:
            raise
        except Exception as error:  # zipfile raises exceptions of any kind for a damaged file
            raise UnreadableError(f"is broken at {name}: {error}. Open it and save it again.") from error

    def _info(self, name: str) -> zipfile.ZipInfo:
        info = self._infos.get(name) or self._folded.get(_folded(name))
        if info is None:
            raise UnreadableError(f"is not a valid {self._name}: it has no {name}. Open it and save it again.")
        return info

    def xml(self, name: str) -> Any:
        """Return the root of an XML file, or raise UnreadableError if it is missing, damaged or declares entities."""
        data = self.read(name)
        try:
            return parse(_STRICT.sub(_TRANSITIONAL, data))
        except UnreadableError as error:
            raise UnreadableError(f"is broken at {name}: {error}. Open it and save it again.") from error

    def relations(self, name: str = "") -> dict[str, Relation]:
        """Return the relations of a part by their ids; without a name, those of the whole office file."""
        folder, base = posixpath.split(name)
        place = posixpath.join(folder, "_rels", f"{base}.rels")
        found = {}
        for one in self.xml(place).iter(_RELATIONSHIP) if place in self else ():
            target = one.get("Target", "")
            if one.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            found[one.get("Id", "")] = Relation(one.get("Type", "").rpartition("/")[2], target)
        return found

    @property
    def title(self) -> str | None:
        """The title in the properties of an office file."""
        if _PROPERTIES not in self._infos:
            return None
        return (self.xml(_PROPERTIES).findtext("{http://purl.org/dc/elements/1.1/}title") or "").strip() or None


def _folded(name: str) -> str:
    return name.replace("\\", "/").lower()


def parse(data: bytes) -> Any:
    """Return the root of XML, or raise UnreadableError with the reason if it is damaged or declares entities."""
    from xml.etree.ElementTree import ParseError, fromstring

    try:
        _check_entities(data)
        return fromstring(data)  # noqa: S314  # Nothing expands without entities.
    except (ParseError, LookupError, ValueError) as error:
        raise UnreadableError(str(error)) from error


def _check_entities(data: bytes) -> None:
    """Raise UnreadableError if XML declares entities, which could expand to any length."""
    from xml.parsers.expat import ExpatError, ParserCreate

    parser = ParserCreate()
    is_open = True

    def declared(name: str, *_: Any) -> None:
        raise UnreadableError(f"declares the XML entity {name!r}, which kinsplit does not expand. Save it again.")

    def begun(*_: Any) -> None:
        nonlocal is_open
        is_open, parser.StartElementHandler = False, None

    parser.EntityDeclHandler, parser.StartElementHandler = declared, begun
    with suppress(ExpatError):  # ElementTree reports what is damaged.
        # Entities are declared above the root.
        for start in range(0, len(data), _PIECE):
            if not is_open:
                break
            parser.Parse(data[start : start + _PIECE], False)


# Templates of elements; parts longer than a word are put in brackets.
_FORMS = {
    "f": "{num}/{den}",
    "sSup": "{e}^{sup}",
    "sSub": "{e}_{sub}",
    "sSubSup": "{e}_{sub}^{sup}",
    "sPre": "_{sub}^{sup} {e}",
    "limLow": "{e}_{lim}",
    "limUpp": "{e}^{lim}",
}
_PART = re.compile(r"{(\w+)}")


def linear(element: Any) -> str:
    """Return the text of an `m:oMath`, such as `x=(-b±√(b^2-4ac))/2a`."""
    kind = local_name(element)
    if kind == "t":
        return element.text or ""
    if kind in _FORMS:
        return _PART.sub(lambda part: bracketed(_part(element, part[1])), _FORMS[kind])
    match kind:
        case "rad":
            return f"{_part(element, 'deg')}√{bracketed(_part(element, 'e'))}"
        case "func":
            return f"{_part(element, 'fName')} {bracketed(_part(element, 'e'))}"
        case "nary":
            bounds = ((mark, bracketed(_part(element, name))) for mark, name in (("_", "sub"), ("^", "sup")))
            return f"{_property(element, 'chr', '∫')}{''.join(m + b for m, b in bounds if b)} {_part(element, 'e')}"
        case "d":
            inner = _property(element, "sepChr", "|").join(_parts(element, "e"))
            return f"{_property(element, 'begChr', '(')}{inner}{_property(element, 'endChr', ')')}"
        case "acc":
            return _part(element, "e") + _property(element, "chr", "\u0302")
        case "m" | "eqArr":
            return "; ".join(_parts(element, "mr" if kind == "m" else "e"))
        case "mr":
            return ", ".join(_parts(element, "e"))
    return "".join(map(linear, element))


def local_name(element: Any) -> str:
    """Return the name of an XML element without its namespace; Office has two for each."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""  # a comment's tag is a function


def chosen(alternatives: Any) -> Any:
    """Return the form of an `mc:AlternateContent` that Office shows: the first one; the others are for old programs."""
    return next((form for form in alternatives if len(form)), ())


def drawn(element: Any, closed: frozenset[str] = frozenset()) -> Iterator[Any]:
    """Yield the elements of a drawing that Office shows, in order, but not those inside elements of the given names."""
    waiting = list(reversed(element))
    while waiting:
        part = waiting.pop()
        yield part
        if (name := local_name(part)) not in closed:
            waiting += reversed(chosen(part) if name == "AlternateContent" else part)


def _parts(element: Any, name: str) -> list[str]:
    return [linear(child) for child in element if local_name(child) == name]


def _part(element: Any, name: str) -> str:
    return "".join(_parts(element, name))


def _property(element: Any, name: str, default: str) -> str:
    properties = f"{local_name(element)}Pr"
    for own in (own for child in element if local_name(child) == properties for own in child):
        if local_name(own) == name:
            return "".join(own.attrib.values())
    return default
