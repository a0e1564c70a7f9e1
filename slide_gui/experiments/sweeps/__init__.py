"""Compute many runs: sweeps with selection by validation error, error curves, quick trials, and cluster workers."""
