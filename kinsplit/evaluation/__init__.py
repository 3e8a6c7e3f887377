"""Questions with labelled spans -> which strategy suits which documents, and how sure that is."""
