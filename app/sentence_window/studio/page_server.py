"""`create_studio` and `serve_studio`: the app of the page, who may call it, its files, and how it is served."""

import hashlib
import hmac
import re
import secrets
import socket
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

import uvicorn
from langchain_core.language_models import BaseChatModel
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request, cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.documents import shown
from langchain_sentence_window.errors import InvalidInputError
from sentence_window.hosts import (
    LOOPBACK,
    as_sent,
    check_token,
    checked_names,
    logging_to_stderr,
    name_list,
)
from sentence_window.studio import library, measuring, page_reader, queries, setting_form
from sentence_window.studio import questions as question_calls
from sentence_window.studio.page_state import Studio, index_folder, reading
from sentence_window.studio.question_list import FILE_NAME, QuestionList
from sentence_window.studio.replies import LOGGER
from sentence_window.studio.uploads import uploads_folder

_PARTS = (queries, setting_form, page_reader, library, question_calls, measuring)


def create_studio(
    retriever: SentenceWindowRetriever,
    *,
    folders: Iterable[str | PathLike[str]] = (),
    questions: str | PathLike[str] | None = None,
    chat_model: BaseChatModel | None = None,
    read_only: bool = False,
    token: str | None = None,
    names: Sequence[str] = (),
) -> Starlette:
    """Create the app that serves the page.

    Args:
        retriever: The retriever to look into. Its filter limits everything that the page shows and does.
        folders: Folders and files that the documents are from. The page shows PDFs that lie inside, and no other file.
            Files that are added from the page are kept in ``uploads`` in the first folder, else in that of the index.
        questions: A file of questions with gold spans, which the page edits; ``None`` for ``questions.jsonl`` in the
            folder of the index. Those of an index in memory stay in memory, and so do those of a retriever with a
            filter, as the file would show it what was asked of other documents.
        chat_model: The model that answers questions; ``None`` for a page without answers.
        read_only: Whether the page may change nothing.
        token: What callers must show, see `serve_studio`; ``None`` for nothing.
        names: Names by which browsers reach the server, besides those of this machine, without a port.

    Returns:
        A Starlette app, at the root of its server.

    Raises:
        InvalidInputError: The retriever isn't a `SentenceWindowRetriever`, or another argument can't be used.
    """
    if not isinstance(retriever, SentenceWindowRetriever):
        raise InvalidInputError(
            f"the studio takes a SentenceWindowRetriever, not {shown(retriever)}; make one over the store, e.g. "
            "SentenceWindowRetriever(vectorstore=store)"
        )
    allowed = [*LOOPBACK, *map(as_sent, name_list(names))]
    check_token(token)
    given = [Path(each).absolute() for each in folders]
    uploads = uploads_folder(retriever, given)
    # A folder that is a link leads to files that weren't meant to be served.
    served = [] if uploads is None or uploads.is_symlink() else [uploads]
    studio = Studio(
        retriever,
        QuestionList(_own_questions(retriever) if questions is None else Path(questions).absolute()),
        folders=tuple(each.resolve() for each in [*given, *served]),
        uploads=uploads,
        chat_model=chat_model,
        is_read_only=read_only,
    )
    app = Starlette(
        routes=[
            reading("/api/about", about),
            *(route for part in _PARTS for route in part.routes()),
            Route("/", _page),
            Mount("/static", GZipMiddleware(_FILES)),
        ],
        middleware=[Middleware(Guard, names=allowed, token=token)],
    )
    app.state.studio = studio
    return app


def _own_questions(retriever: SentenceWindowRetriever) -> Path | None:
    folder = index_folder(retriever)
    return None if folder is None or retriever.scope().filter is not None else folder / FILE_NAME


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
        names: Names by which browsers reach the server, besides ``host`` and those of this machine.
        **settings: Further arguments of `create_studio`.

    Raises:
        InvalidInputError: An argument can't be used, the port is taken, or there is no token where one is needed.
            Nothing was served.
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
        log_config=None,  # its lines have no time
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    with suppress(KeyboardInterrupt), logging_to_stderr():
        _PageServer(config, own[0] if own else host, token).run()


