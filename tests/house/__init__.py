"""Checks of the house, which `make check` runs: the package's size and shape, and what the guides say of both."""
