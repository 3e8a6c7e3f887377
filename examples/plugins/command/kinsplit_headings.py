"""`kinsplit headings PATH...`: the headings of files, as kinsplit reads them."""

from pathlib import Path

from kinsplit.cli.output.terminal import Terminal


def headings(paths: list[Path], *, terminal: Terminal) -> None:
    """List the headings of files.

    Args:
        paths (PATH...): Files and folders.
    """
    from kinsplit.loaders import load  # Imported here, so that the help of all commands stays fast.
    from kinsplit.text.blocks import markdown_headings

    for path in paths:
        for document in (document for loaded in load(path) for document in loaded.documents):
            found = [heading.title for heading in document.headings or markdown_headings(document.text)]
            if terminal.as_json:
                terminal.row({"source_id": document.id, "headings": found})
            else:
                terminal.line(document.id)
                for heading in found:
                    terminal.line(f"  {heading}")
