"""The files and folders that an index follows."""
