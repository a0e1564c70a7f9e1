"""Readers of files, one a format; none trusts its file."""
