"""Boundaries chosen by a language model: prompts, answers and the fallback."""
