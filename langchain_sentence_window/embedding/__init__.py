"""From sentences to vectors, mixed with those of their neighbors."""
