"""What is measured of a retrieval, question by question: one measure per file, one registry."""
