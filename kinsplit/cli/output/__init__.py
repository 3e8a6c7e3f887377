"""Output of the commands: text, tables, progress bars and JSON."""
