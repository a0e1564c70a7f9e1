"""Readers of data files, one module per format; each checks its file before use."""
