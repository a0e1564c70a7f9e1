"""Many runs: sweeps, selection, curves, trials, and workers of a cluster."""
