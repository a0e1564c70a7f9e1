"""Reusable widgets, with setters for their contents and signals for user actions.

Their modules import neither the workspace nor the estimators.
"""
