"""Who can reach a server, by which names, and what Ctrl-C does and where its log goes while it serves."""

import logging
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Literal

from langchain_sentence_window._display import shown
from langchain_sentence_window.errors import InvalidInputError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""Names by which only programs on this machine reach a server."""

MAX_PORT = 65_535

_NAME = re.compile(r"[\w.-]+|[0-9A-Fa-f:.]+|\[[0-9A-Fa-f:.]+\]")
_TOKEN = re.compile(r"[!-~]+")


class OpenServerError(InvalidInputError):
    """A server would be reached by others, and lacks what that needs.

    Attributes:
        host: The host by which it would be reached.
        lacks: ``names`` by which clients reach it, or a ``token``.
    """

    def __init__(self, message: str, host: str, lacks: Literal["names", "token"]) -> None:
        """Keep what is lacking."""
        super().__init__(message)
        self.host, self.lacks = host, lacks


def checked_names(
    host: object, port: object, names: object, token: object, *, has_own_guard: bool = False
) -> list[str]:
    """Check who could reach a server, and return the names that its arguments give it, as a ``Host`` header has them.

    Args:
        host: The address to listen on.
        port: The port to listen on.
        names: Further names by which clients reach the server.
        token: What clients must send; ``None`` for nothing.
        has_own_guard: Whether the server demands something else of them.

    Raises:
        InvalidInputError: An argument can't be used, or others than programs on this machine could reach the server
            without a token.
    """
    if not isinstance(host, str) or not host:
        raise InvalidInputError(f"host is {shown(host)}; give an address to listen on, such as '127.0.0.1'")
    if type(port) is not int or not 0 <= port <= MAX_PORT:
        raise InvalidInputError(f"port is {shown(port)}; give a number from 0 to {MAX_PORT}")
    given = name_list(names)
    check_token(token)
    if _is_wildcard(host) and not given:
        raise OpenServerError(
            f"host is {host!r}, which means every address of this machine; give the host names by which clients "
            "reach it, e.g. names=['search.example.com']",
            host,
            "names",
        )
    own = [each for each in dict.fromkeys([host, *given]) if not _is_wildcard(each)]
    reached = [*(each for each in own if not _is_loopback(each)), *([host] if _is_wildcard(host) else [])]
    if reached and token is None and not has_own_guard:
        raise OpenServerError(
            f"the server would be open to whoever reaches {reached[0]}; give a token that clients must send, e.g. "
            "token=secrets.token_urlsafe(), or listen on host='127.0.0.1' alone",
            reached[0],
            "token",
        )
    return [as_sent(each) for each in own]


def name_list(names: object) -> list[str]:
    """Check the names of a server, and return them without the brackets of IPv6.

    Raises:
        InvalidInputError: They aren't a list of names without scheme and port.
    """
    if isinstance(names, list | tuple) and all(isinstance(each, str) and _NAME.fullmatch(each) for each in names):
        return [each.strip("[]") for each in names]
    raise InvalidInputError(
        f"names is {shown(names)}; give a list of names without scheme and port, such as ['search.example.com']"
    )


def as_sent(name: str) -> str:
    """Return a name as a ``Host`` header has it."""
    return f"[{name}]" if ":" in name else name


def check_token(token: object) -> None:
    """Check what clients of a server must send; ``None`` for nothing.

    Raises:
        InvalidInputError: It can't be sent as a header.
    """
    if token is not None and not (isinstance(token, str) and _TOKEN.fullmatch(token)):
        # The token itself isn't shown, as errors are logged.
        raise InvalidInputError("the token can't be sent as a header; give letters, digits and marks without spaces")


def _is_loopback(host: str) -> bool:
    """Return whether only programs on this machine reach a host."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _is_wildcard(host: str) -> bool:
    """Return whether a host stands for all addresses of the machine."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return host == ""


@contextmanager
def at_interrupt(handle: Callable[..., object]) -> Iterator[None]:
    """Call a function at Ctrl-C in place of what else would be called; only in the main thread, which alone may."""
    try:
        before = signal.signal(signal.SIGINT, handle)
    except ValueError:  # not in the main thread, so Ctrl-C is someone else's
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def logging_to_stderr() -> Iterator[None]:
    """Write warnings with their time to stderr, as Python itself would write them without; unless logging is set up."""
    root = logging.getLogger()
    if root.handlers:
        yield
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
