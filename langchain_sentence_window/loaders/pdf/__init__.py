"""PDFs as text with structure, on PDFium: characters, lines, columns, blocks, pages, files."""
