"""`create_mcp_server` and `serve_mcp`: what they take, and what they leave alone."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from mcp.server import MCPServer
from mcp.server.auth.settings import AuthSettings
from pydantic import AnyHttpUrl

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.apps.mcp import mcp_server
from langchain_sentence_window.apps.mcp import mcp_transports as serving
from langchain_sentence_window.apps.mcp.mcp_server import create_mcp_server, serve_mcp
from langchain_sentence_window.errors import InvalidInputError, MissingExtraError
from tests.answering.mcp.test_http import listening, status

ANYWHERE = "0.0.0.0"  # noqa: S104 - it is refused, or not listened on


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collect what would have been listened on."""
    calls: list[Any] = []
    monkeypatch.setattr(serving, "run_http", lambda app, host, port: calls.append((app, host, port)))
    monkeypatch.setattr(serving, "run_stdio", calls.append)
    return calls


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"name": ""}, "name is ''"),
        ({"name": None}, "name is None"),
        ({"about": 5}, "about is 5"),
        ({"text": "xml"}, "text is 'xml'; it must be one of json, sources"),
        ({"text": ["json"]}, "text is"),
        ({"url": "https://x.org"}, "url is 'https://x.org'; give a function"),
    ],
)
def test_arguments_are_checked(retriever: SentenceWindowRetriever, arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInputError, match=told):
        create_mcp_server(retriever, **arguments)


@pytest.mark.parametrize("given", [None, FakeListChatModel(responses=["x"]), "index/"])
def test_it_takes_a_retriever_of_this_package(given: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"not {type(given).__name__}; make one over the store"):
        create_mcp_server(given)


def test_further_settings_are_the_sdks(retriever: SentenceWindowRetriever) -> None:
    server = create_mcp_server(retriever, name="policies", instructions="Be brief.", version="7")
    assert isinstance(server, MCPServer)
    assert (server.name, server.instructions, server.version) == ("policies", "Be brief.", "7")


@contextmanager
def without_handlers() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers[:] = []
    try:
        yield root
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def test_logging_is_left_alone(retriever: SentenceWindowRetriever) -> None:
    with without_handlers() as root:
        create_mcp_server(retriever)
        assert root.handlers == []
        assert root.level == logging.WARNING


@pytest.mark.parametrize("function", ["create_mcp_server", "serve_mcp"])
def test_without_the_sdk_it_says_what_to_install(
    retriever: SentenceWindowRetriever, monkeypatch: pytest.MonkeyPatch, function: str, tmp_path: Path
) -> None:
    given: Any = retriever if function == "create_mcp_server" else object()
    packages = tmp_path / "mcp-1.30.0.dist-info"
    packages.mkdir()
    (packages / "METADATA").write_text("Metadata-Version: 2.1\nName: mcp\nVersion: 1.30.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    with pytest.raises(MissingExtraError, match=r"mcp.* is not installed, or can't be imported; .*\[mcp\]"):
        getattr(mcp_server, function)(given)
    monkeypatch.setitem(sys.modules, "mcp.server", logging)  # any module without MCPServer, as that of 1.x
    with pytest.raises(MissingExtraError, match=r"mcp>=2.2 is not installed, or can't be imported; .*\[mcp\]"):
        getattr(mcp_server, function)(given)


@pytest.mark.process
@pytest.mark.slow
def test_importing_it_is_silent_and_loads_no_sdk() -> None:
    code = (
        "import sys; from langchain_sentence_window.apps.mcp import mcp_server;"
        "print([name for name in ('mcp', 'starlette', 'uvicorn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"transport": "sse"}, "transport is 'sse'; it must be one of stdio, http"),
        ({"transport": None}, "transport is None"),
        ({"host": ""}, "host is ''"),
        ({"host": None}, "host is None"),
        ({"port": "8000"}, "port is '8000'"),
        ({"port": True}, "port is True"),
        ({"port": 65_536}, "port is 65536; give a number from 0 to 65535"),
        ({"port": -1}, "port is -1"),
        ({"names": "x.org"}, "names is 'x.org'; give a list"),
        ({"names": ["https://x.org"]}, "without scheme and port"),
        ({"names": ["x.org:80"]}, "without scheme and port"),
        ({"names": ["*"]}, "without scheme and port"),
        ({"names": [5]}, "without scheme and port"),
        ({"token": ""}, "the token can't be sent as a header"),
        ({"token": "a b"}, "the token can't be sent as a header"),
        ({"token": "ü"}, "the token can't be sent as a header"),
        ({"token": 5}, "the token can't be sent as a header"),
        ({"host": ANYWHERE}, "give the host names by which clients reach it"),
        ({"host": "::"}, "give the host names by which clients reach it"),
        ({"host": ANYWHERE, "token": "t"}, "give the host names by which clients reach it"),
        ({"host": ANYWHERE, "names": ["x.org"]}, "open to whoever reaches x.org; give a token"),
        ({"host": "192.0.2.1"}, "open to whoever reaches 192.0.2.1; give a token"),
        ({"host": "x.org"}, "open to whoever reaches x.org; give a token"),
        ({"host": "2001:db8::1"}, "open to whoever reaches 2001:db8::1; give a token"),
        ({"names": ["x.org"]}, "open to whoever reaches x.org; give a token"),
        ({"host": ANYWHERE, "names": ["localhost"]}, "open to whoever reaches 0.0.0.0; give a token"),
    ],
)
def test_nothing_is_served_if_an_argument_is_wrong_or_others_could_get_in(
    retriever: SentenceWindowRetriever, served: list[Any], arguments: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidInputError, match=told):
        serve_mcp(create_mcp_server(retriever), **{"transport": "http", **arguments})
    assert served == []


