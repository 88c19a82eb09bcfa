"""The documents of the index: list, add and delete them."""

from starlette.routing import BaseRoute


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return []
