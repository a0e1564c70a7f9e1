"""Reusable widgets, with setters for their contents and signals for user actions.

They import neither the workspace nor the estimators.
"""
