"""Store runs in an SQLite database and a folder of array files."""
