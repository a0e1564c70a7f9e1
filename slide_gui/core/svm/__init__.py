"""The multi-width support vector machine: kernel, solvers, and selection of widths and C."""
