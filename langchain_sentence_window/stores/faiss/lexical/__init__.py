"""The tantivy index, a cache of the database.

Modules:
    cache: Keeps the index in step with the database.
    index: Adds, removes and searches texts, by row.
    texts: What is indexed for a sentence: its heading path and its text.
"""
