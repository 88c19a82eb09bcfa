"""A watch over an embedder: whether its description is complete, and whether it has changed.

All that is seen here stays in memory, as private attributes, objects and closures may hold secrets under any name.
"""

import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import NamedTuple, TypeAlias, cast

import pydantic
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._arguments import is_embedder
from langchain_sentence_window.embedding.description import (
    MAX_DEPTH,
    attributes_of,
    is_dataclass,
    is_whole,
    scalar_of,
)
from langchain_sentence_window.embedding.settings import is_numeric_setting, is_operational, is_secret

_MAX_PARTS = 500
_MAX_ITEMS = 100
_SCRIPTS = frozenset({"__main__", "__mp_main__"})
_MACHINERY = frozenset({"_queue", "_thread", "asyncio.locks", "logging", "queue", "threading"})

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
        paths = self.parts.keys() | before.parts.keys()
        return any(_differ(path, self.parts.get(path), before.parts.get(path)) for path in paths)


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

    def look(self) -> Proofs:
        """Look again, and return the proofs, which are empty if the embedder has changed."""
        if self._look_differs():
            self.proofs = Proofs()
        return self.proofs

    def look_after_call(self) -> None:
        """Look again and keep the proofs: a call may have loaded a model, counted or cached something."""
        self._look_differs()

    def _look_differs(self) -> bool:
        before, self._seen = self._seen, look_at(cast("Embeddings", self._embedding()))
        return self._seen.differs_from(before)


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
    inside = (*within, id(of))
    attributes, fields = attributes_of(of)
    for name, value in attributes.items():
        if not name.startswith("__") and (name in _instance_attributes(of) or not _is_usual_of_class(name, value)):
            described = is_described and (not name.startswith("_") or is_embedder(value))
            yield from _part(name, value, (*path, name), inside, is_described=described, is_field=name in fields)
    if is_embedder(of):
        yield from _parts_of_class(type(of), path, inside)


def _instance_attributes(of: object) -> Mapping[str, object]:
    return getattr(of, "__dict__", {})


def _is_usual_of_class(name: str, value: object) -> bool:
    """Return whether an attribute of a class is a method, a property or the like, and not a setting."""
    return name == "_abc_impl" or hasattr(type(value), "__get__") or isinstance(value, type | ModuleType)


def _parts_of_class(kind: type, path: Path, within: tuple[int, ...]) -> Iterator[Part]:
    if kind.__module__ in _SCRIPTS:
        yield (*path, "__class__"), _reference(kind), False
    if "<locals>" in kind.__qualname__:
        for name, value in vars(kind).items():
            if isinstance(value, FunctionType):
                yield from _parts_of_function(value, (*path, name), within)


def _part(
    name: str, value: object, path: Path, within: tuple[int, ...], *, is_described: bool, is_field: bool = False
) -> Iterator[Part]:
    if id(value) in within or len(within) > MAX_DEPTH:  # a cycle, or too deep
        return
    if is_embedder(value):
        yield from _parts_of(value, path, within, is_described=is_described)
        return
    if is_secret(name, value) or is_operational(name) or _is_without_meaning(value):
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


def _is_without_meaning(value: object) -> bool:
    is_known = isinstance(value, pydantic.SecretStr | pydantic.SecretBytes | VectorStore)
    return is_known or type(value).__module__ in _MACHINERY


def _parts_of_object(value: object, path: Path, within: tuple[int, ...]) -> Iterator[Part]:
    """Yield the parts of an object that isn't described."""
    held: Mapping[str, object] = {} if isinstance(value, type | ModuleType) else _instance_attributes(value)
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


def _differ(path: Path, now: tuple[object, bool] | None, before: tuple[object, bool] | None) -> bool:
    part, is_described = now or (None, False)
    part_before, was_described = before or (None, False)
    if now is None or before is None:
        return is_described or was_described or not any(isinstance(step, tuple) for step in path)
    begins = is_whole(part) and is_whole(part_before) and 0 in (part, part_before)
    return not _is_same(part, part_before) and (is_described or was_described or not begins)


def _reference(value: object) -> Callable[[], object]:
    """Return a weak reference to an object, or a strong one if it can't have a weak one."""
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def _is_same(one: object, other: object) -> bool:
    if callable(one) and callable(other):
        return one() is other() is not None
    return one == other or (one != one and other != other)  # noqa: PLR0124 - NaN
