"""Data sets: what they are, where they come from, and readers that trust no file."""
