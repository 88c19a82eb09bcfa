"""`IndexSettings`: the settings that an index on disk remembers, in a JSON file next to its database.

The file may come from a stranger, so it is checked like any argument, and it holds nothing that grants access: no key,
no filter, no code.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import listed
from langchain_sentence_window.embedding.secret_text import without_secrets
from langchain_sentence_window.errors import InvalidInputError, StoreError
from langchain_sentence_window.ranking.ranking import Ranking
from langchain_sentence_window.store.check import CheckResult, check_folder
from langchain_sentence_window.store.files import (
    SETTINGS_FILE,
    as_folder,
    make_folder,
    open_regular,
    replace_file,
)

from .settings import REMEMBERED, RetrieverSettings

MAX_BYTES = 8_000_000
"""Size of the largest settings file: about 100,000 sources."""

_CURE = "correct it, or delete it and give the settings when the index is opened"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSettings:
    """The settings that an index remembers: how it was made, and how it is searched.

    Attributes:
        embedding: The name of its embedder for `load_embedding`; ``None`` if it isn't known.
        sources: The absolute paths of the files and folders that it was made from.
        retriever: Settings of its retriever by name, see `REMEMBERED`. A `Ranking` is kept as its weights by signal.
            Read-only.
    """

    embedding: str | None = None
    sources: tuple[str, ...] = ()
    retriever: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the values and keep copies.

        Raises:
            InvalidInputError: A value is of a wrong type, a path isn't absolute, or a setting of the retriever isn't
                one of `REMEMBERED` or can't be stored as JSON.
        """
        if self.embedding is not None:
            _check_name(self.embedding)
        object.__setattr__(self, "sources", _checked_sources(self.sources))
        object.__setattr__(self, "retriever", MappingProxyType(_checked_settings(self.retriever)))

    def to_json(self) -> str:
        """Write the settings as JSON."""
        content = {"embedding": self.embedding, "sources": self.sources, "retriever": dict(self.retriever)}
        return json.dumps(content, indent=2, allow_nan=False)


def read_index_settings(folder: str | PathLike[str]) -> IndexSettings:
    """Read what an index remembers; the defaults if it has no such file.

    Raises:
        StoreError: The file is damaged, too large, or holds a setting that is unknown or invalid.
    """
    path = as_folder(folder) / SETTINGS_FILE
    try:
        with open_regular(path) as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return IndexSettings()
    except OSError as error:
        raise StoreError(f"{str(path)!r} can't be read ({error}); make it readable, or delete it") from error
    try:
        return _parse_index_settings(content)
    except InvalidInputError as error:
        raise StoreError(f"{str(path)!r} can't be used: {error}; {_CURE}") from error


def write_index_settings(folder: str | PathLike[str], settings: IndexSettings) -> None:
    """Write what an index remembers; an existing file is replaced at once or not at all.

    Args:
        folder: The index's folder; it is created if it doesn't exist.
        settings: What to remember.

    Raises:
        InvalidInputError: The settings aren't an `IndexSettings`, or take more than `MAX_BYTES`.
        StoreError: The file can't be written.
    """
    if not isinstance(settings, IndexSettings):
        raise InvalidInputError(f"settings is {shown(settings)}; give an IndexSettings")
    content = f"{settings.to_json()}\n".encode()
    if len(content) > MAX_BYTES:
        raise InvalidInputError(
            f"the settings take {len(content):,} bytes, and at most {MAX_BYTES:,} are read; name folders as sources "
            "instead of their files"
        )
    path = as_folder(folder) / SETTINGS_FILE
    make_folder(path.parent)
    try:
        replace_file(path, content)
    except OSError as error:
        raise StoreError(f"{str(path)!r} can't be written: {error}; make room, or choose another path") from error


# Reading


def _parse_index_settings(content: bytes) -> IndexSettings:
    if len(content) > MAX_BYTES:
        raise InvalidInputError(f"it has more than {MAX_BYTES:,} bytes, so it isn't one of this package")
    try:
        found = json.loads(content.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        why = "it nests too deeply" if isinstance(error, RecursionError) else error
        raise InvalidInputError(f"it isn't JSON ({why})") from error
    if not isinstance(found, dict):
        raise InvalidInputError(f"it holds {shown(found)} instead of an object with embedding, sources and retriever")
    unknown = sorted(found.keys() - {"embedding", "sources", "retriever"})
    if unknown:
        raise InvalidInputError(f"it sets {listed(unknown)}; it can set embedding, sources and retriever")
    return IndexSettings(**found)


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} isn't a JSON number")


# Checks


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name.strip():
        raise InvalidInputError(f"embedding is {shown(name)}; it must be the name of an embedder, such as 'minilm'")
    if without_secrets(name) != name:
        raise InvalidInputError("embedding holds what looks like a secret; name the embedder alone")


def _checked_sources(sources: object) -> tuple[str, ...]:
    paths: list[Any] = list(sources) if isinstance(sources, list | tuple) else [None]
    wrong = [path for path in paths if not isinstance(path, str) or "\0" in path or not Path(path).is_absolute()]
    if wrong:
        given = sources if wrong == [None] else wrong[0]
        raise InvalidInputError(f"sources has {shown(given)}; it must be a list of absolute paths, as strings")
    return tuple(dict.fromkeys(paths))


def _checked_settings(settings: object) -> dict[str, Any]:
    if not isinstance(settings, Mapping):
        raise InvalidInputError(f"retriever is {shown(settings)}; it must be settings of the retriever by name")
    unknown = [name for name in settings if name not in REMEMBERED]
    if unknown:
        raise InvalidInputError(
            f"retriever sets {listed(list(map(str, unknown)))}, which an index can't remember; it can remember "
            f"{', '.join(sorted(REMEMBERED))}"
        )
    plain = {name: dict(value.weights) if isinstance(value, Ranking) else value for name, value in settings.items()}
    RetrieverSettings.checked_values(plain)
    for name, value in plain.items():
        if not _is_json(value):
            raise InvalidInputError(f"{name} is {shown(value)}, which can't be stored as JSON; leave it out")
    return _own_copy(plain)


def _is_json(value: object) -> bool:
    """Return whether JSON can hold a value unchanged, except that tuples become lists."""
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_json(each) for key, each in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_json, value))
    return value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def _own_copy(settings: Mapping[str, Any]) -> dict[str, Any]:
    copied: dict[str, Any] = json.loads(json.dumps(dict(settings)))
    return copied


def check_index(path: str | PathLike[str]) -> CheckResult:
    """Check everything that an index on disk holds, without an embedder, even if it can't be opened.

    Args:
        path: The folder of the index.

    Raises:
        IndexNotFoundError: There is no index in the folder.
    """
    folder = as_folder(path)
    return with_settings_checked(check_folder(folder), folder)


def with_settings_checked(result: CheckResult, folder: Path) -> CheckResult:
    """Return the result of a check with the problems of the saved settings, if there are settings."""
    if not (folder / SETTINGS_FILE).exists():
        return result
    problems = list[str]()
    try:
        read_index_settings(folder)
    except StoreError as error:
        problems.append(str(error))
    return result.with_part("settings", problems)
