"""Plots drawn by pyqtgraph, with setters for data and signals for user actions."""
