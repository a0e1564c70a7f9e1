"""Many runs: the loop that computes them, sweeps, selection, curves, trials, and workers of a cluster."""
