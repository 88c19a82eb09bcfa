"""Windows in a better order."""
