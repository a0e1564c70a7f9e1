"""Dialogs: opening data, exporting figures, and workers."""
