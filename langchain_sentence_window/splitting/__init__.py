"""From a text to the spans of its sentences."""
