"""A local page on which people look at an index: ask it, see why, tune it, mark questions, measure, manage documents.

    serve_studio(SentenceWindowRetriever.open("index"))
    app = create_studio(retriever, token="...")      # a Starlette app, to mount elsewhere

The server sends data, and never markup. The page makes elements of it by itself, so no text of a document can become
markup. It needs the extra ``studio``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_sentence_window.studio.app import create_studio
    from langchain_sentence_window.studio.serving import serve_studio

__all__ = ["create_studio", "serve_studio"]

_HOMES = {"create_studio": "app", "serve_studio": "serving"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        from langchain_sentence_window.errors import MissingExtraError

        if error.name in ("starlette", "uvicorn"):
            raise MissingExtraError(str(error.name), "studio") from error
        raise


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
