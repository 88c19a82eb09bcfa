"""The quotations of an answer, compared with its sources: which are there word for word, and where."""
