"""Native components for both frameworks: splitters, vector stores, retrievers, sibling expansion and reranking.

`llama_index` and `langchain` are both optional. `shared` holds the code that both use, without either framework.
"""
