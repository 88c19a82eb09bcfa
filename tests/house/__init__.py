"""Checks that `make check` runs: size and imports of both packages, and that docs and workflows agree with the code."""
