"""Helpers that know nothing of chunks: settings, paths, literals, warnings, sync and async."""
