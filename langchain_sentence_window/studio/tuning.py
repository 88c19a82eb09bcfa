"""The settings of a call, as a form has them."""

from starlette.routing import BaseRoute


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return []
