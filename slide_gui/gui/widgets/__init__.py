"""Widgets with setters for their contents and signals for user actions. They import no workspace and no estimator."""
