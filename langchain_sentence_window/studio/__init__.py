"""A local page on which people look at an index: ask it, see why, tune it, mark questions, measure, manage documents.

    serve_studio(SentenceWindowRetriever.open("index"))
    app = create_studio(retriever, token="...")      # a Starlette app, to mount elsewhere

The server sends data, and never markup. The page makes elements of it by itself, so no text of a document can become
markup. It needs the extra ``studio``.
"""

from typing import TYPE_CHECKING

from langchain_sentence_window._lazy import lazy_names

if TYPE_CHECKING:
    from langchain_sentence_window.studio.app import create_studio
    from langchain_sentence_window.studio.serving import serve_studio

__all__ = ["create_studio", "serve_studio"]

_HOMES = {"create_studio": "app", "serve_studio": "serving"}

__getattr__, __dir__ = lazy_names(__name__, _HOMES, needs={"starlette": "studio", "uvicorn": "studio"})
