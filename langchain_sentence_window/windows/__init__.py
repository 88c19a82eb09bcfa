"""Windows: their geometry as integer arithmetic, and the tuned rules of how far hits expand."""
