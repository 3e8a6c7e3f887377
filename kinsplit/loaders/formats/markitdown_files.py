"""Files read by `markitdown`, which also knows Outlook mails (`.msg`) and feeds (`.rss`, `.atom`).

Its converter of the suffix is called directly: `markitdown` itself would read a broken file as plain text.
"""

from __future__ import annotations

import io
from functools import partial

from kinsplit.loaders.content import Format, Reading, UnreadableError
from kinsplit.loaders.formats.markdown import markdown_content
from kinsplit.support.extras import needs

# File types and converters by suffix.
_CONVERTERS = {
    ".msg": ("mail", "OutlookMsgConverter"),
    ".rss": ("feed", "RssConverter"),
    ".atom": ("feed", "RssConverter"),
    ".pdf": ("pdf", "PdfConverter"),
    ".docx": ("word", "DocxConverter"),
    ".pptx": ("slides", "PptxConverter"),
    ".xlsx": ("spreadsheet", "XlsxConverter"),
    ".xls": ("spreadsheet", "XlsConverter"),
    ".csv": ("table", "CsvConverter"),
    ".html": ("html", "HtmlConverter"),
    ".htm": ("html", "HtmlConverter"),
    ".epub": ("epub", "EpubConverter"),
    ".ipynb": ("notebook", "IpynbConverter"),
}


def read(data: bytes, suffix: str) -> Reading:
    """Return the Markdown that `markitdown` makes of a file.

    Args:
        data: The file.
        suffix: Its suffix, with the dot.
    """
    with needs("markitdown"):
        from markitdown import MissingDependencyException, StreamInfo, converters

    converter = getattr(converters, _CONVERTERS[suffix][1])()
    try:
        result = converter.convert(io.BytesIO(data), StreamInfo(extension=suffix))
    except MissingDependencyException as error:
        raise UnreadableError(f'needs a part of markitdown. Run: pip install "markitdown[{suffix[1:]}]"') from error
    except MemoryError:
        raise
    except Exception as error:  # each converter raises those of its libraries
        raise UnreadableError(f"can't be read by markitdown: {error!r}. Open it and save it again.") from error
    return Reading((markdown_content(result.markdown, result.title),))


FORMATS = tuple(
    Format(name, (suffix,), "what markitdown makes of it", partial(read, suffix=suffix))
    for suffix, (name, _) in _CONVERTERS.items()
)
