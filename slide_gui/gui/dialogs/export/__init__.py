"""The export dialog with its preview."""
