"""Files as Documents: Markdown, text, HTML, DOCX and PDF, see `load_file`."""
