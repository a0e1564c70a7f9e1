"""The export dialog, and what it does."""
