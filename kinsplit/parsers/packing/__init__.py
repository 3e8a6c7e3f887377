"""Units -> chunks within a size limit."""
