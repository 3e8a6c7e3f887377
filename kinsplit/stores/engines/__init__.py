"""The engines, one package each."""
