"""kinsplit inside the frameworks: splitters, vector stores, retrievers, sibling expansion and reranking.

`llama_index` and `langchain` are both optional and hold what is native to each. What they share is beside them: a
chunk's place and kin as `metadata`, what a framework gives to keep as `records`, its `collection`, and `siblings`.
"""
