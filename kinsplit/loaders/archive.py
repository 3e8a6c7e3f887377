"""Office files and e-books are zip archives of XML: opened here, where bombs and hostile XML are refused."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from kinsplit.loaders.content import UnreadableError

# Far beyond any lecture or book, and little enough to be read on any machine.
_MOST_FILES = 20_000
_MOST_BYTES = 2**30
_MOST_XML = 2**27
_XML = frozenset({".xml", ".rels", ".opf", ".ncx", ".xhtml", ".html", ".htm"})
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # what office programs wrap an encrypted file in, and wrote before 2007


class Archive:
    """The files of a zip archive.

    Args:
        data: The archive.
        name: What it should be, such as "Word document".

    Raises:
        UnreadableError: It is no zip archive, is encrypted, or would unpack to far more than such files hold.
    """

    def __init__(self, data: bytes, name: str) -> None:
        if data.startswith(_OLE):
            raise UnreadableError("has a password, or the format of before 2007. Save a copy without either.")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise UnreadableError(f"is broken or no {name}: {error}. Open it and save it again.") from error
        self._name = name
        self._infos = {info.filename: info for info in self._zip.infolist()}
        self._check()

    def _check(self) -> None:
        # What a file unpacks to is never more than it claims: zipfile stops there.
        infos = self._zip.infolist()
        size = sum(info.file_size for info in infos)
        xml = sum(info.file_size for info in infos if PurePosixPath(info.filename).suffix.lower() in _XML)
        if len(infos) > _MOST_FILES or size > _MOST_BYTES or xml > _MOST_XML:
            raise UnreadableError(
                f"would unpack to {len(infos):,} files of {size:,} bytes, {xml:,} of them XML, as a zip bomb does. "
                f"At most {_MOST_FILES:,}, {_MOST_BYTES:,} and {_MOST_XML:,} are read. Split it."
            )
        if any(info.flag_bits & 1 for info in infos):
            raise UnreadableError("has a password. Save a copy without it.")

    @property
    def names(self) -> Sequence[str]:
        """The names of all files, in the archive's order."""
        return list(self._infos)

    def read(self, name: str) -> bytes:
        """Return a file's bytes.

        Raises:
            UnreadableError: It isn't there, or is damaged.
        """
        try:
            return self._zip.read(self._infos[name])
        except KeyError as error:
            raise UnreadableError(f"is no {self._name}: it has no {name}. Open it and save it again.") from error
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
            raise UnreadableError(f"is broken at {name}: {error}. Open it and save it again.") from error

    def xml(self, name: str) -> Any:
        """Return the root element of an XML file.

        Raises:
            UnreadableError: It isn't there, is damaged, or declares entities.
        """
        from defusedxml import DefusedXmlException
        from defusedxml.ElementTree import ParseError, fromstring

        try:
            return fromstring(self.read(name))
        except (ParseError, LookupError, ValueError, DefusedXmlException) as error:
            raise UnreadableError(f"is broken at {name}: {error}. Open it and save it again.") from error

    def check_xml(self) -> None:
        """Make sure that no XML file has a document type, by which a parser is attacked and which Office never writes.

        Raises:
            UnreadableError: One has, or a file is damaged.
        """
        for name in self.names:
            if PurePosixPath(name).suffix.lower() in _XML:
                data = self.read(name)
                # In UTF-16 every other byte is zero.
                if b"<!DOCTYPE" in data.replace(b"\0", b""):
                    raise UnreadableError(f"declares a document type in {name}, which no office program does.")
