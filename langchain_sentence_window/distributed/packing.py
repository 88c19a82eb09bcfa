"""Documents and outcomes as bytes, as they travel between processes: JSON, which any text fits into."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window.distributed.outcomes import Outcome
from langchain_sentence_window.documents.parts.grouping import Group, group_by_name
from langchain_sentence_window.documents.stored_metadata import JSON, MetadataFitter


def pack(name: str, parts: Sequence[Document]) -> bytes:
    """Write a document with all of its parts; metadata that JSON can't hold is left out, see `fitted_to_json`."""
    fitted = MetadataFitter(JSON).fit(parts)
    return _written([name, *([part.id, part.page_content, part.metadata] for part in fitted)])


def unpack(packed: bytes, join: Any) -> Group:
    """Read what `pack` wrote."""
    name, *parts = json.loads(packed)
    documents = [Document(id=id_, page_content=text, metadata=metadata) for id_, text, metadata in parts]
    return group_by_name(documents, join, [name] * len(documents))[0]


def pack_outcome(outcome: Outcome) -> bytes:
    """Write an outcome."""
    return _written(asdict(outcome))


def unpack_outcome(packed: bytes) -> Outcome:
    """Read what `pack_outcome` wrote."""
    return Outcome(**json.loads(packed))


def fitted_to_json(documents: Sequence[Document]) -> list[Document]:
    """Return documents with their metadata as JSON holds it; what it can't hold is left out, with a warning."""
    fitter = MetadataFitter(JSON)
    fitted = fitter.fit(documents)
    fitter.warn()
    return fitted


def _written(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
