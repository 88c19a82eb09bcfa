"""Quotations of an answer, compared with the sources: which stand there word for word, and where."""
