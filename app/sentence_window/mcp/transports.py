"""Serve over stdio and HTTP: authorization, health checks and shutdown."""

import asyncio
import gc
import hmac
import logging
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount

from langchain_sentence_window import SentenceWindowRetriever
from sentence_window.hosts import at_interrupt, logging_to_stderr

SESSION_IDLE_SECONDS = 1_800.0
"""How long a session without a request is kept."""

MAX_SESSIONS = 1_000
"""The most sessions at once; a session takes some 37 kB."""

_GRACE_SECONDS = 2
_INTERRUPTED = 130
"""The exit status of a program that Ctrl-C ended."""


@dataclass(frozen=True)
class OneToken:
    """Accepts one token."""

    token: str

    async def verify_token(self, token: str) -> AccessToken | None:
        """Compare a token with the right one in constant time."""
        is_right = hmac.compare_digest(token.encode(), self.token.encode())
        return AccessToken(token=token, client_id="token", scopes=[]) if is_right else None


def http_app(
    server: MCPServer[Any],
    *,
    names: Sequence[str],
    token: str | None,
    session_idle_timeout: float = SESSION_IDLE_SECONDS,
    max_sessions: int = MAX_SESSIONS,
) -> Starlette:
    """Return an ASGI app that serves at ``/mcp``, and at ``/health`` without a token.

    Args:
        server: The server.
        names: The names by which clients may reach it, with or without a port. Requests to another ``Host``, or from
            a page of another ``Origin``, are refused, which prevents DNS rebinding.
        token: The token that clients must send as ``Authorization: Bearer``; ``None`` for no token.
        session_idle_timeout: The seconds after which a session without a request ends.
        max_sessions: The most sessions at once.
    """
    app = server.streamable_http_app(
        transport_security=_security(names), session_idle_timeout=session_idle_timeout, max_sessions=max_sessions
    )
    if token is None:
        return app
    open_routes = [route for route in app.routes if getattr(route, "path", None) == PATH]
    return Starlette(
        routes=[*open_routes, Mount("/", app=RequireAuthMiddleware(app, []))],
        middleware=[
            Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(OneToken(token))),
            Middleware(AuthContextMiddleware),
        ],
        lifespan=lambda _: server.session_manager.run(),
    )


def run_http(app: Starlette, host: str, port: int) -> None:
    """Serve until Ctrl-C."""
    # A full garbage collection of the loaded index would block requests.
    gc.collect()
    gc.freeze()
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        access_log=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        log_config=None,  # its lines have no time
        log_level="info",
    )
    with suppress(KeyboardInterrupt), logging_to_stderr():
        uvicorn.Server(config).run()


def run_stdio(server: MCPServer[Any]) -> None:
    """Serve until the client closes stdin, or Ctrl-C."""
    _flush_to_stderr()
    # A thread is blocked in reading a line of stdin, and can't be interrupted.
    with at_interrupt(_end_at_once), logging_to_stderr():
        server.run("stdio")
    _flush_to_stderr()


def _end_at_once(*_: object) -> None:
    logging.shutdown()
    os._exit(_INTERRUPTED)


def _flush_to_stderr() -> None:
    """Flush printed text that is still buffered to stderr, as stdout belongs to the client.

    The SDK redirects stdout to stderr only while it serves.
    """
    with suppress(AttributeError, OSError, ValueError):  # no stream, a closed one, or one that isn't a file
        wire = os.dup(sys.stdout.fileno())
        try:
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
            sys.stdout.flush()
        finally:
            os.dup2(wire, sys.stdout.fileno())
            os.close(wire)


def _security(names: Sequence[str]) -> TransportSecuritySettings:
    hosts = [each for name in names for each in (name, f"{name}:*")]
    origins = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


PATH = "/health"

MAX_SECONDS = 5.0
"""The most seconds that a healthy store takes to answer."""

LOGGER = logging.getLogger("sentence_window")

_FRESH_SECONDS = 1.0
"""How long a result is kept, so that frequent checks don't burden the store."""

_NO_DOCUMENT = "no document has this name"
_STATUS = {True: (200, "ok"), False: (503, "unavailable")}


@dataclass
class Health:
    """Checks the store by reading a sentence that doesn't exist; concurrent requests share one check.

    Attributes:
        retriever: The retriever of the store.
        seconds: The most seconds that the store may take to answer.
    """

    retriever: SentenceWindowRetriever
    seconds: float = MAX_SECONDS
    _asking: asyncio.Task[bool] | None = field(default=None, init=False)
    _asked_at: float = field(default=0.0, init=False)
    _was_well: bool = field(default=True, init=False)

    async def respond(self, _: Request) -> JSONResponse:
        """Respond with 200 if the store answers, and with 503 if it doesn't."""
        code, status = _STATUS[await self.is_well()]
        return JSONResponse({"status": status}, code, headers={"Cache-Control": "no-store"})

    async def is_well(self) -> bool:
        """Return whether the store answers, or did a moment ago."""
        now = time.monotonic()
        if self._asking is None or (self._asking.done() and now - self._asked_at >= _FRESH_SECONDS):
            self._asking, self._asked_at = asyncio.create_task(self._ask()), now
        return await asyncio.shield(self._asking)

    async def _ask(self) -> bool:
        try:
            async with asyncio.timeout(self.seconds):
                await self.retriever.aget([_NO_DOCUMENT])
        except Exception as error:  # noqa: BLE001 - a driver may raise anything
            if self._was_well:
                LOGGER.warning("the store doesn't answer: %s", type(error).__name__)
            self._was_well = False
        else:
            if not self._was_well:
                LOGGER.warning("the store answers again")
            self._was_well = True
        return self._was_well
