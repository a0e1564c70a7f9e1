"""Data sets: their class, their sources, and readers that check every file."""
