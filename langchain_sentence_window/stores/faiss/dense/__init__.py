"""The FAISS index, a cache of the database.

Modules:
    cache: Keeps the index in step with the database; loads and saves its file.
    index: Adds, removes and searches vectors, by row.
    code_buffer: Holds the vectors of a flat index in memory of our own, where they can be removed in place.
    factory: Creates FAISS indexes by name, and sets FAISS's threads.
"""
