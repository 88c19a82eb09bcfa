"""From a text to its sentences, each at its place."""
