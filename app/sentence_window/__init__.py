"""Search the documents of a folder by sentences: the command, the page, the MCP server and the readers of files."""

__version__ = "1.0.0rc2"
