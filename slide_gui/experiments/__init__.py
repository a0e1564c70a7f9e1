"""Specify, compute and store runs. In a run, a classifier is trained and tested."""
