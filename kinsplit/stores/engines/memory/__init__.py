"""The exact engine in memory."""
