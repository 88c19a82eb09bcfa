"""Rerankers of windows."""
