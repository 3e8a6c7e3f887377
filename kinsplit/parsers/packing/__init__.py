"""Units -> chunks: measure, group, refine."""
