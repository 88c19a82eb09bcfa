"""Checks of everything that an index holds, which list what is wrong.

Contents:
    result: `CheckResult`.
    whole: All checks, of an index on disk or in memory.
    sentences: Each document's sentences, complete and in order.
    vectors: The saved FAISS index against the database.
    words: The lexical index against the database.
"""
