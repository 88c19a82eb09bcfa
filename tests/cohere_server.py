"""A server on loopback that speaks as much of Cohere's API as reranking needs."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@contextmanager
def cohere_server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve on a free port until the block ends; documents score by the share of the query's words they hold.

    Yields:
        What clients are given as base URL, and the bodies of the requests so far.
    """
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append({"path": self.path, **body})
            if not self.path.endswith("/rerank"):
                self.send_error(404)
                return
            answer = json.dumps({"id": "1", "results": _results(body), "meta": {"api_version": {"version": "2"}}})
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet."""

    class Server(ThreadingHTTPServer):
        daemon_threads = False  # so that closing waits for the answers under way

    with Server(("127.0.0.1", 0), Handler) as http:
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}", requests
        finally:
            http.shutdown()
            thread.join()


def _results(body: dict[str, Any]) -> list[dict[str, Any]]:
    query = _words(body["query"])
    texts = [each if isinstance(each, str) else each["text"] for each in body["documents"]]
    scored = [{"index": i, "relevance_score": len(query & _words(text)) / len(query)} for i, text in enumerate(texts)]
    return sorted(scored, key=lambda result: -result["relevance_score"])[: body.get("top_n") or len(scored)]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
