"""Vector stores of this package.

Packages:
    faiss: `FaissStore`, the embedded store.
"""
