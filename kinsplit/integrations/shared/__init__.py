"""The parts that both framework adapters use."""
