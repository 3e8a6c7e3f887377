"""Experiments: strategies on one dataset, run and summarised."""
