"""HTML pages as Markdown, without navigation and boilerplate."""
