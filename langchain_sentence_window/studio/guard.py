"""Who may call the page: this machine's browser, or whoever has the token; and what a browser may do with it.

- A request under another name than the server's own is refused, so no page can reach the server by a name that it
  makes point here.
- A request from a page of another origin is refused, unless it only opens the page.
- If there is a token, a request without it is refused. A browser gets a cookie for it when it opens
  ``/?token=...``.
- Every answer tells the browser to run nothing but the files of this package, and to ask nobody else for anything.
"""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "sentence-window"

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
_FROM_HERE = (None, "same-origin", "none")


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
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers[name] = value
            await send(message)

        answer = self._refusal(scope) or self._login(scope)
        await (answer or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if _without_port(host).lower() not in self._names:
            return PlainTextResponse("this server has another name", 421)
        origin = headers.get("origin")
        if origin is not None and not _is_origin(origin, host):
            return PlainTextResponse("pages of other origins can't call this server", 403)
        opens = scope["method"] in _READING and scope["path"] == _OPEN
        if headers.get("sec-fetch-site") not in _FROM_HERE and not opens:
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
                answer.set_cookie(COOKIE, self._session, httponly=True, samesite="lax", secure=secure)
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


def _cookie_of(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _is_origin(origin: str, host: str) -> bool:
    return origin.lower() in {f"{scheme}://{host.lower()}" for scheme in ("http", "https")}
