"""Characters of PDF pages, put into words, lines, columns and headings."""
