"""Seeing what an embedder's description leaves out, and whether the embedder has changed since.

What is seen here stays in memory. None of it is stored, as private attributes, objects and closures may hold secrets
under any name.
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

from langchain_sentence_window.embedding.checked import is_embedder
from langchain_sentence_window.embedding.description import (
    DEEPEST,
    attributes_of,
    is_dataclass,
    is_whole,
    scalar_of,
)
from langchain_sentence_window.embedding.settings import is_operational, is_secret, is_telling

_MOST_PARTS = 500
_MOST_ITEMS = 100
_SCRIPTS = frozenset({"__main__", "__mp_main__"})
_MACHINERY = frozenset({"_queue", "_thread", "asyncio.locks", "logging", "queue", "threading"})

Place: TypeAlias = tuple[object, ...]
"""Names of attributes, from the embedder on; what may come and go, as items do, stands in a tuple of its own."""

Part: TypeAlias = tuple[Place, object, bool]
"""Where something is, what it is, and whether the description tells of it."""


class Look(NamedTuple):
    """What an embedder looks like at one moment.

    Attributes:
        parts: What was seen, by its place: plain values and references to objects, and whether the description tells of
            each.
        says_all: Whether the description leaves nothing out that could change a vector.
    """

    parts: Mapping[Place, tuple[object, bool]]
    says_all: bool

    def differs_from(self, before: "Look") -> bool:
        """Whether anything is another now.

        What isn't described may come and go in lists and dicts, as these often log calls and keep results. So may whole
        numbers begin at 0 and be set back to it, as they often count.
        """
        places = self.parts.keys() | before.parts.keys()
        return any(_differ(place, self.parts.get(place), before.parts.get(place)) for place in places)


@dataclass(frozen=True, slots=True)
class Proofs:
    """What was found when texts of stores were embedded again, by the number of a line of vectors.

    Attributes:
        to_write: Lines that vectors may be added to.
        to_read: Lines that may be searched; fewer texts were compared.
        foreign: Lines of another embedder.
    """

    to_write: set[int | None] = field(default_factory=set)
    to_read: set[int | None] = field(default_factory=set)
    foreign: set[int | None] = field(default_factory=set)

    def note(self, line: int | None, *, is_same: bool, to_write: bool) -> None:
        """Take note of what came out for a line; one text that differs outweighs others that don't."""
        if not is_same:
            self.foreign.add(line)
            self.to_read.discard(line)
            self.to_write.discard(line)
            return
        self.to_read.add(line)
        if to_write:
            self.to_write.add(line)


class Watch:
    """Looks at an embedder now and then, and keeps what was proven of it until it changes.

    There is one for all stores of an embedder, so that it isn't proven again when a store is closed and opened.
    """

    def __init__(self, embedding: Embeddings) -> None:
        """Look for the first time."""
        self._embedding = _reference(embedding)
        self._seen = look_at(embedding)
        self.proofs = Proofs()

    @property
    def says_all(self) -> bool:
        """Whether the embedder's description leaves nothing out that could change a vector."""
        return self._seen.says_all

    def look(self) -> Proofs:
        """Look again, and return what is proven of the embedder as it is: nothing if it was changed."""
        if self._look_differs():
            self.proofs = Proofs()
        return self.proofs

    def look_after_call(self) -> None:
        """Look again, after a call that may have loaded a model, counted or kept something."""
        self._look_differs()

    def _look_differs(self) -> bool:
        before, self._seen = self._seen, look_at(cast("Embeddings", self._embedding()))
        return self._seen.differs_from(before)


_watches: dict[int, Watch] = {}


def watch_of(embedding: Embeddings) -> Watch:
    """The watch of an embedder, which lasts as long as it."""
    watch = _watches.get(id(embedding))
    if watch is None:
        watch = Watch(embedding)
        with suppress(TypeError):  # It can't be referred to weakly, so nobody would say when it is gone.
            weakref.finalize(embedding, _watches.pop, id(embedding), None).atexit = False
            watch = _watches.setdefault(id(embedding), watch)
    return watch


def look_at(embedding: Embeddings) -> Look:
    """See what an embedder is made of.

    Its description says all if it has nothing but plain public settings. What is empty, 0 or false says nothing, as
    logs and counters begin with it. A class that was made in a function may use values of that function, and one of a
    script may be another script's of the same name.
    """
    seen = list(islice(_parts_of(embedding, (), (), is_told=True), _MOST_PARTS))
    says_all = len(seen) < _MOST_PARTS and all(is_told or not part for _, part, is_told in seen)
    return Look({place: (part, is_told) for place, part, is_told in seen}, says_all)


# What it is made of


