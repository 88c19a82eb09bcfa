"""The command ``sentence-window``: make an index, ask it, look into it, measure it, serve it."""
