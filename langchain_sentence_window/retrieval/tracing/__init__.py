"""What became of a query, stage by stage."""
