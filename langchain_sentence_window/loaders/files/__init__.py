"""Marked-up files, HTML and DOCX, as Markdown with the spans of their blocks."""
