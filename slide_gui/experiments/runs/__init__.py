"""Specify, compute and evaluate a single run, which trains and tests one classifier."""