def _check_free(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise InvalidInputError(
            f"nothing can listen on port {port} of {host!r} ({error.strerror or error}); choose another port, or 0 for "
            "any that is free"
        ) from error


class _PageServer(uvicorn.Server):
    """A server that says where it is once it is there."""

    def __init__(self, config: uvicorn.Config, name: str, token: str | None) -> None:
        super().__init__(config)
        self._name, self._token = name, token

    async def startup(self, sockets: Any = None) -> None:
        """Listen, and print the address of the page."""
        await super().startup(sockets)
        if self.started:
            port = self.servers[0].sockets[0].getsockname()[1]
            query = "" if self._token is None else f"?token={quote(self._token, safe='')}"
            sys.stdout.write(f"The page is at http://{self._name}:{port}/{query} (Ctrl-C ends it)\n")
            sys.stdout.flush()


async def about(studio: Studio) -> object:
    """Return what the page shows in its head, and which of its parts there are."""
    documents = await studio.documents()
    return {
        "documents": len(documents),
        "sentences": sum(each.sentences for each in documents),
        "is_read_only": studio.is_read_only,
        "can_answer": studio.chat_model is not None,
    }


class _Files(StaticFiles):
    """Sends scripts with their own type, even if this machine has registered another for them, as Windows may."""

    def file_response(self, full_path: str | PathLike[str], *arguments: Any, **keywords: Any) -> Response:
        response = super().file_response(full_path, *arguments, **keywords)
        if str(full_path).endswith(".js"):
            response.headers["Content-Type"] = "text/javascript; charset=utf-8"
        return response


_FILES = _Files(packages=[(__package__, "static")])


async def _page(request: Request) -> Response:
    return await _FILES.get_response("index.html", request.scope)


COOKIE = "sentence-window"
"""The beginning of the names of cookies; the port follows, as a browser sends the cookies of one port to all."""

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_READING = ("GET", "HEAD")
_OPEN = "/"
_FROM_HERE = ("same-origin", "none")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::([0-9]{1,5}))?")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


class Guard:
    """Middleware that lets in what may come in, and adds the security headers to all answers."""

    def __init__(self, app: ASGIApp, *, names: Sequence[str], token: str | None) -> None:
        """Guard an app.

        Args:
            app: The app.
            names: The names of the server, as a ``Host`` header has them, without a port.
            token: What callers must show; ``None`` for nothing.
        """
        self._app = app
        self._names = frozenset(name.lower() for name in names)
        self._token = token
        # The cookie doesn't hold the token, and ends with the process.
        key = secrets.token_bytes(32)
        self._session = "" if token is None else hmac.new(key, token.encode(), hashlib.sha256).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def send_guarded(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-cache" if "ETag" in headers else "no-store")
            await send(message)

        answer = self._refusal(scope) or self._login(scope)
        try:
            await (answer or self._app)(scope, receive, send_guarded)
        except ClientDisconnect:
            pass
        except Exception:
            if has_begun:
                raise
            # Starlette's own answer would be without the headers.
            LOGGER.exception("a request of the page failed")
            await PlainTextResponse("the server failed; its log says why", 500)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = _host_of(headers)
        if host is None or host[0] not in self._names:
            return PlainTextResponse("this server has another name", 421)
        if not all(_is_origin(each, headers["host"]) for each in headers.getlist("origin")):
            return PlainTextResponse("pages of other origins can't call this server", 403)
        opens = scope["method"] in _READING and scope["path"] == _OPEN
        if not opens and not all(each in _FROM_HERE for each in headers.getlist("sec-fetch-site")):
            return PlainTextResponse("pages of other origins can't call this server", 403)
        return None

    def _login(self, scope: Scope) -> Response | None:
        """Return an answer if the token is missing, or just came; ``None`` to go on."""
        if self._token is None:
            return None
        headers = Headers(scope=scope)
        if scope["method"] in _READING and scope["path"] == _OPEN:
            given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
            if _is_same(given, self._token):
                answer = RedirectResponse(scope.get("root_path", "") + _OPEN, 303)
                secure = scope.get("scheme") == "https"
                answer.set_cookie(_cookie_name(headers), self._session, httponly=True, samesite="lax", secure=secure)
                return answer
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _is_same(bearer, self._token):
            return None
        if _is_same(_cookie_of(headers), self._session):
            return None
        return PlainTextResponse(
            "this page needs its token; open the address that the program printed when it started", 401
        )


def _is_same(given: str, right: str) -> bool:
    """Compare in a time that doesn't tell how much is right."""
    return hmac.compare_digest(given.encode(errors="surrogateescape"), right.encode())


def _host_of(headers: Headers) -> tuple[str, str] | None:
    """Return the name in lower case and the port that a request is for; ``None`` if it doesn't say just one."""
    given = headers.getlist("host")
    found = _HOST.fullmatch(given[0]) if len(given) == 1 else None
    return (found[1].lower(), found[2] or "") if found else None


def _cookie_name(headers: Headers) -> str:
    host = _host_of(headers)
    return f"{COOKIE}-{host[1]}" if host and host[1] else COOKIE


def _cookie_of(headers: Headers) -> str:
    # Browsers also send the cookies of other servers on this machine, in any form.
    return cookie_parser("; ".join(headers.getlist("cookie"))).get(_cookie_name(headers), "")


def _is_origin(origin: str, host: str) -> bool:
    scheme, _, name = origin.lower().partition("://")
    port = _DEFAULT_PORTS.get(scheme)
    return port is not None and name.removesuffix(port) == host.lower().removesuffix(port)
