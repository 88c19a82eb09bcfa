"""The SQLite database: what is in it, how it is read, written, opened, restored and checked."""
