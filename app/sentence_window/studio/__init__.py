"""A local page on which people look at an index: ask it, see why, tune it, mark questions, measure, manage documents.

    serve_studio(SentenceWindowRetriever.open("index"))
    app = create_studio(retriever, token="...")      # a Starlette app, to mount elsewhere

The server sends data, and never markup. The page makes elements of it by itself, so no text of a document can become
markup.
"""

from .page_server import create_studio, serve_studio

__all__ = ["create_studio", "serve_studio"]
