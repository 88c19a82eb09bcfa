"""Stores of other packages, and what they lack."""
