"""Evaluate classifiers as in the paper: the protocol of the evaluation, its runs and its result tables."""
