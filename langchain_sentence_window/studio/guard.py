"""Who may call the page: this machine's browser, or whoever has the token; and what a browser may do with it.

- A request under another name than the server's own is refused, so no page can reach the server by a name that it
  makes point here.
- A request from a page of another origin is refused, unless it only opens the page.
- If there is a token, a request without it is refused. A browser gets a cookie for it when it opens
  ``/?token=...``.
- Every answer tells the browser to run nothing but the files of this package, to ask nobody else for anything, and to
  keep nothing.
"""

import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import Sequence
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger("langchain_sentence_window")

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
                headers.setdefault("Cache-Control", "no-store")
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
            logger.exception("a request of the page failed")
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
    # Cookies of other servers on this machine come along, whatever they hold.
    return cookie_parser("; ".join(headers.getlist("cookie"))).get(_cookie_name(headers), "")


def _is_origin(origin: str, host: str) -> bool:
    scheme, _, name = origin.lower().partition("://")
    port = _DEFAULT_PORTS.get(scheme)
    return port is not None and name.removesuffix(port) == host.lower().removesuffix(port)
