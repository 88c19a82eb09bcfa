"""The state of an embedder: described by the settings that can change its vectors, without secrets, and watched.

A watch finds out whether the description is complete, and whether the embedder has changed. All that it sees stays in
memory, as private attributes, objects and closures may hold secrets under any name.
"""

import dataclasses
import hashlib
import json
import re
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from itertools import islice
from pathlib import PurePath
from types import FunctionType, MappingProxyType, MemberDescriptorType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeGuard, cast

import numpy as np
import pydantic
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._arguments import is_embedder

from .named_embedders import SHOWN, is_numeric_setting, is_operational, is_secret, without_secrets

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


_MAX_PARTS = 500
_MAX_ITEMS = 100
_SCRIPTS = frozenset({"__main__", "__mp_main__"})
_MACHINERY = frozenset({"_queue", "_thread", "asyncio.locks", "logging", "queue", "threading"})
_WITHOUT_MEANING = (pydantic.SecretStr, pydantic.SecretBytes, VectorStore)

Path: TypeAlias = tuple[object, ...]
"""Names of attributes, from the embedder inward; the key of an item, which may come and go, is in a tuple."""

Part: TypeAlias = tuple[Path, object, bool]
"""A path, the value or reference there, and whether the description covers it."""


class Look(NamedTuple):
    """The parts of an embedder at one moment.

    Attributes:
        parts: Plain values and references to objects by their paths, and whether the description covers each.
        says_all: Whether the description covers all that could change a vector.
    """

    parts: Mapping[Path, tuple[object, bool]]
    says_all: bool

    def differs_from(self, before: "Look") -> bool:
        """Return whether anything that could change a vector has changed.

        Parts that aren't described may come and go in lists and dicts, as these often log calls and cache results.
        Whole numbers that aren't described may leave 0 and return to it, as they often count.
        """
        for path in self.parts.keys() | before.parts.keys():
            now, then = self.parts.get(path), before.parts.get(path)
            if now is None or then is None:
                counts = not any(isinstance(step, tuple) for step in path)
            else:
                one, other = now[0], then[0]
                if callable(one) and callable(other):
                    is_same = one() is other() is not None
                else:
                    is_same = one == other or (one != one and other != other)  # noqa: PLR0124 - NaN
                if is_same:
                    continue
                counts = not (is_whole(one) and is_whole(other) and 0 in (one, other))
            if counts or any(is_described for _, is_described in filter(None, (now, then))):
                return True
        return False


@dataclass(frozen=True, slots=True)
class Proofs:
    """Results of embedding stored texts again.

    A line is the vectors of one embedder in one index; it is named by a random number.

    Attributes:
        to_write: Lines that vectors may be added to.
        to_read: Lines that may be searched, for which fewer texts are compared.
        foreign: Lines of another embedder.
    """

    to_write: set[int | None] = field(default_factory=set)
    to_read: set[int | None] = field(default_factory=set)
    foreign: set[int | None] = field(default_factory=set)

    def note(self, line: int | None, *, is_same: bool, to_write: bool) -> None:
        """Add the result for a line: one text that differs outweighs others that don't."""
        if not is_same:
            self.foreign.add(line)
            self.to_read.discard(line)
            self.to_write.discard(line)
            return
        self.to_read.add(line)
        if to_write:
            self.to_write.add(line)


class Watch:
    """A watch over an embedder, which keeps proofs until the embedder changes.

    All stores of an embedder share one watch, so closing and opening a store needs no new proof.

    Attributes:
        proofs: What is proven of the embedder as it was last seen.
    """

    def __init__(self, embedding: Embeddings) -> None:
        """Look at the embedder for the first time."""
        self._embedding = _reference(embedding)
        self._seen = look_at(embedding)
        self.proofs = Proofs()

    @property
    def says_all(self) -> bool:
        """Whether the embedder's description covers all that could change a vector."""
        return self._seen.says_all

    def look(self, *, after_call: bool = False) -> Proofs:
        """Look again, and return the proofs, which are empty if the embedder has changed.

        Args:
            after_call: Whether to keep the proofs, as a call may have loaded a model, counted or cached something.
        """
        before, self._seen = self._seen, look_at(cast("Embeddings", self._embedding()))
        if not after_call and self._seen.differs_from(before):
            self.proofs = Proofs()
        return self.proofs


_watches: dict[int, Watch] = {}


def watch_of(embedding: Embeddings) -> Watch:
    """Return the watch of an embedder, which lasts as long as the embedder."""
    watch = _watches.get(id(embedding))
    if watch is None:
        watch = Watch(embedding)
        with suppress(TypeError):  # without weak references, its end can't be noticed
            weakref.finalize(embedding, _watches.pop, id(embedding), None).atexit = False
            watch = _watches.setdefault(id(embedding), watch)
    return watch


