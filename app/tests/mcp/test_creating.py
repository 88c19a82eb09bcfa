"""`create_mcp_server` and `serve_mcp`: their arguments, and who may reach a server."""

import logging
from typing import Any

import pytest
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from pydantic import AnyHttpUrl

from app.tests.mcp.conftest import http_config, listening, status
from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.errors import InvalidInputError
from sentence_window.mcp import create_mcp_server, serve_mcp

ANYWHERE = "0.0.0.0"  # noqa: S104 - it is refused, or not listened on
BEARER = "Bearer t"


def test_invalid_arguments_of_a_server_are_refused(retriever: SentenceWindowRetriever) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"name": ""}, "name is ''"),
        ({"about": 5}, "about is 5"),
        ({"text": "xml"}, "text is 'xml'; it must be one of json, sources"),
        ({"url": "https://x.org"}, "url is 'https://x.org'; give a function"),
        ({"show_again": 1}, "show_again is 1; give True or False"),
        *(({"timeout": each}, "timeout is .*; give seconds above 0") for each in (0, float("nan"), float("inf"), True)),
    ]
    for arguments, message in cases:
        with pytest.raises(InvalidInputError, match=message):
            create_mcp_server(retriever, **arguments)
    made: Any = "index/"
    with pytest.raises(InvalidInputError, match="not str; make one over the store"):
        create_mcp_server(made)
    with pytest.raises(InvalidInputError, match="not str"):
        serve_mcp(made)


def test_further_settings_are_those_of_the_sdk_and_logging_is_not_changed(
    retriever: SentenceWindowRetriever, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    server = create_mcp_server(retriever, name="policies", instructions="Be brief.", version="7")
    assert isinstance(server, MCPServer)
    assert (server.name, server.instructions, server.version) == ("policies", "Be brief.", "7")
    assert logging.getLogger().handlers == []


OPEN_TO = "open to everyone who can reach {}; give a token"
NAMELESS = "give the host names by which clients reach it"


def test_an_unsafe_or_invalid_server_is_not_started(retriever: SentenceWindowRetriever) -> None:
    server = create_mcp_server(retriever)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"transport": "sse"}, "transport is 'sse'; it must be one of stdio, http"),
        ({"host": ""}, "host is ''"),
        ({"host": None}, "host is None"),
        *(({"port": each}, f"port is {each!r}; give a number from 0 to 65535") for each in ("8000", True, 65_536, -1)),
        ({"names": "x.org"}, "names is 'x.org'; give a list"),
        *(({"names": [each]}, "without scheme and port") for each in ("https://x.org", "x.org:80", "*", 5)),
        *(({"token": each}, "the token can't be sent as a header") for each in ("", "a b", "geheim\n", "ü", 5)),
        ({"session_idle_timeout": 0}, "session_idle_timeout is 0"),
        ({"max_sessions": 0}, "max_sessions is 0"),
        *(({"host": each}, NAMELESS) for each in (ANYWHERE, "::")),
        ({"host": ANYWHERE, "token": "t"}, NAMELESS),
        *(({"host": each}, OPEN_TO.format(each)) for each in ("192.0.2.1", "x.org", "2001:db8::1")),
        *(({"host": each, "names": ["x.org"]}, OPEN_TO.format("x.org")) for each in (ANYWHERE, "127.0.0.1")),
        ({"host": ANYWHERE, "names": ["localhost"]}, OPEN_TO.format(ANYWHERE)),
    ]
    for arguments, message in cases:
        with pytest.raises(InvalidInputError, match=message) as caught:
            serve_mcp(server, **{"transport": "http", **arguments})
        assert "geheim" not in str(caught.value)


def test_a_safe_server_answers_only_to_its_names(retriever: SentenceWindowRetriever) -> None:
    for arguments, host in (
        ({}, "localhost"),
        ({"token": "t"}, "127.0.0.1:8000"),
        ({"host": "localhost", "names": ["localhost", "127.0.0.1"]}, "localhost:80"),
        ({"host": "127.0.0.5"}, "127.0.0.5:8000"),
        ({"host": "::1"}, "[::1]:8000"),
        ({"host": "2001:db8::1", "names": ["x.org"], "token": "t"}, "x.org"),
        ({"host": "2001:db8::1", "token": "t"}, "[2001:db8::1]:8000"),
        ({"host": ANYWHERE, "names": ["x.org", "192.0.2.1"], "token": "t"}, "192.0.2.1:8000"),
    ):
        config = http_config(create_mcp_server(retriever), **arguments)
        assert (config.host, config.port) == (arguments.get("host", "127.0.0.1"), 8000)
        with listening(create_mcp_server(retriever), **arguments) as port:
            assert status(port, Host=host, Authorization=BEARER) == 200
            for other in ("evil.example.com", "x.org.evil.example.com", ANYWHERE, f"{ANYWHERE}:8000"):
                assert status(port, Host=other, Authorization=BEARER) == 421
            assert status(port, Host=host, Authorization="Bearer x") == (401 if "token" in arguments else 200)


class OnlyT:
    async def verify_token(self, token: str) -> AccessToken | None:
        return AccessToken(token=token, client_id="t", scopes=[]) if token == "t" else None  # noqa: S105 - a test's


def test_a_server_with_its_own_authorization_needs_no_token(retriever: SentenceWindowRetriever) -> None:
    auth = AuthSettings(issuer_url=AnyHttpUrl("https://login.example.com"), resource_server_url=None)
    server = create_mcp_server(retriever, auth=auth, token_verifier=OnlyT())
    with listening(server, host=ANYWHERE, names=["x.org"]) as port:
        assert status(port) == status(port, Authorization="Bearer wrong") == 401
        assert status(port, Authorization=BEARER) == 200
