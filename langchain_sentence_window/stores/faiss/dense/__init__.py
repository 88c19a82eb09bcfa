"""The FAISS index, a cache of the database.

Modules:
    dense_cache: Keeps the index in step with the database, and has another one made when that is due.
    dense_index: Makes an index of either kind from the database, in one go or in steps; trains, saves and loads it.
    vector_index: Adds, removes and searches vectors, by row, with FAISS alone.
    quantized: Does so with codes of few bits, whose candidates are compared again.
    fine_vectors: The 6-bit records that they are compared by, in a file.
    faiss_factory: Chooses and creates FAISS indexes by name, sets FAISS's threads, and keeps its arrays of codes.
"""
