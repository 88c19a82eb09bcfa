"""From a query to windows: search, open, read, budget, order, explain."""