def look_at(embedding: Embeddings) -> Look:
    """Look at the parts of an embedder.

    The description is complete if the embedder has only plain public settings. Empty values, 0 and false don't count,
    as logs and counters begin with them. The description of a class made in a function is incomplete if its methods use
    values of that function. That of a class in a script always is, as another script may have a class of that name.
    """
    seen = list(islice(_parts_of(embedding, (), (), is_described=True), _MAX_PARTS))
    says_all = len(seen) < _MAX_PARTS and all(is_described or not part for _, part, is_described in seen)
    return Look({path: (part, is_described) for path, part, is_described in seen}, says_all)


# Parts


def _parts_of(of: object, path: Path, within: tuple[int, ...], *, is_described: bool) -> Iterator[Part]:
    """Yield the parts of an embedder, or of another object whose settings are described."""
    inside, kind, own = (*within, id(of)), type(of), getattr(of, "__dict__", {})
    attributes, fields = attributes_of(of)
    for name, value in attributes.items():
        if not name.startswith("__") and (name in own or not _is_usual_of_class(name, value)):
            described = is_described and (not name.startswith("_") or is_embedder(value))
            yield from _part(name, value, (*path, name), inside, is_described=described, is_field=name in fields)
    if not is_embedder(of):
        return
    if kind.__module__ in _SCRIPTS:
        yield (*path, "__class__"), _reference(kind), False
    if "<locals>" in kind.__qualname__:
        for name, value in vars(kind).items():
            if isinstance(value, FunctionType):
                yield from _parts_of_function(value, (*path, name), inside)


def _is_usual_of_class(name: str, value: object) -> bool:
    """Return whether an attribute of a class is a method, a property or the like, and not a setting."""
    return name == "_abc_impl" or hasattr(type(value), "__get__") or isinstance(value, type | ModuleType)


def _part(
    name: str, value: object, path: Path, within: tuple[int, ...], *, is_described: bool, is_field: bool = False
) -> Iterator[Part]:
    if id(value) in within or len(within) > MAX_DEPTH:  # a cycle, or too deep
        return
    if is_embedder(value):
        yield from _parts_of(value, path, within, is_described=is_described)
        return
    is_machinery = type(value).__module__ in _MACHINERY or isinstance(value, _WITHOUT_MEANING)
    if is_machinery or is_secret(name, value) or is_operational(name):
        return
    inside = (*within, id(value))
    scalar = value if isinstance(value, str) else scalar_of(value)
    if value is None or scalar is not None:
        yield path, scalar, is_described and (is_field or is_numeric_setting(name) or not is_whole(value))
    elif isinstance(value, dict | MappingProxyType):
        for key, each in list(islice(value.items(), _MAX_ITEMS)):
            step = key if scalar_of(key) is not None else type(key)
            yield from _part(str(step), each, (*path, (step,)), inside, is_described=is_described, is_field=is_field)
    elif isinstance(value, list | tuple | set | frozenset):
        are_described = is_field or not isinstance(value, list)
        for index, each in enumerate(list(islice(value, _MAX_ITEMS))):
            described = is_described and (are_described or is_embedder(each))
            yield from _part(name, each, (*path, (index,)), inside, is_described=described, is_field=is_field)
    elif isinstance(value, pydantic.BaseModel) or is_dataclass(value):
        yield from _parts_of(value, path, within, is_described=is_described)
    else:
        yield path, _reference(value), False
        yield from _parts_of_object(value, path, inside)


def _parts_of_object(value: object, path: Path, within: tuple[int, ...]) -> Iterator[Part]:
    """Yield the parts of an object that isn't described."""
    held: Mapping[str, object] = {} if isinstance(value, type | ModuleType) else getattr(value, "__dict__", {})
    if isinstance(value, FunctionType):
        yield from _parts_of_function(value, path, within)
    elif isinstance(value, partial):
        held = {"func": value.func, "args": value.args, "given": value.keywords}
    elif isinstance(value, MethodType):
        held = {"of": value.__self__}
    for name, each in list(held.items()):
        yield from _part(name, each, (*path, name), within, is_described=False)


def _parts_of_function(function: FunctionType, path: Path, within: tuple[int, ...]) -> Iterator[Part]:
    """Yield the values that a function uses of the function around it."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # an empty cell
            if name != "__class__":
                yield from _part(name, cell.cell_contents, (*path, (name,)), within, is_described=False)


# Comparing


def _reference(value: object) -> Callable[[], object]:
    """Return a weak reference to an object, or a strong one if it can't have a weak one."""
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value
