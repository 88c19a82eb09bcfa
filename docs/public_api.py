"""Describe the public interface in a file, and compare it with the code.

    python -m docs.public_api           # says what differs from docs/public_api.txt
    python -m docs.public_api --write   # writes it, if the changelog names what differs

Run it from the root of the repository when a public name, an argument, a default, an option of the command or a tool
of the MCP server changes. A test compares.
"""

import asyncio
import difflib
import enum
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import typer
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import BaseModel

from langchain_sentence_window import SentenceWindowRetriever, create_mcp_server
from langchain_sentence_window.embedding.named_embedders import DeferredEmbeddings
from langchain_sentence_window.retrieval.tracing import trace

ROOT = Path(__file__).parent.parent
STORED = ROOT / "docs/public_api.txt"
PACKAGE = "langchain_sentence_window"
MODULES = (
    *("", "adapters", "distributed", "errors", "evaluation", "folders", "loaders", "loaders.markup", "splitting"),
    *("studio", "testing"),
)
"""The modules whose ``__all__`` is public."""

SINGLE = (
    "adapters.postgres.aenable_full_text",
    "adapters.postgres.enable_full_text",
    "adapters.qdrant.use_async_client",
)
"""Public functions of other modules."""

INTERNAL = frozenset(
    {
        *("checks", "elsewhere", "related", "checked_values", "model_config"),  # how settings are checked
        *("FaissStore.at_one_state", "FaissStore.catch_up", "FaissStore.embed_query", "FaissStore.read_sentences"),
        *("FaissStore.prepare_replacement", "FaissStore.read", "FaissStore.remove_documents"),
        *("BM25Index.change", "BM25Index.fill", "BM25Index.lacking", "BM25Index.spread_scores"),
        *(f"distributed.DocumentRows.{name}" for name in ("embed", "fingerprints", "group", "prepare")),
        *("distributed.DocumentWriter.write", "pytestmark"),
        *("CheckResult.with_note", "CheckResult.with_part", "SentenceWindowRetriever.model_post_init"),
    }
)
"""Names without an underscore that other parts of the package use, and nobody else should. The reference leaves
them out."""


_LONG = 80
"""Characters from which on a default is shown as its type."""


def description() -> list[str]:
    """Return a line for each public name, with its arguments and their defaults."""
    lines = [line for module in MODULES for line in _of_module(module)]
    for path in SINGLE:
        module, _, name = path.rpartition(".")
        lines.append(f"{path}{_signature(getattr(_imported(module), name))}")
    for part in (trace.Trace, trace.SentenceTrace, trace.WindowTrace, trace.NameTrace):
        lines += _of_class(f"retriever.explain: {part.__name__}", part)
    return [*lines, *_of_command(), *_of_server()]


def changed(stored: list[str], present: list[str]) -> list[str]:
    """Return the lines that were taken out, with ``-`` before them, and those that are new, with ``+``."""
    lines = difflib.unified_diff(stored, present, lineterm="", n=0)
    return [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]


def unnamed(differences: list[str], changelog: str) -> list[str]:
    """Return the differences whose name the section [Unreleased] of the changelog doesn't mention."""
    section = changelog.partition("## [Unreleased]")[2].partition("\n## ")[0]
    return [line for line in differences if not re.search(rf"\b{re.escape(_last_name(line))}\b", section)]


def _last_name(line: str) -> str:
    """Return the name of a line without what it is in: of a method, a field, an option or a tool."""
    return re.split(r"[(:=]", line[1:])[0].strip().rpartition(".")[2].rpartition(" ")[2].lstrip("-")


def _imported(module: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.{module}".rstrip("."))


def _of_module(module: str) -> Iterator[str]:
    found = _imported(module)
    for name in sorted(found.__all__):
        path, value = f"{module}.{name}".lstrip("."), getattr(found, name)
        if inspect.isclass(value):
            yield from _of_class(path, value)
        elif inspect.isfunction(value):
            yield f"{path}{_signature(value)}"
        else:
            yield path


def _of_class(path: str, cls: type[Any]) -> Iterator[str]:
    """Yield a class with its arguments, then its fields, methods and properties, but for those of other packages."""
    bases = ", ".join(base.__name__ for base in cls.__bases__ if base.__module__.startswith(PACKAGE))
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


def _is_ours(cls: type[Any]) -> bool:
    return cls.__module__.startswith(PACKAGE)


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
    """Is shown as a default of a signature, without what differs from run to run."""

    def __init__(self, value: Any) -> None:
        """Take the default."""
        self._value = value

    def __repr__(self) -> str:
        """Show it."""
        return _shown(self._value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if "0x" not in text and len(text) < _LONG else f"<{type(value).__name__}>"


def _of_command() -> Iterator[str]:
    """Yield the commands of ``sentence-window`` with their arguments and options."""
    from langchain_sentence_window.apps.cli.commands import app

    commands: dict[str, Any] = vars(typer.main.get_command(app))["commands"]
    for name, command in sorted(commands.items()):
        yield f"sentence-window {name}"
        for each in command.params:
            yield f"sentence-window {name} {', '.join(each.opts + each.secondary_opts)}"


def _of_server() -> Iterator[str]:
    """Yield the tools of the MCP server with their arguments and the keys of their results."""
    server = create_mcp_server(SentenceWindowRetriever(vectorstore=InMemoryVectorStore(DeferredEmbeddings())))
    for tool in sorted(asyncio.run(server.list_tools()), key=lambda each: each.name):
        results = (tool.output_schema or {}).get("properties", {})
        yield f"mcp {tool.name}({', '.join(tool.input_schema['properties'])}) -> {', '.join(results)}"


def main() -> None:
    """Compare, or write if the changelog names what differs."""
    stored = STORED.read_text(encoding="utf-8").splitlines() if STORED.exists() else []
    present = description()
    differences = changed(stored, present)
    print(*differences, sep="\n")
    if "--write" in sys.argv[1:]:
        missing = unnamed(differences, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")) if stored else []
        if missing:
            sys.exit("Name these in the section [Unreleased] of CHANGELOG.md first:\n" + "\n".join(missing))
        STORED.write_text("\n".join(present) + "\n", encoding="utf-8")
    elif differences:
        sys.exit(1)


if __name__ == "__main__":
    main()
