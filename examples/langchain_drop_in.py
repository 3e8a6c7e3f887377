"""Replace a LangChain splitter with one from kinsplit, so that every chunk has its correct offset.

Run: python examples/langchain_drop_in.py
"""

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter, TextSplitter

from kinsplit.integrations.langchain import ChunkKeys, text_splitter

# In short, repetitive text, as in logs, tables and lecture notes, searching for each chunk's text finds wrong offsets.
LESSON = "Run it. Read the error. Run it. Fix it. Run it. Read the error. Run it. Done. " * 5


def words(text: str) -> int:
    """Return the number of words."""
    return len(text.split())


def report(title: str, splitter: TextSplitter) -> None:
    """Split the lesson, and print the offsets, ids and links of the chunks."""
    chunks = splitter.split_documents([Document(id="lesson.md", page_content=LESSON)])
    print(f"{title}: {len(chunks)} chunks")
    print("  start_index ", *(chunk.metadata["start_index"] for chunk in chunks))
    print("  ids         ", *dict.fromkeys(str(chunk.id)[:8] for chunk in chunks))
    print("  neighbours  ", sum("prev_id" in chunk.metadata for chunk in chunks), "chunks have links\n")


# A start_index of -1 means that the text was not found.
report(
    "LangChain, 12 words with 4 shared",
    RecursiveCharacterTextSplitter(
        chunk_size=12, chunk_overlap=4, length_function=words, separators=[". ", " "], add_start_index=True
    ),
)

splitter = text_splitter("sentence", chunk_size=12, chunk_overlap=4, unit="word")
report("kinsplit, 12 words with 4 shared", splitter)

# With these keys `index()` writes only new, changed and moved chunks, and stores them under their own ids.
store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
records = InMemoryRecordManager(namespace="lessons")
records.create_schema()
keys = ChunkKeys(records, store)
for title, text in (("first run", LESSON), ("second run", LESSON), ("new last line", f"{LESSON}Well done!")):
    chunks = splitter.split_documents([Document(id="lesson.md", page_content=text)])
    done = index(chunks, records, store, cleanup="scoped_full", source_id_key="source_id", key_encoder=keys)
    print(f"{title:13} added {done['num_added']:2}, skipped {done['num_skipped']:2}, deleted {done['num_deleted']:2}")
