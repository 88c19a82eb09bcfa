"""Adapters, one for each vector store of LangChain: what the store can do, and how."""
