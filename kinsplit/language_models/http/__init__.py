"""Language models over HTTP."""
