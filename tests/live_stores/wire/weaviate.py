"""Weaviate as its client speaks with it: schemas by REST, objects and searches by gRPC, of its version 1.34.

It answers what Weaviate documents: a new key becomes a property whose type later values must have, numbers are floats,
names of properties begin with a small letter, and no more than 10,000 results are given. All else is refused.
"""

import re
import struct
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import grpc
import numpy as np
from weaviate.proto.v1 import batch_delete_pb2, batch_pb2, properties_pb2, search_get_pb2, weaviate_pb2_grpc

from tests.live_stores.wire import http
from tests.live_stores.wire.vectors import closest

NAME = re.compile(r"[_a-z]\w{0,230}", re.ASCII)
SETTINGS = {
    "invertedIndexConfig": {
        "bm25": {"b": 0.75, "k1": 1.2}, "cleanupIntervalSeconds": 60,
        "stopwords": {"preset": "en", "additions": None, "removals": None},
    },
    "multiTenancyConfig": {"enabled": False}, "replicationConfig": {"factor": 1, "asyncEnabled": False},
    "shardingConfig": {
        "virtualPerPhysical": 128, "desiredCount": 1, "actualCount": 1, "desiredVirtualCount": 128,
        "actualVirtualCount": 128, "key": "_id", "strategy": "hash", "function": "murmur3",
    },
    "vectorizer": "none", "vectorIndexType": "hnsw",
    "vectorIndexConfig": {
        "distance": "cosine", "cleanupIntervalSeconds": 300, "dynamicEfMin": 100, "dynamicEfMax": 500,
        "dynamicEfFactor": 8, "ef": -1, "efConstruction": 128, "filterStrategy": "sweeping",
        "flatSearchCutoff": 40_000, "maxConnections": 32, "skip": False, "vectorCacheMaxObjects": 10**12,
    },
}  # fmt: skip


class Weaviate:
    def __init__(self) -> None:
        self.schemas: dict[str, Any] = {}
        self.objects: dict[str, dict[str, dict[str, Any]]] = {}
        self.types: dict[tuple[str, str], type] = {}

    def rest(self, request: http.Request) -> http.Reply:
        *_, last = request.path.split("/")
        match request.method, request.path:
            case "GET", "/v1/.well-known/openid-configuration":
                return http.Reply(404)
            case "GET", "/v1/meta":
                return http.Reply(200, {"version": "1.34.0", "grpcMaxMessageSize": 10 * 2**20, "modules": {}})
            case "GET", "/v1/schema":
                return http.Reply(200, {"classes": [self.schema(name) for name in self.schemas]})
            case "POST", "/v1/schema":
                self.schemas[request.json()["class"]] = request.json()
                self.objects[request.json()["class"]] = {}
                return http.Reply(200, request.json())
        if request.method == "GET" and request.path == f"/v1/schema/{last}":
            if last not in self.schemas:
                return http.Reply(404)
            return http.Reply(200, self.schema(last))
        return http.Reply(400, {"error": [{"message": f"no handler for {request.method} {request.path}"}]})

    def schema(self, name: str) -> dict[str, Any]:
        return {**SETTINGS, "class": name, "properties": []}

    def note_types(self, collection: str, properties: Mapping[str, Any]) -> None:
        for key, value in properties.items():
            if not NAME.fullmatch(key) or key in ("id", "_id", "_additional"):
                raise ValueError(f"'{key}' is not a valid property name")
            known = self.types.setdefault((collection, key), type(value))
            if known is not type(value):
                raise ValueError(f"invalid {known.__name__} property '{key}': {value!r}")

    def insert(self, sent: Any) -> None:
        properties: dict[str, Any] = dict(sent.properties.non_ref_properties)
        for each in sent.properties.text_array_properties:
            properties[each.prop_name] = list(each.values)
        for each in sent.properties.number_array_properties:
            properties[each.prop_name] = np.frombuffer(each.values_bytes, dtype="<f8").tolist()
        for each in sent.properties.int_array_properties:
            properties[each.prop_name] = list(map(float, each.values))
        self.note_types(sent.collection, properties)
        vector = np.frombuffer(sent.vectors[0].vector_bytes if sent.vectors else sent.vector_bytes, dtype="<f4")
        self.objects[sent.collection][str(UUID(sent.uuid))] = {"properties": properties, "vector": vector}

    def among(self, collection: str, filters: Any) -> dict[str, dict[str, Any]]:
        held = self.objects[collection]
        return held if filters is None else {id_: each for id_, each in held.items() if holds(filters, id_, each)}

    def found(self, request: Any) -> list[tuple[str, float | None]]:
        filters = request.filters if request.HasField("filters") else None
        among = self.among(request.collection, filters)
        limit = request.limit or 10
        if request.offset + limit > 10_000:
            raise ValueError("query maximum results exceeded")
        if request.HasField("near_vector"):
            near = request.near_vector
            packed = near.vectors[0].vector_bytes if near.vectors else near.vector_bytes
            ids = list(among)
            best = closest(
                np.frombuffer(packed, dtype="<f4").tolist(), [each["vector"] for each in among.values()], limit
            )
            return [(ids[place], 1 - cosine) for place, cosine in best]
        if request.HasField("hybrid_search"):
            raise ValueError("no hybrid search here")
        ids = [id_ for id_ in sorted(among) if id_ > request.after]
        return [(id_, None) for id_ in ids[request.offset : request.offset + limit]]


