"""Widgets with setters and signals. They import neither the workspace nor an estimator."""
