"""The evaluation of the paper: its plan, its runs, its tables."""
