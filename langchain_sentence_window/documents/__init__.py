"""The metadata contract, and nothing else that knows its keys."""
