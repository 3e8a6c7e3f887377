"""Postgres with pgvector."""
