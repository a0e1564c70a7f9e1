"""The evaluation of classifiers as in the paper: its protocol, runs and result tables."""
