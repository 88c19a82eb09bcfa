"""Bulk loaders: how single vector stores take many sentences at once, with vectors that were made elsewhere."""
