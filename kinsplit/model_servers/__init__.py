"""Connections to servers of models, through OpenAI's client."""
