"""Questions with gold spans: make, change, import and export them."""

from starlette.routing import BaseRoute


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return []
