"""Requests as attackers send them, and what browsers are told with each answer."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.types import Message
from starlette.websockets import WebSocketDisconnect

from langchain_sentence_window.apps.studio import page_server
from langchain_sentence_window.apps.studio.page_server import SECURITY_HEADERS, Guard
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.studio import create_studio
from tests.studio.making import ADDRESS, client_of, small_retriever

TOKEN = "a-token-of-26-characters"  # noqa: S105
RETRIEVER = small_retriever()
SAFE = {name.lower(): value for name, value in SECURITY_HEADERS.items()}


@pytest.fixture
def client() -> TestClient:
    return client_of(RETRIEVER)


@pytest.fixture
def locked() -> TestClient:
    return client_of(RETRIEVER, token=TOKEN)


def status(client: TestClient, path: str = "/api/about", method: str = "GET", **headers: str) -> int:
    return client.request(
        method, path, headers={name.replace("_", "-"): each for name, each in headers.items()}
    ).status_code


def assert_guarded(headers: Mapping[str, str]) -> None:
    assert {name: headers.get(name) for name in SAFE} == SAFE
    assert headers["cache-control"] in ("no-store", "no-cache")


# Names

OWN = ["127.0.0.1:8321", "localhost:8321", "LOCALHOST:8321", "[::1]:8321", "127.0.0.1", "[::1]"]
FOREIGN = [
    "evil.example",
    "evil.example:8321",
    "127.0.0.1.evil.example:8321",
    "127.0.0.1@evil.example",
    "evil.example@127.0.0.1",
    "localhost.",
    "localhost.evil.example",
    "[::1].evil.example",
    "[::1]evil.example:8321",
    "127.0.0.1:8321:evil.example",
    "127.0.0.1:eight",
    "127.0.0.1:",
    "127.0.0.1,evil.example",
    "127.0.0.1 evil.example",
    "127.1",
    "2130706433",
    "0.0.0.0:8321",
    "::1",
    "",
]


@pytest.mark.parametrize("host", OWN)
def test_it_goes_by_the_names_of_this_machine(client: TestClient, host: str) -> None:
    assert status(client, host=host) == 200


@pytest.mark.parametrize("host", FOREIGN)
def test_other_names_are_refused_so_that_no_site_reaches_it_by_rebinding_its_own(client: TestClient, host: str) -> None:
    for path in ("/", "/static/main.js", "/api/about"):
        answer = client.get(path, headers={"host": host})
        assert (answer.status_code, answer.text) == (421, "this server has another name")
        assert_guarded(answer.headers)


def test_two_names_or_none_are_refused(client: TestClient) -> None:
    twice = client.build_request("GET", "/api/about", headers=[("host", "127.0.0.1"), ("host", "127.0.0.1")])
    assert client.send(twice).status_code == 421
    none = client.build_request("GET", "/api/about")
    del none.headers["host"]
    assert client.send(none).status_code in (200, 421)  # the client of the tests may put it back


def test_names_of_other_hosts_work_behind_a_proxy_that_passes_them_on() -> None:
    client = client_of(RETRIEVER, names=["Search.example.com"], token=TOKEN)
    key = {"authorization": f"Bearer {TOKEN}"}
    for host, origin in [
        ("search.example.com", "https://search.example.com"),
        ("search.example.com:443", "https://search.example.com"),
        ("search.example.com:8443", "https://search.example.com:8443"),
        ("search.example.com:80", "http://search.example.com"),
    ]:
        assert client.get("/api/jobs", headers={"host": host, "origin": origin, **key}).status_code == 200
    for host, origin in [
        ("search.example.com", "https://search.example.com:8443"),
        ("search.example.com:80", "https://search.example.com"),
        ("127.0.0.1:8321", "https://search.example.com"),
        ("other.example.com", "https://other.example.com"),
    ]:
        assert client.get("/api/jobs", headers={"host": host, "origin": origin, **key}).status_code in (403, 421)


@pytest.mark.parametrize(
    "names", ["localhost", [""], ["https://a.example"], ["a.example:80"], ["a b"], [1], None, {"a"}]
)
def test_names_that_can_not_be_names_are_refused(names: Any) -> None:
    with pytest.raises(InvalidInputError, match="names is"):
        create_studio(RETRIEVER, names=names)


@pytest.mark.parametrize("token", ["", " ", "two words", "süß", "a\nb", b"bytes", 5])
def test_tokens_that_can_not_be_sent_are_refused_and_not_shown(token: Any) -> None:
    with pytest.raises(InvalidInputError, match="can't be sent") as caught:
        create_studio(RETRIEVER, token=token)
    assert token in ("", " ", 5) or str(token) not in str(caught.value)


# Origins

FOREIGN_ORIGINS = [
    "http://evil.example",
    "null",
    "",
    "http://127.0.0.1",
    "http://127.0.0.1:8322",
    "http://localhost:8321",
    "http://127.0.0.1:8321.evil.example",
    "http://127.0.0.1:8321/",
    "http://user@127.0.0.1:8321",
    "ftp://127.0.0.1:8321",
    "file://",
    "chrome-extension://127.0.0.1:8321",
    "127.0.0.1:8321",
]


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "PUT"])
def test_pages_of_other_origins_are_refused(client: TestClient, origin: str, method: str) -> None:
    for path in ("/", "/static/main.js", "/api/about", "/api/ask", "/nowhere"):
        answer = client.request(method, path, headers={"origin": origin})
        assert answer.status_code == 403
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert_guarded(answer.headers)


def test_its_own_page_may_call_it(client: TestClient) -> None:
    given = {"query": "refund"}
    assert client.post("/api/ask", json=given, headers={"origin": ADDRESS}).status_code == 200
    assert client.post("/api/ask", json=given).status_code == 200  # a program
    assert status(client, sec_fetch_site="same-origin") == status(client, sec_fetch_site="none") == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "Same-Origin", "same-origin, cross-site"])
def test_other_sites_may_open_the_page_and_nothing_else(client: TestClient, site: str) -> None:
    assert status(client, "/", sec_fetch_site=site) == 200
    assert status(client, "/", "HEAD", sec_fetch_site=site) == 200
    for path in ("/api/about", "/static/main.js", "/index.html"):
        assert status(client, path, sec_fetch_site=site) == 403
    assert status(client, "/", "POST", sec_fetch_site=site) == 403


def test_two_sites_are_no_way_around(client: TestClient) -> None:
    for twice in (["same-origin", "cross-site"], ["cross-site", "same-origin"]):
        request = client.build_request("GET", "/api/about", headers=[("sec-fetch-site", each) for each in twice])
        assert client.send(request).status_code == 403
    origins = [("origin", ADDRESS), ("origin", "http://evil.example")]
    assert client.send(client.build_request("GET", "/api/about", headers=origins)).status_code == 403


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "application/jsonp"],
)
def test_what_a_form_can_send_is_refused(client: TestClient, kind: str) -> None:
    answer = client.post("/api/ask", content='{"query": "refund"}', headers={"content-type": kind})
    assert answer.status_code == 415


def test_only_json_within_bounds_is_read(client: TestClient) -> None:
    def ask(content: bytes) -> int:
        headers = {"content-type": "application/json; charset=utf-8"}
        return client.post("/api/ask", content=content, headers=headers).status_code

    assert ask(b'{"query": "refund"}') == 200
    assert ask(b"[" * 100_000) == ask(b"{") == ask(b"\xff\xfe") == ask(b"[]") == ask(b"null") == ask(b"") == 400
    assert ask(b'{"query": "refund", "token": 1}') == 400
    assert ask(b" " * 20_000_001) == 413


# The token


def test_nothing_is_told_without_the_token(locked: TestClient) -> None:
    for path in ("/", "/static/main.js", "/api/about", "/nowhere", "/static/../../../etc/passwd"):
        for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"):
            answer = locked.request(method, path)
            assert answer.status_code == 401
            assert_guarded(answer.headers)
            assert TOKEN not in answer.text
            assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "bearer",
    [
        "",
        "Bearer",
        "Bearer ",
        f"Basic {TOKEN}",
        f"Bearer  {TOKEN}",
        f"Bearer {TOKEN} ",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN.upper()}",
        TOKEN,
        "Bearer ü",
        "Bearer \udce9".encode("utf-8", "surrogateescape").decode("latin-1"),
    ],
)
def test_a_wrong_token_is_refused(locked: TestClient, bearer: str) -> None:
    answer = locked.get("/api/about", headers={b"authorization": bearer.encode("latin-1")})
    stripped = bearer.rstrip() == f"Bearer {TOKEN}"  # servers strip white space around a header's value
    assert answer.status_code == 401 or stripped


def test_programs_send_the_token_with_each_call(locked: TestClient) -> None:
    for scheme in ("Bearer", "bearer"):
        assert status(locked, authorization=f"{scheme} {TOKEN}") == 200
    assert status(locked) == 401  # nothing was kept


def test_a_browser_gets_a_cookie_and_the_token_out_of_its_address_bar(locked: TestClient) -> None:
    answer = locked.get("/", params={"token": TOKEN}, headers={"sec-fetch-site": "cross-site"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert_guarded(answer.headers)
    given = answer.headers["set-cookie"]
    assert "HttpOnly" in given
    assert "SameSite=lax" in given
    assert "Path=/" in given
    assert "Domain" not in given
    assert "Secure" not in given  # it is served without TLS
    assert TOKEN not in given
    assert answer.headers["referrer-policy"] == "no-referrer"
    name = given.partition("=")[0]
    assert name == "sentence-window-8321"
    for path in ("/", "/static/main.js", "/api/about"):
        assert status(locked, path) == 200  # the client kept the cookie


def test_the_cookie_is_only_sent_over_tls_where_there_is_tls() -> None:
    client = client_of(RETRIEVER, names=["search.example.com"], token=TOKEN, address="https://search.example.com")
    assert "Secure" in client.get("/", params={"token": TOKEN}).headers["set-cookie"]
    assert status(client) == 200


def cookie_of(client: TestClient) -> str:
    given = client.get("/", params={"token": TOKEN}).headers["set-cookie"].partition(";")[0]
    client.cookies.clear()
    return given


def test_cookies_of_other_servers_on_this_machine_are_no_hindrance(locked: TestClient) -> None:
    own = cookie_of(locked)
    assert status(locked) == 401
    for other in ('{"a": [1, "b"]}=c', "a b=c", "=", "sentence-window-8322=x", "sentence-window=x", 'q="a;b"'):
        assert status(locked, cookie=f"{other}; {own}") == status(locked, cookie=f"{own}; {other}") == 200


def test_the_cookie_of_another_port_or_process_is_none_of_this_one(locked: TestClient) -> None:
    own = cookie_of(locked)
    value = own.partition("=")[2]
    assert status(locked, cookie=f"sentence-window-8322={value}") == 401
    assert status(locked, cookie=own[:-1]) == status(locked, cookie=f"{own}0") == 401
    assert status(locked, cookie="sentence-window-8321=") == status(locked, cookie="sentence-window-8321") == 401
    again = client_of(RETRIEVER, token=TOKEN)
    assert status(again, cookie=own) == 401
    assert cookie_of(again) != own


@pytest.mark.parametrize(
    "query",
    [
        "token=",
        "token=wrong",
        "Token=" + TOKEN,
        f"token=x&token={TOKEN}",
        f"token={TOKEN}%00",
        "token=%ff",
        "token",
        f"?token={TOKEN}",
    ],
)
def test_a_wrong_token_in_the_address_gives_no_cookie(locked: TestClient, query: str) -> None:
    answer = locked.get(f"/?{query}")
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("path", ["/api/about", "/static/main.js", "/nowhere"])
def test_the_token_is_no_part_of_other_addresses(locked: TestClient, path: str) -> None:
    assert status(locked, f"{path}?token={TOKEN}") == 401


def test_the_answer_to_a_login_holds_nothing_of_the_request(locked: TestClient) -> None:
    answer = locked.get(f"/?token={TOKEN}&next=http://evil.example%0d%0aSet-Cookie:a=b")
    assert answer.headers["location"] == "/"
    assert "a=b" not in str(answer.headers)


def test_a_cookie_is_no_way_around_the_other_checks(locked: TestClient) -> None:
    own = cookie_of(locked)
    assert status(locked, cookie=own, origin="http://evil.example") == 403
    assert status(locked, cookie=own, sec_fetch_site="same-site") == 403
    assert status(locked, cookie=own, host="evil.example") == 421


# Paths

BESIDE = Path(page_server.__file__).name
"""A file beside the folder of the page's."""

