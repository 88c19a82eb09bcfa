"""The FAISS index, a cache of the database.

Modules:
    cache: Keeps the index in step with the database, and has another one made when that is due.
    choice: Chooses the index for a number of vectors.
    making: Makes an index from the database, in one go or in steps.
    building: Creates and trains an empty index, and tells when one is due.
    reading: Reads the vectors that are searched, part by part.
    change: Runs a change in the background.
    saved: The files of an index, and the record of them.
    faiss_file: Files in FAISS's own format.
    index: Adds, removes and searches vectors, by row, with FAISS alone.
    quantized: Does so with codes of few bits, whose candidates are compared again.
    fine_vectors: The 6-bit records that they are compared by, in a file.
    records: What a record is, and its checksum.
    row_positions: The position of each row.
    row_stretches: The row at each position.
    at_state: An index with its state of the database, as searches use it.
    exact_vectors: Compares with the vectors of the database.
    comparing: Compares several vectors with all of an index.
    code_buffer: Holds the codes of an index that is an array, in memory of our own.
    growable_array: An array with room to grow.
    factory: Creates FAISS indexes by name, and sets FAISS's threads.
"""
