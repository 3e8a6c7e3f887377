"""Text -> units: graphemes, words, sentences and blocks."""
