"""Backends that run a transformer model, and the conversion between them."""
