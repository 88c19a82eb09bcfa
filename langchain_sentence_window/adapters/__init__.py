"""Adapters, one for each vector store of LangChain: what the store can do, and how.

`StoreAdapter` suits stores that follow LangChain's interface. `register` adds the adapter of a store that differs.
"""

from langchain_sentence_window._io import IO

from .registry import adapter_of, register
from .store_adapter import StoreAdapter

__all__ = ["IO", "StoreAdapter", "adapter_of", "register"]
