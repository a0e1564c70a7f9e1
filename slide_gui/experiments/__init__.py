"""Specifications of runs, their results, and the files that store both."""