OUTSIDE = [
    f"/static/../{BESIDE}",
    f"/static/..%2f{BESIDE}",
    f"/static/%2e%2e/{BESIDE}",
    f"/static/%2e%2e%2f{BESIDE}",
    f"/static/%252e%252e%252f{BESIDE}",
    f"/static/..\\{BESIDE}",
    f"/static/..%5c{BESIDE}",
    f"/static/..%c0%af{BESIDE}",
    "/static//etc/passwd",
    "/static/%2fetc%2fpasswd",
    "/static/C:%5cWindows%5cwin.ini",
    "/static/main.js%00.html",
    "/static/%00",
    "/static/views",
    "/static/",
    "/static",
    "/static/MAIN.JS",
    "/static/__init__.py",
    "/static/\udce9",
    f"/{BESIDE}",
    "/..%2f..%2fpyproject.toml",
    "/.git/config",
]


@pytest.mark.parametrize("path", OUTSIDE)
async def test_no_file_but_those_of_the_page_is_served(path: str) -> None:
    # Without a client, which would tidy the path up. Servers decode it once.
    for decoded in {path, unquote(path), unquote(unquote(path))}:
        code, headers, text = await answer_of(create_studio(RETRIEVER), decoded)
        assert code in (404, 307)  # 307: to the same path with or without its last slash
        assert "import" not in text
        assert_guarded(headers)


