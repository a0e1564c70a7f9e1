"""Compute many runs in this process or on a cluster: sweeps with selection, error curves and quick trials."""
