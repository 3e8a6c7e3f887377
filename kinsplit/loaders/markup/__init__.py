"""Readable Markdown from the blocks that readers find, with its headings and metadata."""
