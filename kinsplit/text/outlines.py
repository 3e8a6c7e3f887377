"""Outlines of programs: their classes and functions."""

from __future__ import annotations

from kinsplit.spans import Part

#: Length of the longest text that gets an outline, in code points; longer programs are generated.
LARGEST = 2**22


def outline_of(text: str, language: str) -> tuple[Part, ...] | None:
    """Return the classes and functions of a program, outer ones before nested ones.

    Args:
        text: The program.
        language: Its language, as `kinsplit.kinds.CODE` names it.

    Returns:
        The parts; none without a grammar of the language, and None for text that is too long or takes too long.
    """
    if not language:
        return ()
    if len(text) > LARGEST:
        return None
    if language == "python":
        from kinsplit.text.python_code import python_outline

        return python_outline(text)
    from kinsplit.text.grammars import code_outline, has_grammar

    return code_outline(text, language) if has_grammar(language) else ()
