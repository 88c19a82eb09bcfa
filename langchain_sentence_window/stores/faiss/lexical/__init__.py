"""The tantivy index, a cache of the database."""
