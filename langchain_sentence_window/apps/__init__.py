"""Applications built on the retriever: the command, the page, the MCP server, and indexes that follow folders."""
