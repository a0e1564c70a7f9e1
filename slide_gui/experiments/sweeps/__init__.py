"""Computation of many runs: the run loop, sweeps, selection, curves, trials and cluster workers."""
