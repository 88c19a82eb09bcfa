"""A loopback HTTP server in which a class answers requests, for clients whose servers don't start here."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Request:
    """A request as it came."""

    method: str
    address: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body) if self.body else {}


@dataclass
class Reply:
    """An answer: JSON, or nothing."""

    status: int = 200
    content: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


Answer = Callable[[Request], Reply]


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """Serve on a port of this machine alone; give the address."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def respond(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            query = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
            request = Request(self.command, self.path, parts.path, query, dict(self.headers), self.rfile.read(length))
            with lock:
                reply = answer(request)
            content = b"" if reply.content is None else json.dumps(reply.content).encode()
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    for method in ("GET", "POST", "PUT", "DELETE", "HEAD"):
        setattr(Handler, f"do_{method}", Handler.respond)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
