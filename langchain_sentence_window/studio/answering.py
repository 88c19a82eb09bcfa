"""Answer a question with a chat model, statement by statement."""

from starlette.routing import BaseRoute


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return []
