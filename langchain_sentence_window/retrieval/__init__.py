"""From a query to windows: search, expand, read, rerank, fit the budget, order, explain."""