@pytest.mark.parametrize("token", ["a b", "geheim\n", "ü"])
def test_a_token_is_not_shown(retriever: SentenceWindowRetriever, served: list[Any], token: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        serve_mcp(create_mcp_server(retriever), "http", token=token)
    assert token not in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"host": "localhost"},
        {"host": "::1"},
        {"host": "127.0.0.5"},
        {"names": ["localhost", "127.0.0.1"]},
        {"token": "t"},
        {"host": ANYWHERE, "names": ["x.org"], "token": "t"},
        {"host": "192.0.2.1", "token": "t"},
    ],
)
def test_what_is_safe_is_served(
    retriever: SentenceWindowRetriever, served: list[Any], arguments: dict[str, Any]
) -> None:
    serve_mcp(create_mcp_server(retriever), "http", **arguments)
    ((_, host, port),) = served
    assert (host, port) == (arguments.get("host", "127.0.0.1"), 8000)


@pytest.mark.parametrize(
    ("arguments", "host"),
    [
        ({}, "localhost"),
        ({"host": "127.0.0.5"}, "127.0.0.5:8000"),
        ({"host": "::1"}, "[::1]:8000"),
        ({"host": "2001:db8::1", "names": ["x.org"], "token": "t"}, "x.org"),
        ({"host": "2001:db8::1", "token": "t"}, "[2001:db8::1]:8000"),
        ({"host": ANYWHERE, "names": ["x.org", "192.0.2.1"], "token": "t"}, "192.0.2.1:8000"),
    ],
)
def test_a_server_answers_to_the_names_that_it_was_given(
    retriever: SentenceWindowRetriever, served: list[Any], arguments: dict[str, Any], host: str
) -> None:
    serve_mcp(create_mcp_server(retriever), "http", **arguments)
    ((app, _, _),) = served
    with listening(app) as port:
        assert status(port, Host=host, Authorization="Bearer t") == 200
        for other in ("evil.example.com", "x.org.evil.example.com", ANYWHERE, f"{ANYWHERE}:8000"):
            assert status(port, Host=other, Authorization="Bearer t") == 421


def test_a_server_with_its_own_authorization_needs_no_token(
    retriever: SentenceWindowRetriever, served: list[Any]
) -> None:
    issuer = AnyHttpUrl("https://login.example.com")
    auth = AuthSettings(issuer_url=issuer, resource_server_url=None)
    server = create_mcp_server(retriever, auth=auth, token_verifier=serving.OneToken("t"))
    serve_mcp(server, "http", host=ANYWHERE, names=["x.org"])
    assert len(served) == 1


def test_stdio_is_the_default(retriever: SentenceWindowRetriever, served: list[Any]) -> None:
    server = create_mcp_server(retriever)
    serve_mcp(server)
    assert served == [server]


@pytest.mark.parametrize("given", [None, "index/", 5])
def test_only_servers_are_served(given: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"not {type(given).__name__}"):
        serve_mcp(given)
