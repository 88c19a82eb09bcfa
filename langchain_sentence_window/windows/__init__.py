"""Windows as integer arithmetic: expand, merge, shrink; and how far `auto` expands."""
