"""The order of what a search found: dense and lexical scores fused, signals, relevance, names of documents."""
