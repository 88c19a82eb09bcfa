"""A server on loopback that speaks as much of OpenAI's API as embeddings and chat need."""

import base64
import json
import re
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Literal

from tests.patience import PATIENCE
from tests.toys import WordEmbeddings

Message = dict[str, Any]
Fault = int | Literal["hang", "die"]
Reply = Callable[[list[Message]], str | Message]
"""Makes what the model says to some messages: a text, or a message of the assistant, e.g. with tool calls."""


@dataclass
class OpenAIServer:
    """Hold what a running server answers with, and what it was asked.

    Attributes:
        base_url: What clients are given.
        reply: Makes the answer of the chat from the messages that were sent.
        requests: Path and body of every request, in order.
        faults: What goes wrong with the next chats, one after the other: a status to answer with, ``hang``,
            or ``die`` for a stream that breaks off after some words.
    """

    base_url: str
    reply: Reply
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    closing: Event = field(default_factory=Event)

    def bodies(self, path: str) -> list[dict[str, Any]]:
        """The bodies sent to a path, such as ``/v1/embeddings``."""
        return [body for asked, body in self.requests if asked == path]

    def prompts(self) -> list[list[Message]]:
        """The messages the chat model was shown, for each call."""
        return [body["messages"] for body in self.bodies("/v1/chat/completions")]


@contextmanager
def openai_server(reply: Reply) -> Iterator[OpenAIServer]:  # noqa: C901 - the handler lies in it
    """Serve on a free port until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        # HTTP/1.0, the default, closes after each answer: no client is left with an open socket.

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append((self.path, body))
            fault = server.faults.pop(0) if server.faults and self.path == "/v1/chat/completions" else None
            if fault is not None:
                self._fail(fault, body)
            elif self.path == "/v1/embeddings":
                self._send("application/json", json.dumps(_embeddings(body)))
            elif self.path == "/v1/chat/completions" and body.get("stream"):
                self._send("text/event-stream", *_events(body["model"], str(server.reply(body["messages"]))))
            elif self.path == "/v1/chat/completions":
                self._send("application/json", json.dumps(_completion(body["model"], server.reply(body["messages"]))))
            else:
                self.send_error(404)

        def _fail(self, fault: Fault, body: dict[str, Any]) -> None:
            if fault == "hang":
                server.closing.wait(PATIENCE)
            elif fault == "die":
                # More was announced than comes.
                parts = list(_events(body["model"], str(server.reply(body["messages"]))))
                self._send("text/event-stream", *parts[:4], announced=10_000)
            else:
                self.send_response(fault)
                self.send_header("Retry-After-Ms", "1")
                self.end_headers()

        def _send(self, content_type: str, *parts: str, announced: int | None = None) -> None:
            self.send_response(200)
            if announced is not None:
                self.send_header("Content-Length", str(announced))
            self.send_header("Content-Type", content_type)
            self.end_headers()
            for part in parts:
                self.wfile.write(part.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet."""

    class Server(ThreadingHTTPServer):
        daemon_threads = False  # so that closing waits for the answers under way

    with Server(("127.0.0.1", 0), Handler) as http:
        server = OpenAIServer(f"http://127.0.0.1:{http.server_port}/v1", reply)
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            http.shutdown()
            thread.join()


def _embeddings(body: dict[str, Any]) -> dict[str, Any]:
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    vectors: list[Any] = [WordEmbeddings().vector(text) for text in texts]
    if body.get("encoding_format") == "base64":
        vectors = [base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode() for vector in vectors]
    return {
        "object": "list",
        "model": body["model"],
        "data": [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)],
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }


def _completion(model: str, reply: str | Message) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply} if isinstance(reply, str) else reply
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "1", "object": "chat.completion", "created": 0, "model": model, "choices": [choice], "usage": usage}


def _events(model: str, text: str) -> Iterator[str]:
    """The answer word by word, as server-sent events."""
    deltas: list[dict[str, str]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": part} for part in re.findall(r"\s*\S+|\s+$", text)]
    for i, delta in enumerate([*deltas, {}]):
        choice = {"index": 0, "delta": delta, "finish_reason": "stop" if i == len(deltas) else None}
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": model, "choices": [choice]}
        yield f"data: {json.dumps(chunk)}\n\n"
    yield "data: [DONE]\n\n"
