"""Requests as attackers send them, and the headers of each answer."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from starlette.types import Message

from app.tests.studio.making import ADDRESS, client_of, small_retriever
from langchain_sentence_window.errors import InvalidInputError
from sentence_window.studio import create_studio
from tests.toys import WordEmbeddings

TOKEN = "a-token-of-26-characters"  # noqa: S105
RETRIEVER = small_retriever()
SAFE = {
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


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
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] in ("no-store", "no-cache")


# Names

OWN = ["127.0.0.1:8321", "localhost:8321", "LOCALHOST:8321", "[::1]:8321", "127.0.0.1", "[::1]"]
FOREIGN = [
    "evil.example",
    "127.0.0.1.evil.example:8321",
    "evil.example@127.0.0.1",
    "localhost.",
    "[::1]evil.example:8321",
    "127.0.0.1:",
    "127.0.0.1,evil.example",
    "127.1",
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


def test_names_of_other_hosts_work_behind_a_proxy_that_passes_them_on() -> None:
    client = client_of(RETRIEVER, names=["Search.example.com"], token=TOKEN)
    key = {"authorization": f"Bearer {TOKEN}"}
    for host, origin in [
        ("search.example.com", "https://search.example.com"),
        ("search.example.com:443", "https://search.example.com"),
        ("search.example.com:8443", "https://search.example.com:8443"),
        ("search.example.com:80", "http://search.example.com"),
    ]:
        assert client.get("/api/questions", headers={"host": host, "origin": origin, **key}).status_code == 200
    for host, origin in [
        ("search.example.com", "https://search.example.com:8443"),
        ("search.example.com:80", "https://search.example.com"),
        ("127.0.0.1:8321", "https://search.example.com"),
        ("other.example.com", "https://other.example.com"),
    ]:
        assert client.get("/api/questions", headers={"host": host, "origin": origin, **key}).status_code in (403, 421)


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
    "http://user@127.0.0.1:8321",
    "chrome-extension://127.0.0.1:8321",
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
        "Bearer ",
        f"Basic {TOKEN}",
        f"Bearer {TOKEN} ",
        f"Bearer {TOKEN[:-1]}",
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
        "token=wrong",
        "Token=" + TOKEN,
        f"token=x&token={TOKEN}",
        "token=%ff",
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


def test_a_cookie_is_no_way_around_the_other_checks(locked: TestClient) -> None:
    own = cookie_of(locked)
    assert status(locked, cookie=own, origin="http://evil.example") == 403
    assert status(locked, cookie=own, sec_fetch_site="same-site") == 403
    assert status(locked, cookie=own, host="evil.example") == 421


# Paths

BESIDE = "page_server.py"
"""A file next to the folder of the page's."""

OUTSIDE = [
    f"/static/../{BESIDE}",
    f"/static/..%2f{BESIDE}",
    f"/static/%2e%2e%2f{BESIDE}",
    f"/static/%252e%252e%252f{BESIDE}",
    f"/static/..%5c{BESIDE}",
    f"/static/..%c0%af{BESIDE}",
    "/static//etc/passwd",
    "/static/C:%5cWindows%5cwin.ini",
    "/static/main.js%00.html",
    "/static/",
    "/static/MAIN.JS",
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
        for path in ("/", "/api/about", "/api/ask", "/api/questions", "/static/main.js", "/nowhere"):
            answer = client.request(method, path)
            assert_guarded(answer.headers)
            codes.add(answer.status_code)
    assert codes == {200, 404, 405, 415}
    assert client.get("/api/about").headers["cache-control"] == "no-store"


def test_unexpected_errors_are_logged_and_guarded(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(WordEmbeddings):
        def embed_query(self, text: str) -> list[float]:
            raise RuntimeError("The embedder\nfailed. " + "x" * 10_000)

    retriever = small_retriever()
    retriever.vectorstore.embeddings.__class__ = Failing
    answer = client_of(retriever).post("/api/ask", json={"query": "refund"})
    assert answer.status_code == 500
    assert_guarded(answer.headers)
    assert answer.json()["error"]["message"].startswith("RuntimeError: The embedder failed. xxx")
    assert len(answer.text) < 1_000
    assert "a call of the page failed" in caplog.text


def test_the_page_runs_nothing_but_its_own_files(client: TestClient) -> None:
    policy = dict(part.strip().split(" ", 1) for part in client.get("/").headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in str(policy)
    assert "http" not in str(policy)
