"""The store of runs: an SQLite database and a folder of arrays."""
