"""Benchmarks of speed and memory, each figure with a floor or reference of the same run: `python -m tests.bench`."""