def _parts_of(of: object, place: Place, within: tuple[int, ...], *, is_told: bool) -> Iterator[Part]:
    """The parts of an embedder, or of something else whose settings are described."""
    inside = (*within, id(of))
    attributes, fields = attributes_of(of)
    for name, value in attributes.items():
        if not name.startswith("__") and (name in _own(of) or not _is_usual_of_class(name, value)):
            told = is_told and (not name.startswith("_") or is_embedder(value))
            yield from _part(name, value, (*place, name), inside, is_told=told, is_field=name in fields)
    if is_embedder(of):
        yield from _parts_of_class(type(of), place, inside)


def _own(of: object) -> Mapping[str, object]:
    return getattr(of, "__dict__", {})


def _is_usual_of_class(name: str, value: object) -> bool:
    """Whether an attribute of a class is a method, a property or the like, and no setting."""
    return name == "_abc_impl" or hasattr(type(value), "__get__") or isinstance(value, type | ModuleType)


def _parts_of_class(kind: type, place: Place, within: tuple[int, ...]) -> Iterator[Part]:
    if kind.__module__ in _SCRIPTS:
        yield (*place, "__class__"), _reference(kind), False
    if "<locals>" in kind.__qualname__:
        for name, value in vars(kind).items():
            if isinstance(value, FunctionType):
                yield from _parts_of_function(value, (*place, name), within)


def _part(
    name: str, value: object, place: Place, within: tuple[int, ...], *, is_told: bool, is_field: bool = False
) -> Iterator[Part]:
    if id(value) in within or len(within) > DEEPEST:
        return
    if is_embedder(value):
        yield from _parts_of(value, place, within, is_told=is_told)
        return
    if is_secret(name, value) or is_operational(name) or _is_without_meaning(value):
        return
    inside = (*within, id(value))
    scalar = value if isinstance(value, str) else scalar_of(value)
    if value is None or scalar is not None:
        yield place, scalar, is_told and (is_field or is_telling(name) or not is_whole(value))
    elif isinstance(value, dict | MappingProxyType):
        for key, each in list(islice(value.items(), _MOST_ITEMS)):
            known = key if scalar_of(key) is not None else type(key)
            yield from _part(str(known), each, (*place, (known,)), inside, is_told=is_told, is_field=is_field)
    elif isinstance(value, list | tuple | set | frozenset):
        are_told = is_field or not isinstance(value, list)
        for at, each in enumerate(list(islice(value, _MOST_ITEMS))):
            told = is_told and (are_told or is_embedder(each))
            yield from _part(name, each, (*place, (at,)), inside, is_told=told, is_field=is_field)
    elif isinstance(value, pydantic.BaseModel) or is_dataclass(value):
        yield from _parts_of(value, place, within, is_told=is_told)
    else:
        yield place, _reference(value), False
        yield from _parts_of_object(value, place, inside)


def _is_without_meaning(value: object) -> bool:
    is_known = isinstance(value, pydantic.SecretStr | pydantic.SecretBytes | VectorStore)
    return is_known or type(value).__module__ in _MACHINERY


def _parts_of_object(value: object, place: Place, within: tuple[int, ...]) -> Iterator[Part]:
    """What something holds that isn't described."""
    held: Mapping[str, object] = {} if isinstance(value, type | ModuleType) else _own(value)
    if isinstance(value, FunctionType):
        yield from _parts_of_function(value, place, within)
    elif isinstance(value, partial):
        held = {"func": value.func, "args": value.args, "given": value.keywords}
    elif isinstance(value, MethodType):
        held = {"of": value.__self__}
    for name, each in list(held.items()):
        yield from _part(name, each, (*place, name), within, is_told=False)


def _parts_of_function(function: FunctionType, place: Place, within: tuple[int, ...]) -> Iterator[Part]:
    """What a function has from where it was made: values of the function around it, and defaults."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # It has no value yet.
            if name != "__class__":
                yield from _part(name, cell.cell_contents, (*place, (name,)), within, is_told=False)


# Comparing


def _differ(place: Place, now: tuple[object, bool] | None, before: tuple[object, bool] | None) -> bool:
    part, is_told = now or (None, False)
    part_before, was_told = before or (None, False)
    if now is None or before is None:
        return is_told or was_told or not any(isinstance(step, tuple) for step in place)
    begins = is_whole(part) and is_whole(part_before) and 0 in (part, part_before)
    return not _is_same(part, part_before) and (is_told or was_told or not begins)


def _reference(value: object) -> Callable[[], object]:
    """A reference to an object, which keeps it only if it must."""
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def _is_same(one: object, other: object) -> bool:
    if callable(one) and callable(other):
        return one() is other() is not None
    return one == other or (one != one and other != other)  # noqa: PLR0124 - NaN
