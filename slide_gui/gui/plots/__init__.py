"""Plots: pyqtgraph draws them, `set_…()` fills them, signals tell what was done to them."""
