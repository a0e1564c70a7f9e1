"""Benchmarks of speed and memory, each figure with a floor or reference from the same run: `python -m tests.bench`."""
