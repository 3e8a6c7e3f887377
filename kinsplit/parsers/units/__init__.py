"""Text -> units: graphemes, words, sentences, blocks."""
