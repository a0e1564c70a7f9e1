"""Specifications and results of runs (trainings and tests of a classifier), and the files that store them."""
