"""Widgets, one per file, with setters and signals; they import neither the workspace nor an estimator."""
