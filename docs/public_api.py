"""Describe the public interface in two files, one for each package, and compare them with the code.

    python -m docs.public_api           # says what differs
    python -m docs.public_api --write   # writes docs/public_api.txt and docs/public_api_app.txt

Run it from the root of the repository when a public name, an argument, a default, an option of the command or a tool
of the MCP server changes. A test compares.
"""

import asyncio
import difflib
import enum
import importlib
import inspect
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import typer
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import BaseModel

from langchain_sentence_window import SentenceWindowRetriever
from sentence_window.mcp import create_mcp_server
from tests.toys import WordEmbeddings

DOCS = Path(__file__).parent
LIBRARY, APPLICATION = "langchain_sentence_window", "sentence_window"
MODULES = {
    LIBRARY: (
        *("", "citations", "stores", "tracing", "splitting", "documents", "evaluation", "testing", "distributed"),
        "errors",
    ),
    APPLICATION: ("files", "files.markup", "folders", "studio", "mcp"),
}
"""The modules of each package whose ``__all__`` is public."""

FILES = {LIBRARY: DOCS / "public_api.txt", APPLICATION: DOCS / "public_api_app.txt"}

_CALLED = (
    *("add_vectors", "at_one_state", "bulk_loader", "candidates", "close", "count_documents", "count_writes"),
    *("document_names", "fetch", "finds_words", "folder", "in_search", "is_away", "is_same", "is_whole_index"),
    *("lexical_search", "limits", "list_documents", "list_sentences", "loader_class", "prepare_replacement", "put"),
    *("reached", "read", "reads_one_state", "remove", "search_parameters", "sentences", "stored_filter"),
)
"""What the package calls on an adapter, and authors of adapters don't override."""

_OF_STORE = (
    *("at_one_state", "catch_up", "count_documents", "delete_documents", "embed_query", "export", "get_by_ids_within"),
    *("list_documents", "prepare_replacement", "read", "read_sentences", "replace_documents", "sample_for"),
)
"""What the package calls on a `FaissStore`."""

INTERNAL = frozenset(
    {
        *("checks", "elsewhere", "related", "checked_values", "model_config"),  # how settings are checked
        *(f"FaissStore.{name}" for name in _OF_STORE),
        *(f"stores.StoreAdapter.{name}" for name in _CALLED),
        *(f"stores.BM25Index.{name}" for name in ("change", "fill", "lacking", "scores", "spread_scores")),
        *("stores.CheckResult.with_part", "SentenceWindowRetriever.model_post_init", "pytestmark"),
    }
)
"""Names without an underscore that other parts of the package use, and no one else should. The reference omits them."""

_LONG = 80
"""Characters from which on a default is shown as its type."""


def description(package: str) -> list[str]:
    """Return a line for each public name of a package, with its arguments and their defaults."""
    lines = [line for module in MODULES[package] for line in _of_module(package, module)]
    return lines if package == LIBRARY else [*lines, *_of_command(), *_of_server()]


def differences(package: str) -> list[str]:
    """Return the lines that were removed, with ``-`` before them, and those that are new, with ``+``."""
    stored = FILES[package].read_text(encoding="utf-8").splitlines() if FILES[package].exists() else []
    lines = difflib.unified_diff(stored, description(package), lineterm="", n=0)
    return [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]


def _of_module(package: str, module: str) -> Iterator[str]:
    found = importlib.import_module(f"{package}.{module}".rstrip("."))
    for name in sorted(found.__all__):
        path, value = f"{module}.{name}".lstrip("."), getattr(found, name)
        if inspect.isclass(value):
            yield from _of_class(path, value)
        elif inspect.isfunction(value):
            yield f"{path}{_signature(value)}"
        else:
            yield path


