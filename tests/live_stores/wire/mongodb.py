"""MongoDB as its client speaks with it: messages of its wire protocol, and the commands that the adapter sends.

It answers what version 8 documents: a vector search filters by fields that its index names, ``$eq`` and ``$in``, and
looks at no more than 10,000 candidates. All else is refused.
"""

import socketserver
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import bson

from tests.live_stores.wire.vectors import closest

MESSAGE, QUERY = 2013, 2004
PAGE = 101
HELLO = {
    "ismaster": True, "isWritablePrimary": True, "helloOk": True, "maxBsonObjectSize": 16 * 2**20,
    "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000, "minWireVersion": 0, "maxWireVersion": 25, "ok": 1,
}  # fmt: skip


class MongoDB:
    """All collections; `answer` runs a command."""

    def __init__(self, filter_fields: tuple[str, ...] = ("tenant",)) -> None:
        self.filter_fields = filter_fields
        self.collections: dict[str, dict[Any, dict[str, Any]]] = {}
        self.cursors: dict[int, list[dict[str, Any]]] = {}
        self.commands: list[str] = []
        self.lock = threading.Lock()

    def answer(self, command: Mapping[str, Any]) -> dict[str, Any]:
        name = next(iter(command))
        with self.lock:
            self.commands.append(name)
            try:
                return {**self.run(name, command), "ok": 1}
            except (ValueError, KeyError, AssertionError) as error:
                message = f"{type(error).__name__}: {error}"
                return {"ok": 0, "errmsg": message, "code": 8, "codeName": "UnknownError"}

    def run(self, name: str, command: Mapping[str, Any]) -> dict[str, Any]:
        if name in ("hello", "ismaster", "isMaster"):
            return HELLO
        if name in ("ping", "endSessions"):
            return {}
        held = self.collections.setdefault(command.get("collection", command[name]), {})
        match name:
            case "find":
                assert set(command.get("projection", {}).values()) <= {0}
                rows = [each for each in held.values() if holds(command["filter"], each)]
                return self.page([without(each, command.get("projection", {})) for each in rows], command)
            case "aggregate":
                return self.page(self.pipeline(held, command["pipeline"]), command)
            case "getMore":
                rows = self.cursors.pop(command["getMore"])
                return self.page(rows, command, following=True)
            case "update":
                for each in command["updates"]:
                    assert each["upsert"]
                    assert not any(key.startswith("$") for key in each["u"])
                    held[each["q"]["_id"]] = each["u"]
                return {"n": len(command["updates"]), "nModified": 0}
            case "delete":
                (one,) = command["deletes"]
                gone = [id_ for id_, each in held.items() if holds(one["q"], each)]
                for id_ in gone:
                    del held[id_]
                return {"n": len(gone)}
        raise ValueError(f"no such command: {name}")

    def page(
        self, rows: list[dict[str, Any]], command: Mapping[str, Any], *, following: bool = False
    ) -> dict[str, Any]:
        number = 0
        if len(rows) > PAGE:
            number = len(self.commands)
            self.cursors[number] = rows[PAGE:]
        batch = "nextBatch" if following else "firstBatch"
        collection = command.get("collection", command[next(iter(command))])
        return {"cursor": {"id": bson.Int64(number), "ns": f"db.{collection}", batch: rows[:PAGE]}}

    def pipeline(self, held: Mapping[Any, dict[str, Any]], stages: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
        search, score, *others = stages
        assert score == {"$set": {"score": {"$meta": "vectorSearchScore"}}}
        given = search["$vectorSearch"]
        if not given["limit"] <= given["numCandidates"] <= 10_000:
            raise ValueError('"numCandidates" must be within bounds [limit, 10000]')
        self.check_filter(given.get("filter", {}))
        among = [each for each in held.values() if holds(given.get("filter", {}), each)]
        found = closest(given["queryVector"], [each[given["path"]] for each in among], given["limit"])
        rows = [{**among[place], "score": (1 + cosine) / 2} for place, cosine in found]
        for stage in others:
            ((kind, fields),) = stage.items()
            assert kind == "$project"
            rows = [without(row, fields) for row in rows]
        return rows

    def check_filter(self, filter: Mapping[str, Any]) -> None:
        for key, value in filter.items():
            if key in ("$and", "$or"):
                for each in value:
                    self.check_filter(each)
            elif key not in self.filter_fields:
                raise ValueError(f"Path '{key}' needs to be indexed as filter")


def without(row: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in fields}


def holds(query: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    return all(_holds(key, wanted, row) for key, wanted in query.items())


def _holds(key: str, wanted: Any, row: Mapping[str, Any]) -> bool:
    if key == "$and":
        return all(holds(each, row) for each in wanted)
    if key == "$or":
        return any(holds(each, row) for each in wanted)
    if key.startswith("$"):
        raise ValueError(f"unknown top level operator: {key}")
    value = row.get(key)
    values = [value, *value] if isinstance(value, list) else [value]
    ((operator, operand),) = wanted.items() if isinstance(wanted, Mapping) else [("$eq", wanted)]
    if operator not in ("$eq", "$in"):
        raise ValueError(f"unknown operator: {operator}")
    return any(each in (operand if operator == "$in" else [operand]) for each in values)


@contextmanager
def serving(database: MongoDB) -> Iterator[str]:
    """Serve on a port of this machine alone; give the address as a client reads it."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while header := self.rfile.read(16):
                length, request, _, operation = struct.unpack("<iiii", header)
                body = self.rfile.read(length - 16)
                if operation == QUERY:  # the first greeting alone
                    start = body.index(b"\0", 4) + 9
                    reply = bson.encode(database.answer(bson.decode(body[start:])))
                    content, kind = struct.pack("<iqii", 8, 0, 0, 1) + reply, 1
                else:
                    assert operation == MESSAGE
                    content = struct.pack("<iB", 0, 0) + bson.encode(database.answer(command_in(body)))
                    kind = MESSAGE
                self.wfile.write(struct.pack("<iiii", 16 + len(content), 0, request, kind) + content)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"mongodb://127.0.0.1:{server.server_address[1]}/?directConnection=true"
        finally:
            server.shutdown()
            thread.join()


def command_in(message: bytes) -> dict[str, Any]:
    """Return the command of a message, with the documents of its sections."""
    (flags,) = struct.unpack_from("<I", message)
    assert not flags & 1  # no checksum
    place, command = 4, dict[str, Any]()
    while place < len(message):
        kind, (size,) = message[place], struct.unpack_from("<i", message, place + 1)
        section = message[place + 1 : place + 1 + size]
        if kind == 0:
            command = {**bson.decode(section), **command}
        else:
            end = section.index(b"\0", 4)
            command[section[4:end].decode()] = list(bson.decode_iter(section[end + 1 :]))
        place += 1 + size
    named = next(key for key in command if key not in ("updates", "deletes", "documents"))
    return {named: command[named], **command}
