"""The metadata contract, the parts of a source, and the Documents of sentences and windows."""
