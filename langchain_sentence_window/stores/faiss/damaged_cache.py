"""Caches whose files aren't as they were written: they are built again from the database."""


def is_intact(found: object, recorded: object) -> bool:
    """Return whether the seals of a cache's files are those that were recorded when it was written.

    If they aren't, or nothing was recorded, the cache that asks is dropped and built again. No search notices.
    """
    return bool(recorded) and found == recorded
