"""Traces: every stage of a query, for finding out why an answer wasn't found."""
