"""Work on anybody's documents, in processes whose time and memory are limited.

`previews` cuts texts as a strategy does; `viewer` says how a document can be shown, and has its texts rendered as safe
HTML (`excerpts`) and the pages of its file drawn (`pdf_page`) by the processes of `renderer`.
"""
