"""The strategies, one per module."""
