"""Reproduction of every figure and table of the paper."""
