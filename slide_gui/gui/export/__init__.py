"""The export dialog and its controller."""
