"""Marked-up files, HTML, DOCX and office files, as Markdown with the spans of their blocks."""
