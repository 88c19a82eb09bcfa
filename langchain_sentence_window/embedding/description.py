"""Descriptions of embedders by the settings that can change their vectors, without secrets."""

import dataclasses
import hashlib
import json
import re
from collections.abc import Collection, Mapping
from enum import Enum
from pathlib import PurePath
from types import MappingProxyType, MemberDescriptorType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
import pydantic
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._arguments import is_embedder
from langchain_sentence_window.embedding.settings import (
    SHOWN,
    is_numeric_setting,
    is_operational,
    is_secret,
    without_secrets,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_MAX_SHOWN_CHARS = 100
_CUT = "..."
MAX_DEPTH = 20
"""Objects and containers that a described setting may be nested in."""

_MAX_DECIMAL = 2**63
_NAMING = ("name", "key", "header", "field")
_NAME = re.compile(r"[\w.-]{1,60}:?")

Plain: TypeAlias = str | int | float | bool | dict[str, Any] | list[Any] | None
"""A value that JSON can hold; ``None`` for a setting that doesn't count."""


def describe_embedder(embedding: Embeddings) -> str:
    """Describe an embedder by its class and its settings.

    The description shows settings that name the model, and holds a digest of the others that can change a vector. It
    leaves out settings that can't, such as a batch size, and possible secrets: settings with a name such as
    ``api_key``, at any depth, and whatever `without_secrets` removes. It also describes embedders inside the embedder.

    All fields of pydantic models and dataclasses are settings. In other classes a whole number is a setting only if it
    has a name such as ``dim``, and a list never is, as these often count calls. Other objects and private attributes
    aren't settings.

    Two embedders of one description are the same if it is complete for both, see `look_at`. Otherwise they are the same
    if they make the same vectors: a prompt for queries is described, and yet changes no stored vector.
    """
    return _described(embedding, ())


class _Embedder(str):
    """The description of an embedder inside another."""

    __slots__ = ()


def _described(embedding: object, within: tuple[int, ...]) -> str:
    """Describe an embedder; ``within`` holds the ids of the objects and containers around it."""
    listed: list[str] = []
    hidden: dict[str, Plain] = {}
    for name, value in sorted(_settings(embedding, within).items()):
        shown = _shown(name, value)
        if shown is not None:
            listed.append(f"{name}={shown}")
        if shown is None or shown.endswith(_CUT):
            hidden[name] = value
    if hidden:
        listed.append(f"settings={_digest(hidden)}")
    return f"{type(embedding).__module__}.{type(embedding).__qualname__}({', '.join(listed)})"


def _shown(name: str, value: Plain) -> str | None:
    if isinstance(value, _Embedder):
        return value
    if name not in SHOWN or not isinstance(value, str | int | float):
        return None
    text = ascii(value)
    return text if len(text) <= _MAX_SHOWN_CHARS else text[:_MAX_SHOWN_CHARS] + _CUT


def _digest(settings: Plain) -> str:
    return hashlib.sha256(_canonical(settings).encode()).hexdigest()[:16]


def _canonical(value: Plain) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


# Settings


def _settings(of: object, within: tuple[int, ...]) -> dict[str, Plain]:
    """Return the settings of an object by name: its plain public attributes, and its embedders."""
    inside = (*within, id(of))
    attributes, fields = attributes_of(of)
    found: dict[str, Plain] = {}
    for name, value in attributes.items():
        if not name.startswith("_") or is_embedder(value):
            found[name] = _plain(name, value, inside, is_field=name in fields)
    return {name: value for name, value in found.items() if value is not None}


def attributes_of(of: object) -> tuple[dict[str, object], Collection[str]]:
    """Return the attributes of an object and its class by name, and the names that are declared as fields."""
    own = dict(getattr(of, "__dict__", {}))
    if isinstance(of, pydantic.BaseModel):
        extra, private = (getattr(of, f"__pydantic_{name}__", None) or {} for name in ("extra", "private"))
        fields = {*type(of).model_fields, *extra}
        return {name: own[name] for name in own if name in fields} | extra | private, fields
    attributes: dict[str, object] = {}
    for kind in reversed(type(of).__mro__):
        for name, value in vars(kind).items():
            is_slot = isinstance(value, MemberDescriptorType)
            attributes[name] = getattr(of, name, None) if is_slot else value
    fields = {field.name for field in dataclasses.fields(of)} if is_dataclass(of) else set()
    return attributes | own, fields


def _plain(name: str, value: object, within: tuple[int, ...], *, is_field: bool) -> Plain:
    """Convert a setting to what JSON can hold; ``None`` if it doesn't count."""
    is_cut_off = id(value) in within or len(within) > MAX_DEPTH  # a cycle, or too deep
    if is_embedder(value) and not is_cut_off:
        return _Embedder(_described(value, within))
    if is_cut_off or is_secret(name, value) or is_operational(name):
        return None
    inside = (*within, id(value))
    if isinstance(value, dict | MappingProxyType):
        return _plain_entries(value, inside, is_field=is_field)
    if isinstance(value, list | tuple | set | frozenset):
        return _plain_items(name, value, inside, is_field=is_field)
    if isinstance(value, pydantic.BaseModel) or is_dataclass(value):
        return _settings(value, within)
    return scalar_of(value) if is_field or not is_whole(value) or is_numeric_setting(name) else None


def scalar_of(value: object) -> str | int | float | None:
    """Convert a single value to what JSON can hold, without secrets; ``None`` for anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Enum):
        value = value.value if isinstance(value.value, str | int | float) else value.name
    if isinstance(value, str):
        return without_secrets(str.__str__(value))
    if isinstance(value, PurePath):
        return without_secrets(value.as_posix())
    if isinstance(value, pydantic.AnyUrl) or type(value).__name__ == "dtype":
        return without_secrets(str(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value) if abs(value) < _MAX_DECIMAL else hex(value)  # Python refuses to write out very large ones.
    return value if isinstance(value, bool | float) else None


def _plain_entries(entries: Mapping[Any, object], within: tuple[int, ...], *, is_field: bool) -> Plain:
    found: dict[str, Plain] = {}
    for key, value in list(entries.items()):
        name = scalar_of(key)
        if str(name).casefold() in _NAMING and isinstance(value, str) and is_secret(value):
            return None  # {"name": "Authorization", "value": ...}
        if name is not None:
            found[str(name)] = _plain(str(name), value, within, is_field=is_field)
    return {name: value for name, value in found.items() if value is not None}


def _plain_items(name: str, items: Collection[object], within: tuple[int, ...], *, is_field: bool) -> Plain:
    counts = is_field or not isinstance(items, list)
    found: list[Plain] = []
    previous: object = None
    for item in list(items):
        # As in ["--api-key", "..."].
        follows_secret_name = isinstance(previous, str) and _NAME.fullmatch(previous) and is_secret(previous)
        previous = item
        if not follows_secret_name and (counts or is_embedder(item)):
            found.append(_plain(name, item, within, is_field=is_field))
    kept = [item for item in found if item is not None]
    if isinstance(items, set | frozenset):
        kept.sort(key=_canonical)
    return kept if kept or counts else None


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number of Python or NumPy."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_dataclass(value: object) -> TypeGuard["DataclassInstance"]:
    """Return whether a value is an instance of a dataclass."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)
