"""The commands that make an index of files and keep it up to date: ``index`` and ``sync``."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from langchain_sentence_window.cli import options
from langchain_sentence_window.cli.output import Output
from langchain_sentence_window.errors import InvalidInputError

Watch: TypeAlias = Annotated[
    bool, typer.Option("--watch", help="Go on, and follow the files as they change, until Ctrl-C.")
]

Strict: TypeAlias = Annotated[
    bool, typer.Option("--strict", help="End with 4 for files that failed before, too, and haven't changed since.")
]


def index(
    paths: Annotated[list[Path], typer.Argument(metavar="PATHS...", help="Files, and folders with all below them.")],
    *,
    watch: Watch = False,
    strict: Strict = False,
    index: options.Index = None,
    embedding: options.Embedding = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Make an index of files, or add files to one.

    Markdown, text, HTML, PDF and Word are read. Files that are in the index and haven't changed are passed over, so
    the same command goes on where it was stopped. Without --index, the index is .sentence-window in this folder.
    """
    from langchain_sentence_window.cli.following import follow
    from langchain_sentence_window.cli.opening import new_index

    out = Output(as_json=as_json, quiet=quiet)
    follow(out, new_index(index), [*paths], embedding, delete=False, watch=watch, strict=strict)


def sync(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DIR...", help="Files and folders, or the folder of an index; else all its sources."),
    ] = None,
    *,
    watch: Watch = False,
    strict: Strict = False,
    index: options.Index = None,
    embedding: options.Embedding = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Add, update and delete documents, as files did.

    Afterwards the index equals the files and folders that are given, or all that it was made from. Documents from
    elsewhere stay.
    """
    from langchain_sentence_window.cli.following import follow
    from langchain_sentence_window.cli.opening import existing_index
    from langchain_sentence_window.retrieval.index_settings import read_index_settings
    from langchain_sentence_window.stores.faiss.faiss_store import FaissStore

    out = Output(as_json=as_json, quiet=quiet)
    given = [*(paths or [])]
    if index is None and len(given) == 1 and FaissStore.exists(given[0]):
        index, given = given[0], []
    folder = existing_index(index)
    sources = given or [Path(each) for each in read_index_settings(folder).sources]
    if not sources:
        raise InvalidInputError(
            f"the index in {str(folder)!r} remembers no files; name the folder: sentence-window sync DIR"
        )
    follow(out, folder, sources, embedding, delete=True, watch=watch, strict=strict)
