"""Dense and lexical scores, and their fusion."""
