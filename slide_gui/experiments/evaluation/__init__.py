"""The evaluation of classifiers as in the paper: its protocol, its runs and its tables."""
