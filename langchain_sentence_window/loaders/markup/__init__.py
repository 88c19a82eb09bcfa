"""Light markup and LaTeX as blocks: what a line is by rules of its format, and what in it is no text."""
