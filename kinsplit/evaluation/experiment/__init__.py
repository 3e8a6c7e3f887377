"""Experiments: splitters, questions and measures, run and summarised."""
