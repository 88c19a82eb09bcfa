"""From sentences to vectors, in context."""
