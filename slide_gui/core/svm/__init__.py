"""The multi-width support vector machine: its kernel, its solvers, and how widths and C are found."""
