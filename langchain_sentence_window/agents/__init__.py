"""Tools with which an agent searches and reads an index, and a middleware that makes it cite what it was shown."""