def holds(filters: Any, id_: str, found: Mapping[str, Any]) -> bool:
    kind = type(filters)
    if filters.operator == kind.OPERATOR_AND:
        return all(holds(each, id_, found) for each in filters.filters)
    key = filters.target.property
    if key == "_id":
        assert filters.operator == kind.OPERATOR_CONTAINS_ANY
        return id_ in filters.value_text_array.values
    assert filters.operator in (kind.OPERATOR_EQUAL, kind.OPERATOR_NOT_EQUAL)
    # Text is indexed word by word, in small letters.
    words = re.findall(r"\w+", str(found["properties"].get(key, "")).lower())
    has_all = set(re.findall(r"\w+", filters.value_text.lower())) <= set(words)
    return has_all is (filters.operator == kind.OPERATOR_EQUAL)


class Servicer(weaviate_pb2_grpc.WeaviateServicer):
    def __init__(self, state: Weaviate) -> None:
        self.state = state

    def BatchObjects(self, request: Any, context: Any) -> Any:  # noqa: N802
        errors = []
        for place, sent in enumerate(request.objects):
            try:
                self.state.insert(sent)
            except ValueError as refused:
                errors.append(batch_pb2.BatchObjectsReply.BatchError(index=place, error=str(refused)))
        return batch_pb2.BatchObjectsReply(took=0, errors=errors)

    def BatchDelete(self, request: Any, context: Any) -> Any:  # noqa: N802
        gone = list(self.state.among(request.collection, request.filters))
        for id_ in gone:
            del self.state.objects[request.collection][id_]
        return batch_delete_pb2.BatchDeleteReply(took=0, matches=len(gone), successful=len(gone))

    def Search(self, request: Any, context: Any) -> Any:  # noqa: N802
        try:
            found = self.state.found(request)
        except (ValueError, AssertionError) as refused:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(refused))
        held = self.state.objects[request.collection]
        keys = {key for collection, key in self.state.types if collection == request.collection}
        return search_get_pb2.SearchReply(results=[result(held[id_], id_, distance, keys) for id_, distance in found])


def result(held: Mapping[str, Any], id_: str, distance: float | None, keys: set[str]) -> Any:
    fields = {key: value_of(held["properties"].get(key)) for key in keys}
    return search_get_pb2.SearchResult(
        properties=search_get_pb2.PropertiesResult(non_ref_props=properties_pb2.Properties(fields=fields)),
        metadata=search_get_pb2.MetadataResult(
            id=id_, id_as_bytes=UUID(id_).bytes, distance=distance or 0, distance_present=distance is not None
        ),
    )


def value_of(given: Any) -> Any:
    if given is None:
        return properties_pb2.Value(null_value=0)
    if isinstance(given, list):
        return properties_pb2.Value(list_value=values_of(given))
    if isinstance(given, bool):
        return properties_pb2.Value(bool_value=given)
    if isinstance(given, float):
        return properties_pb2.Value(number_value=given)
    return properties_pb2.Value(text_value=given)


def values_of(given: list[Any]) -> Any:
    if isinstance(given[0], str):
        return properties_pb2.ListValue(text_values=properties_pb2.TextValues(values=given))
    packed = struct.pack(f"<{len(given)}d", *given)
    return properties_pb2.ListValue(number_values=properties_pb2.NumberValues(values=packed))


@contextmanager
def serving() -> Iterator[tuple[str, int, int]]:
    """Serve on two ports of this machine alone; give its name, that of REST and that of gRPC."""
    state = Weaviate()
    server = grpc.server(ThreadPoolExecutor(4))
    add_to: Any = weaviate_pb2_grpc.add_WeaviateServicer_to_server
    add_to(Servicer(state), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with http.serving(state.rest) as url:
            yield "127.0.0.1", int(url.rpartition(":")[2]), port
    finally:
        server.stop(None).wait()
