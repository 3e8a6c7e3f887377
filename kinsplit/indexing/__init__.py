"""Documents -> store."""
