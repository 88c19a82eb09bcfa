"""A local page on which people look at an index: ask it, see why, tune it, mark questions, measure, manage documents.

    serve_studio(SentenceWindowRetriever.open("index"))
    app = create_studio(retriever, token="...")      # a Starlette app, to mount elsewhere

The server sends data, and never markup. The page makes elements of it by itself, so no text of a document can become
markup. It needs the extra ``studio``.
"""

from typing import TYPE_CHECKING

from ._lazy import lazy_names

if TYPE_CHECKING:
    from .apps.studio.page_server import create_studio, serve_studio

__all__ = ["create_studio", "serve_studio"]

__getattr__, __dir__ = lazy_names(
    __name__, {".apps.studio.page_server": __all__}, needs={"starlette": "studio", "uvicorn": "studio"}
)
