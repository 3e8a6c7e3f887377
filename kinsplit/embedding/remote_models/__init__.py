"""Embedders whose models run on servers."""
