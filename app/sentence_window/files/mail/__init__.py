"""Messages (EML and MSG): their head, their text, and the names of attached files."""
