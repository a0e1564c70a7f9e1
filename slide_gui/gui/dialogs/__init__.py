"""Dialogs for opening data, exporting figures, choosing workers, and changing settings."""
