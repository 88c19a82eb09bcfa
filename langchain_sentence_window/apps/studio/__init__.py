"""The page on which people look at an index. The server sends data, and never markup."""
