"""Pydantic models of requests and responses, one module per kind of route."""
