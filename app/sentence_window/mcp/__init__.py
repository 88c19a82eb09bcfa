"""An MCP server over an index.

serve_mcp(create_mcp_server(SentenceWindowRetriever.open("index")))
"""

from .server import create_mcp_server, serve_mcp

__all__ = ["create_mcp_server", "serve_mcp"]
