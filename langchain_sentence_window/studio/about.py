"""The facts shown in the head of the page: its index, its settings, and what it can do."""

from importlib import import_module

from starlette.routing import BaseRoute

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window.studio.replies import Arguments, reading
from langchain_sentence_window.studio.state import Studio


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [reading("/api/about", Arguments, about)]


async def about(studio: Studio, _: Arguments) -> object:
    """Return what the page shows in its head, and which of its parts there are."""
    documents = await studio.documents()
    return {
        "version": import_module("langchain_sentence_window").__version__,
        "index": await ASYNC.in_thread(repr, studio.retriever.vectorstore),
        "documents": len(documents),
        "sentences": sum(each.sentences for each in documents),
        "is_read_only": studio.is_read_only,
        "can_answer": studio.chat_model is not None,
    }
