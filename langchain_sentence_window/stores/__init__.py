"""Stores that this package brings."""