async def answer_of(app: Starlette, path: str) -> tuple[int, dict[str, str], str]:
    """Return status, headers and text of the answer to a path as it is."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "asgi": {"spec_version": "2.4"}, "method": "GET", "path": path, "query_string": b""}
    scope["headers"] = [(b"host", b"127.0.0.1")]
    await app(scope, receive, send)
    headers = {name.decode(): value.decode("latin-1") for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, b"".join(each.get("body", b"") for each in sent[1:]).decode()


def test_the_files_of_the_page_are_served_with_their_type(client: TestClient) -> None:
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    script = client.get("/static/main.js")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert script.headers["cache-control"] == "no-cache"
    assert client.get("/static/ask.js").status_code == 200
    again = client.get("/static/main.js", headers={"If-None-Match": script.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/", headers={"If-None-Match": script.headers["etag"]}).status_code == 200
    assert (script.headers["content-encoding"], script.headers["vary"]) == ("gzip", "Accept-Encoding")
    plain = client.get("/static/main.js", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.text == script.text
    for part in page.text.split('"'):
        if part.startswith("/static/"):
            assert client.get(part).status_code == 200


# Answers


def test_every_answer_is_guarded(client: TestClient) -> None:
    codes = set()
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO"):
        for path in ("/", "/api/about", "/api/ask", "/api/jobs", "/static/main.js", "/nowhere"):
            answer = client.request(method, path)
            assert_guarded(answer.headers)
            codes.add(answer.status_code)
    assert codes == {200, 404, 405, 415}
    assert client.get("/api/about").headers["cache-control"] == "no-store"


def test_replies_are_json_that_no_browser_takes_for_a_page(client: TestClient) -> None:
    answer = client.post("/api/ask", json={"query": "<script>alert(1)</script>", "settings": {"k": "<b>"}})
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/json")
    assert answer.headers["x-content-type-options"] == "nosniff"


def failing_app() -> Starlette:
    async def fail(request: Request) -> Response:
        raise RuntimeError(f"the secret is {TOKEN}")

    async def stream(request: Request) -> Response:
        async def lines() -> Any:
            yield b"one"
            yield b"two"

        return StreamingResponse(lines())

    return Starlette(
        routes=[Route("/fail", fail), Route("/stream", stream)],
        middleware=[Middleware(Guard, names=["127.0.0.1"], token=None)],
    )


def test_failures_and_streams_are_guarded_too(caplog: pytest.LogCaptureFixture) -> None:
    client = TestClient(failing_app(), base_url=ADDRESS)
    with caplog.at_level(logging.ERROR):
        answer = client.get("/fail")
    assert answer.status_code == 500
    assert_guarded(answer.headers)
    assert TOKEN not in answer.text
    assert "RuntimeError" in caplog.text
    streamed = client.get("/stream")
    assert streamed.text == "onetwo"
    assert_guarded(streamed.headers)


def test_sockets_are_refused(client: TestClient) -> None:
    for path in ("/", "/api/about"):
        with pytest.raises(WebSocketDisconnect), client.websocket_connect(path):
            pass


def test_the_page_runs_nothing_but_its_own_files(client: TestClient) -> None:
    policy = dict(part.strip().split(" ", 1) for part in client.get("/").headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in str(policy)
    assert "http" not in str(policy)
