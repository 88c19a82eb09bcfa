"""PDFs as structured text, read with PDFium."""
