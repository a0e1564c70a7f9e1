"""Stored runs in SQLite with a folder of arrays."""
