"""The page served by a process of its own, and asked over plain sockets, as no tidy client would."""

import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.tests.studio.making import small_retriever
from langchain_sentence_window.errors import InvalidInputError
from sentence_window.studio import serve_studio
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[3]
TOKEN = "a&b#c%d?e=f/g+h"  # noqa: S105
ANY = "0.0.0.0"  # noqa: S104


@dataclass(frozen=True)
class Running:
    """A page in another process.

    Attributes:
        process: The process.
        address: What it printed.
        port: Where it listens.
    """

    process: subprocess.Popen[str]
    address: str
    port: int

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def send(self, request: bytes, *, ends: bool = False) -> bytes:
        """Send bytes, and return all that comes until the server closes; ``ends`` closes this side before."""
        with self.connect() as connection:
            try:
                connection.sendall(request)
                if ends:
                    connection.shutdown(socket.SHUT_WR)
            except OSError:  # refused before all was sent
                pass
            return read_all(connection)

    def get(self, path: str, *headers: str) -> bytes:
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", "Connection: close", *headers, "", ""]
        return self.send("\r\n".join(lines).encode())


def read_all(connection: socket.socket) -> bytes:
    parts = []
    try:
        while part := connection.recv(65_536):
            parts.append(part)
    except ConnectionError:  # closed while it was sent more
        pass
    return b"".join(parts)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@contextmanager
def running(*arguments: str) -> Iterator[Running]:
    command = [sys.executable, "-m", "app.tests.studio.served", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.fullmatch(r"The page is at (http://127\.0\.0\.1:(\d+)/\S*) \(Ctrl-C ends it\)\n", line)
        assert found, line + process.stdout.read()
        yield Running(process, found[1], int(found[2]))
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running("0") as found:
        yield found


@pytest.mark.process
@pytest.mark.slow
def test_it_says_where_it_is_and_ends_at_ctrl_c() -> None:
    with running("0") as found:
        with found.connect():  # who stays connected doesn't hold it up
            assert status(found.get("/")) == 200  # so it knows the connection before
            found.process.send_signal(signal.SIGINT)
            output, _ = found.process.communicate(timeout=PATIENCE)
        assert found.process.returncode == 0
        assert output == ""


@pytest.mark.process
@pytest.mark.slow
def test_the_address_that_is_printed_lets_a_browser_in() -> None:
    with running("0", TOKEN) as found:
        path = found.address.removeprefix(f"http://127.0.0.1:{found.port}")
        assert status(found.get("/api/about")) == 401
        answer = found.get(path)
        assert status(answer) == 303
        assert TOKEN.encode() not in answer
        cookie = re.search(rb"set-cookie: ([^;]+)", answer)
        assert cookie
        assert status(found.get("/api/about", f"Cookie: {cookie[1].decode()}")) == 200
        assert status(found.get("/api/about", f"Authorization: Bearer {TOKEN}")) == 200
        found.process.send_signal(signal.SIGINT)
        assert TOKEN not in found.process.communicate(timeout=PATIENCE)[0]


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInputError, match=f"port {port} of '127.0.0.1'.*choose another port"):
            serve_studio(small_retriever(), port=port)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"host": ANY}, "every address of this machine"),
        ({"host": ANY, "names": ["a.example"]}, "give a token"),
        ({"host": "::", "names": ["a.example"]}, "give a token"),
        ({"host": "192.168.1.2"}, "open to everyone who can reach 192.168.1.2"),
        ({"names": ["search.example.com"]}, "open to everyone who can reach search.example.com"),
        ({"names": ["[2001:db8::1]"]}, "open to everyone who can reach 2001:db8::1"),
        ({"host": "192.168.1.2", "token": ""}, "can't be sent"),
        ({"host": ""}, "give an address"),
        ({"host": "no such host"}, "nothing can listen|give a token"),
        ({"port": 70_000}, "0 to 65535"),
        ({"port": "80"}, "0 to 65535"),
        ({"names": "localhost"}, "list of names"),
    ],
)
def test_what_would_be_open_to_others_is_not_served(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        serve_studio(small_retriever(), **{"port": 0, **settings})


def test_answers_carry_the_headers_and_do_not_name_the_server(server: Running) -> None:
    for path in ("/", "/nowhere", "/api/about", "/static/main.js"):
        head = server.get(path).partition(b"\r\n\r\n")[0].decode("latin-1").lower()
        assert "x-frame-options: deny" in head
        assert "content-security-policy: default-src 'none'" in head
        assert "uvicorn" not in head
        assert "starlette" not in head


def test_huge_bodies_are_refused_before_they_end(server: Running) -> None:
    with server.connect() as connection:
        head = f"POST /api/ask HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: 10000000000\r\n\r\n".encode())
        for _ in range(21):
            connection.sendall(b" " * 1_000_000)
        assert status(connection.recv(65_536)) == 413  # without waiting for the rest


def test_slow_and_silent_clients_do_not_block_others(server: Running) -> None:
    head = f"POST /api/ask HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n".encode()
    with ExitStack() as stack:
        for i in range(150):
            connection = stack.enter_context(server.connect())
            if i % 3 == 0:
                connection.sendall(head)  # a head without an end
            elif i % 3 == 1:
                connection.sendall(head + b'Content-Length: 100\r\n\r\n{"query"')
        answers: list[int] = []
        threads = [threading.Thread(target=lambda: answers.append(status(server.get("/api/about")))) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert answers == [200] * 5


@pytest.mark.process
@pytest.mark.slow
def test_sockets_are_refused(server: Running) -> None:
    upgrade = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
    head = ["GET /api/about HTTP/1.1", f"Host: 127.0.0.1:{server.port}", *upgrade]
    with server.connect() as connection:
        connection.sendall("\r\n".join([*head, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "", ""]).encode())
        assert status(connection.recv(65_536)) == 200  # the same as without the upgrade
