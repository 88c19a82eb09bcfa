"""Documents from files: PDFs as text with structure."""
