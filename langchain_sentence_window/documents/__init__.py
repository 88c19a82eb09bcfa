"""The metadata contract: its keys, and the Documents that carry them."""
