"""An index of Pinecone as its client speaks with it: the part of the data plane's REST interface that is used.

It answers what Pinecone documents: numbers come back as floats, metadata holds no ``null`` and only lists of strings,
an address is no longer than 8,000 characters, a request no larger than 2 MB. All else is refused.
"""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from tests.filter_model import matches
from tests.live_stores.wire.http import Reply, Request
from tests.live_stores.wire.vectors import closest

LONGEST = 2 * 2**20
PAGE = 100


class Pinecone:
    def __init__(self) -> None:
        self.namespaces: dict[str, dict[str, dict[str, Any]]] = {}
        self.requests: list[str] = []

    def __call__(self, request: Request) -> Reply:
        self.requests.append(f"{request.method} {request.path}")
        assert request.headers["Api-Key"] == "key"
        assert request.headers["X-Pinecone-API-Version"] == "2025-04"
        try:
            return Reply(200, self.answer(request))
        except (ValueError, KeyError, AssertionError) as error:
            return Reply(400, {"code": 3, "message": f"{type(error).__name__}: {error}", "details": []})

    def answer(self, request: Request) -> Any:
        body = request.json()
        held = self.namespaces.setdefault(body.get("namespace") or request.query.get("namespace", ""), {})
        match request.method, request.path:
            case "POST", "/vectors/upsert":
                assert len(request.body) <= LONGEST
                for vector in body["vectors"]:
                    assert set(vector) == {"id", "values", "metadata"}
                    held[vector["id"]] = {**vector, "metadata": checked(vector["metadata"])}
                return {"upsertedCount": len(body["vectors"])}
            case "POST", "/vectors/delete":
                for id_ in body["ids"]:
                    held.pop(id_, None)
                return {}
            case "POST", "/query":
                return {"matches": self.nearest(held, body), "namespace": body.get("namespace", "")}
            case "GET", "/vectors/fetch":
                ids = parse_qs(request.address.partition("?")[2])["ids"]
                assert len(request.address) <= 8_000
                assert len(ids) <= 1_000
                return {"vectors": {id_: held[id_] for id_ in ids if id_ in held}, "namespace": ""}
            case "GET", "/vectors/list":
                ids = sorted(held)
                start = int(request.query.get("paginationToken", 0))
                end = start + PAGE
                following = {"pagination": {"next": str(end)}} if end < len(ids) else {}
                return {"vectors": [{"id": id_} for id_ in ids[start:end]], **following}
        raise ValueError(f"no handler for {request.method} {request.path}")

    def nearest(self, held: Mapping[str, Any], body: Mapping[str, Any]) -> list[dict[str, Any]]:
        assert 1 <= body["topK"] <= 10_000
        assert body["includeMetadata"]
        within = body.get("filter") or {}
        among = [each for each in held.values() if matches(each["metadata"], within)]
        found = closest(body["vector"], [each["values"] for each in among], body["topK"])
        return [{"id": among[i]["id"], "score": score, "metadata": among[i]["metadata"]} for i, score in found]


def checked(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata as Pinecone keeps it."""
    assert len(json.dumps(metadata)) <= 40 * 2**10
    kept: dict[str, Any] = {}
    for key, value in metadata.items():
        if not key or key.startswith("$"):
            raise ValueError(f"Metadata key {key!r} is invalid")
        is_list = isinstance(value, list) and all(isinstance(each, str) for each in value)
        if not is_list and not isinstance(value, str | int | float):
            raise ValueError(f"Metadata value must be a string, number, boolean or list of strings, got {value!r}")
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        kept[key] = float(value) if is_number else value
    return kept
