"""`serve_studio`: serve the page until Ctrl-C."""

import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import uvicorn

from langchain_sentence_window._hosts import checked_names
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.studio.app import create_studio

PORT = 8321

_GRACE_SECONDS = 2


def serve_studio(
    retriever: SentenceWindowRetriever,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    token: str | None = None,
    names: Sequence[str] = (),
    **settings: Any,
) -> None:
    """Serve the page until Ctrl-C, and print its address.

    A server that others can reach demands a token: one that listens elsewhere than on this machine, or goes by a name
    of another machine, as it does behind a proxy. The address that is printed holds the token.

    Args:
        retriever: The retriever to look into.
        host: The address to listen on.
        port: The port to listen on; 0 for any that is free.
        token: What browsers must show: they open ``/?token=TOKEN``, and programs send ``Authorization: Bearer TOKEN``.
        names: Names by which browsers reach the server, beside ``host`` and those of this machine.
        **settings: Further arguments of `create_studio`.

    Raises:
        InvalidInputError: An argument can't be used, the port is taken, or there is no token where one is needed.
            Nothing was served.
        MissingExtraError: The extra ``studio`` isn't installed.
    """
    own = checked_names(host, port, names, token)
    app = create_studio(retriever, token=token, names=own, **settings)
    _check_free(host, port)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http="h11",  # strict about headers, and bounds them
        ws="none",
        lifespan="off",
        access_log=False,  # it would hold the token
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    with suppress(KeyboardInterrupt):
        _Server(config, own[0] if own else host, token).run()


def _check_free(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise InvalidInputError(
            f"nothing can listen on port {port} of {host!r} ({error.strerror or error}); choose another port, or 0 for "
            "any that is free"
        ) from error


class _Server(uvicorn.Server):
    """A server that says where it is once it is there."""

    def __init__(self, config: uvicorn.Config, name: str, token: str | None) -> None:
        super().__init__(config)
        self._name, self._token = name, token

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started:
            port = self.servers[0].sockets[0].getsockname()[1]
            query = "" if self._token is None else f"?token={quote(self._token, safe='')}"
            sys.stdout.write(f"The page is at http://{self._name}:{port}/{query} (Ctrl-C ends it)\n")
            sys.stdout.flush()
