"""The page, served to a browser from a thread of the test."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import uvicorn

from langchain_sentence_window import SentenceWindowRetriever
from sentence_window.studio import create_studio


@dataclass(frozen=True)
class Served:
    """A page that is served.

    Attributes:
        url: Its address, without a slash at its end.
        retriever: The retriever that it shows.
    """

    url: str
    retriever: SentenceWindowRetriever


class Serve(Protocol):
    def __call__(self, retriever: SentenceWindowRetriever, **settings: Any) -> Served: ...


@contextmanager
def serving(retriever: SentenceWindowRetriever, **settings: Any) -> Iterator[Served]:
    """Serve a page on a free port until the block ends."""
    app = create_studio(retriever, **settings)
    config = uvicorn.Config(app, port=0, log_level="warning", access_log=False, lifespan="off")
    config.timeout_graceful_shutdown = 1
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield Served(f"http://127.0.0.1:{port}", retriever)
    finally:
        server.should_exit = True
        thread.join()
