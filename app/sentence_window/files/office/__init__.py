"""Office files, e-books, notebooks and JSON, converted to HTML and read as such."""
