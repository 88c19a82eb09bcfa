"""Who can reach a server and by which names; what Ctrl-C does, and where the log goes, while it runs."""

import logging
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address

from langchain_sentence_window.documents import shown
from langchain_sentence_window.errors import InvalidInputError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""Names by which this machine reaches itself."""

MAX_PORT = 65_535

_NAME = re.compile(r"[\w.-]+|[0-9A-Fa-f:.]+|\[[0-9A-Fa-f:.]+\]")
_TOKEN = re.compile(r"[!-~]+")


def checked_names(
    host: object, port: object, names: object, token: object, *, has_own_guard: bool = False
) -> list[str]:
    """Check who could reach a server, and return its names as they appear in a ``Host`` header.

    Args:
        host: The address to listen on.
        port: The port to listen on.
        names: Further names by which clients reach the server.
        token: The token that clients must send; ``None`` for no token.
        has_own_guard: Whether the server authorizes clients in another way.

    Raises:
        InvalidInputError: An argument is invalid, or other machines could reach the server without a token.
    """
    if not isinstance(host, str) or not host:
        raise InvalidInputError(f"host is {shown(host)}; give an address to listen on, such as '127.0.0.1'")
    if type(port) is not int or not 0 <= port <= MAX_PORT:
        raise InvalidInputError(f"port is {shown(port)}; give a number from 0 to {MAX_PORT}")
    further_names = name_list(names)
    check_token(token)
    is_wildcard = _is_wildcard(host)
    if is_wildcard and not further_names:
        raise InvalidInputError(
            f"host is {host!r}, which means every address of this machine; give the host names by which clients "
            "reach it, e.g. names=['search.example.com']"
        )
    all_names = [each for each in dict.fromkeys([host, *further_names]) if not _is_wildcard(each)]
    public_names = [each for each in all_names if not _is_loopback(each)] or ([host] if is_wildcard else [])
    if public_names and token is None and not has_own_guard:
        raise InvalidInputError(
            f"the server would be open to everyone who can reach {public_names[0]}; give a token that clients must "
            "send, e.g. token=secrets.token_urlsafe(), or listen on host='127.0.0.1' alone"
        )
    return [as_sent(each) for each in all_names]


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
    """Return a name as it appears in a ``Host`` header."""
    return f"[{name}]" if ":" in name else name


def check_token(token: object) -> None:
    """Check the token that clients of a server must send; ``None`` for no token.

    Raises:
        InvalidInputError: It can't be sent as a header.
    """
    if token is not None and not (isinstance(token, str) and _TOKEN.fullmatch(token)):
        # The message doesn't contain the token, as errors are logged.
        raise InvalidInputError("the token can't be sent as a header; give letters, digits and marks without spaces")


def _is_loopback(host: str) -> bool:
    """Return whether a host is only reached from this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _is_wildcard(host: str) -> bool:
    """Return whether a host means all addresses of the machine."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return host == ""


@contextmanager
def at_interrupt(handle: Callable[..., object]) -> Iterator[None]:
    """Call a function at Ctrl-C while the block runs; only in the main thread, where Python allows it."""
    try:
        before = signal.signal(signal.SIGINT, handle)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def logging_to_stderr() -> Iterator[None]:
    """Write warnings with their time to stderr, unless logging is set up."""
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
