"""An MCP server over an index: what its tools take, what they return, how they read, and how they are served."""