def _of_class(path: str, cls: type[Any]) -> Iterator[str]:
    """Yield a class with its arguments, then its fields, methods and properties.

    What it inherits from other packages or from a class that is public itself is left out, and so is a method that
    implements one of another package with the same arguments, such as a hook of a middleware.
    """
    bases = ", ".join(base.__name__ for base in cls.__bases__ if _is_ours(base))
    yield f"{path}{'' if issubclass(cls, BaseModel | enum.Enum) else _signature(cls)}{f': {bases}' if bases else ''}"
    if issubclass(cls, BaseModel):
        for name, field in sorted(cls.model_fields.items()):
            if any(name in vars(each).get("__annotations__", {}) for each in cls.__mro__ if _is_ours(each)):
                default = "<factory>" if field.default_factory else _shown(field.default)
                yield f"{path}.{name}{'' if field.is_required() else f' = {default}'}"
    in_signature = {each.name for each in fields(cls)} if is_dataclass(cls) else getattr(cls, "_fields", ())
    for name in sorted(dir(cls)):
        owner = next((each for each in cls.__mro__ if name in vars(each)), object)
        if (
            name.startswith(("_", "test_"))
            or not _is_ours(owner)
            or (owner is not cls and owner in _public_classes())
            or _implements(cls, name)
            or {name, f"{path}.{name}"} & INTERNAL
            or name in in_signature
        ):
            continue
        value = inspect.getattr_static(cls, name)
        if isinstance(value, property | cached_property):
            yield f"{path}.{name}: property"
        elif isinstance(value, classmethod | staticmethod) or inspect.isfunction(value):
            yield f"{path}.{name}{_signature(getattr(cls, name))}"
        else:
            yield f"{path}.{name}"


def _implements(cls: type[Any], name: str) -> bool:
    """Return whether a base class of another package has the method with the same arguments."""
    foreign = next((each for each in cls.__mro__ if not _is_ours(each) and name in vars(each)), None)
    if foreign is None or not inspect.isfunction(getattr(cls, name)):
        return False
    return _signature(getattr(cls, name)) == _signature(getattr(foreign, name))


@cache
def _public_classes() -> frozenset[type[Any]]:
    modules = [importlib.import_module(f"{LIBRARY}.{module}".rstrip(".")) for module in MODULES[LIBRARY]]
    found = (getattr(module, name) for module in modules for name in module.__all__)
    return frozenset(each for each in found if inspect.isclass(each))


def _is_ours(cls: type[Any]) -> bool:
    return cls.__module__.partition(".")[0] in MODULES


def _signature(function: Any) -> str:
    """Return the names, kinds and defaults of arguments; types are mypy's to check."""
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return ""
    given = [
        each.replace(
            annotation=inspect.Parameter.empty,
            default=each.default if each.default is inspect.Parameter.empty else _Shown(each.default),
        )
        for name, each in signature.parameters.items()
        if name not in ("self", "cls") and not name.startswith("_")
    ]
    return str(signature.replace(parameters=given, return_annotation=inspect.Signature.empty))


class _Shown:
    """A default of a signature, shown without what differs from run to run."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __repr__(self) -> str:
        return _shown(self._value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if "0x" not in text and len(text) < _LONG else f"<{type(value).__name__}>"


def _of_command() -> Iterator[str]:
    """Yield the commands of ``sentence-window`` with their arguments and options."""
    from sentence_window.cli.commands import app

    commands: dict[str, Any] = vars(typer.main.get_command(app))["commands"]
    for name, command in sorted(commands.items()):
        yield f"sentence-window {name}"
        for each in command.params:
            yield f"sentence-window {name} {', '.join(each.opts + each.secondary_opts)}"


def _of_server() -> Iterator[str]:
    """Yield the tools of the MCP server with their arguments and the keys of their results."""
    server = create_mcp_server(SentenceWindowRetriever(vectorstore=InMemoryVectorStore(WordEmbeddings())))
    for tool in sorted(asyncio.run(server.list_tools()), key=lambda each: each.name):
        results = (tool.output_schema or {}).get("properties", {})
        yield f"mcp {tool.name}({', '.join(tool.input_schema['properties'])}) -> {', '.join(results)}"


def main() -> None:
    """Compare, or write."""
    changed = [line for package in MODULES for line in differences(package)]
    print(*changed, sep="\n")
    if "--write" in sys.argv[1:]:
        for package, file in FILES.items():
            file.write_text("\n".join(description(package)) + "\n", encoding="utf-8")
    elif changed:
        sys.exit(1)


if __name__ == "__main__":
    main()
