"""Texts as readers know them: Markdown and code, safe in terminals and in notebooks."""
