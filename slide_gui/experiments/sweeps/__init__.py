"""Compute many runs: sweeps, selection by validation error, error curves, trials on own data, and cluster workers."""
