"""What `make check` asks of the repository besides style, types and imports."""
