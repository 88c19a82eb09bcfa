"""Elasticsearch as its client speaks with it: the part of its REST interface that the adapter and the store use.

It answers what version 8.19 documents: an index makes a type for each new key of metadata and refuses other types, a
search by vectors refuses more documents than candidates, and a scroll ends with an empty page. All else is refused.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.live_stores.wire.http import Reply, Request
from tests.live_stores.wire.vectors import closest

SHARDS = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
PRODUCT = {"X-Elastic-Product": "Elasticsearch"}
DATE = re.compile(r"\d{4}-\d\d-\d\d(T.*)?")


class Index:
    def __init__(self, mappings: Mapping[str, Any]) -> None:
        self.vector = next(name for name, each in mappings["properties"].items() if each["type"] == "dense_vector")
        self.similarity = mappings["properties"][self.vector]["similarity"]
        self.finds_dates = True
        self.types: dict[str, str] = {}
        self.documents: dict[str, dict[str, Any]] = {}

    def write(self, id_: str, document: dict[str, Any]) -> None:
        for key, value in document["metadata"].items():
            self.note_type(key, value)
        self.documents[id_] = document

    def note_type(self, key: str, value: Any) -> None:
        for each in value if isinstance(value, list) else [value]:
            if each is None:
                continue
            kind = self.type_of(each)
            known = self.types.setdefault(key, kind)
            fits = known == kind or (known == "text" and kind in ("date", "long", "float", "boolean"))
            if not fits and not (known == "float" and kind == "long"):
                raise ValueError(f"failed to parse field [metadata.{key}] of type [{known}]")

    def type_of(self, value: Any) -> str:
        if isinstance(value, bool):
            return "boolean"
        if isinstance(value, int):
            if not -(2**63) <= value < 2**63:
                raise ValueError("out of range for a long")
            return "long"
        if isinstance(value, float):
            return "float"
        if isinstance(value, str):
            return "date" if self.finds_dates and DATE.fullmatch(value) else "text"
        return "object"

    def matching(self, clauses: Any) -> dict[str, dict[str, Any]]:
        clauses = clauses if isinstance(clauses, list) else [clauses]
        return {id_: each for id_, each in self.documents.items() if all(holds(c, id_, each) for c in clauses)}


def holds(clause: Mapping[str, Any], id_: str, document: Mapping[str, Any]) -> bool:
    ((kind, given),) = clause.items()
    if kind == "ids":
        return id_ in given["values"]
    if kind == "bool":
        assert set(given) <= {"filter", "must_not"}
        return all(holds(each, id_, document) for each in given.get("filter", [])) and not any(
            holds(each, id_, document) for each in given.get("must_not", [])
        )
    if kind in ("term", "terms"):
        ((path, wanted),) = given.items()
        _, key, keyword = path.split(".")
        assert keyword == "keyword"
        value = document["metadata"].get(key)
        values = value if isinstance(value, list) else [value]
        return any(each in (wanted if kind == "terms" else [wanted]) for each in values)
    raise ValueError(f"unknown query [{kind}]")


class Elasticsearch:
    """All indices; an object of it answers requests."""

    def __init__(self) -> None:
        self.indices: dict[str, Index] = {}
        self.scrolls: dict[str, list[dict[str, Any]]] = {}
        self.requests: list[str] = []

    def __call__(self, request: Request) -> Reply:
        self.requests.append(f"{request.method} {re.sub('i[0-9a-f]{32}', 'INDEX', request.path)}")
        try:
            reply = self.answer(request)
        except (ValueError, KeyError, AssertionError) as error:
            reply = self.failed(400, f"{type(error).__name__}: {error}")
        return Reply(reply.status, reply.content, PRODUCT)

    def failed(self, status: int, reason: str) -> Reply:
        return Reply(status, {"error": {"type": "illegal_argument_exception", "reason": reason}, "status": status})

    def answer(self, request: Request) -> Reply:
        *names, last = request.path.strip("/").split("/")
        match request.method, names, last:
            case "PUT" | "POST", [], "_bulk":
                return self.bulk(request)
            case "POST", ["_search"], "scroll":
                return self.scrolled(request.json()["scroll_id"], 1_000)
            case "DELETE", ["_search"], "scroll":
                self.scrolls.pop(request.json()["scroll_id"], None)
                return Reply(200, {"succeeded": True, "num_freed": 1})
            case "HEAD", [], index:
                return Reply(200 if index in self.indices else 404)
            case "PUT", [], index:
                self.indices[index] = Index(request.json()["mappings"])
                return Reply(200, {"acknowledged": True, "index": index})
            case _, [index], asked:
                return self.answer_of(request, index, asked)
        raise ValueError(f"no handler for {request.method} {request.path}")

    def answer_of(self, request: Request, index: str, asked: str) -> Reply:
        if index not in self.indices:
            if request.query.get("ignore_unavailable") == "true":
                return Reply(200, {"_shards": SHARDS, "hits": {"hits": []}})
            return self.failed(404, f"no such index [{index}]")
        match request.method, asked:
            case "PUT", "_mapping":
                (self.indices[index].finds_dates,) = request.json().values()
                return Reply(200, {"acknowledged": True})
            case "POST", "_mget":
                held = self.indices[index].documents
                return Reply(200, {"docs": [self.hit(held, index, id_) for id_ in request.json()["ids"]]})
            case "POST", "_search":
                return self.search(request, index)
        raise ValueError(f"no handler for {request.method} {request.path}")

    def hit(self, held: Mapping[str, Any], index: str, id_: str) -> dict[str, Any]:
        if id_ not in held:
            return {"_index": index, "_id": id_, "found": False}
        return {"_index": index, "_id": id_, "found": True, "_source": self.source(held[id_])}

    def source(self, document: Mapping[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in document.items() if key in ("text", "metadata")}

    def bulk(self, request: Request) -> Reply:
        lines, items, failed = iter(request.body.splitlines()), list[Any](), False
        for line in lines:
            ((operation, given),) = json.loads(line).items()
            status, error = 200, None
            held = self.indices[given["_index"]]
            if operation == "index":
                try:
                    held.write(given["_id"], json.loads(next(lines)))
                except ValueError as refused:
                    status, error = 400, {"type": "document_parsing_exception", "reason": str(refused)}
            elif held.documents.pop(given["_id"], None) is None:
                status = 404
            item = {"_index": given["_index"], "_id": given["_id"], "status": status}
            items.append({operation: item | ({} if error is None else {"error": error})})
            failed = failed or status >= 400
        return Reply(200, {"took": 1, "errors": failed, "items": items})

    def search(self, request: Request, index: str) -> Reply:
        body, held = request.json(), self.indices[index]
        size = body.get("size", 10)
        if not 0 <= size <= 10_000:
            raise ValueError("Result window is too large, from + size must be less than or equal to: [10000]")
        if "knn" in body:
            found = self.nearest(held, body["knn"])[:size]
        else:
            found = [(id_, 0.0) for id_ in held.matching(body["query"])]
        hits = [
            {"_index": index, "_id": id_, "_score": score, "_source": self.source(held.documents[id_])}
            for id_, score in found
        ]
        if "scroll" in request.query:
            self.scrolls["s"] = hits
            return self.scrolled("s", size)
        return Reply(200, {"took": 1, "timed_out": False, "hits": {"hits": hits[:size]}})

    def scrolled(self, scroll_id: str, size: int) -> Reply:
        hits = self.scrolls[scroll_id]
        self.scrolls[scroll_id] = hits[size:]
        return Reply(200, {"_scroll_id": scroll_id, "_shards": SHARDS, "hits": {"hits": hits[:size]}})

    def nearest(self, held: Index, knn: Mapping[str, Any]) -> list[tuple[str, float]]:
        k, candidates = knn["k"], knn["num_candidates"]
        if not 1 <= k <= candidates <= 10_000:
            raise ValueError(f"[num_candidates] cannot be less than [k] or more than 10000, was [{candidates}]")
        assert held.similarity == "cosine"
        assert knn["field"] == held.vector
        among = held.matching(knn["filter"])
        names = list(among)
        vectors = [each[held.vector] for each in among.values()]
        return [(names[place], (1 + cosine) / 2) for place, cosine in closest(knn["query_vector"], vectors, k)]
