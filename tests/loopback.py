"""A server on loopback that records what it is sent and answers as it is told, for clients of any API."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Body = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """Hold what the server sends: JSON, or server-sent events, each an event's name (or none) and its data."""

    body: Any = None
    events: list[tuple[str, Any]] | None = None
    status: int = 200


@dataclass
class Loopback:
    """A running server.

    Attributes:
        url: Where it listens.
        requests: Path and body of every request, in order.
    """

    url: str
    requests: list[tuple[str, Body]] = field(default_factory=list)

    @property
    def last(self) -> Body:
        return self.requests[-1][1]


@contextmanager
def loopback(answer: Callable[[str, Body], Answer]) -> Iterator[Loopback]:
    """Serve on a free port until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        # HTTP/1.0, the default, closes after each answer: no client is left with an open socket.

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append((self.path, body))
            given = answer(self.path, body)
            is_stream = given.events is not None
            self.send_response(given.status)
            self.send_header("Content-Type", "text/event-stream" if is_stream else "application/json")
            self.end_headers()
            if given.events is None:
                self.wfile.write(json.dumps(given.body).encode())
            for name, data in given.events or []:
                event = f"event: {name}\n" if name else ""
                self.wfile.write(f"{event}data: {json.dumps(data)}\n\n".encode())

        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet."""

    class Server(ThreadingHTTPServer):
        daemon_threads = False  # so that closing waits for the answers under way

    with Server(("127.0.0.1", 0), Handler) as http:
        server = Loopback(f"http://127.0.0.1:{http.server_port}")
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
