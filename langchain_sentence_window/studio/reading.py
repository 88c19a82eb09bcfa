"""Read a document as it looks: its text in blocks, and the pages of a PDF."""

from starlette.routing import BaseRoute


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return []
