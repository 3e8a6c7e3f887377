"""The strategies inside the frameworks: `llama_index` node parsers and `langchain` text splitters.

Both are optional. What they share, the place and the kin of a chunk as metadata, is in `metadata`.
"""
