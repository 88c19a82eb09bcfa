"""The commands that make an index of files and keep it up to date: ``index`` and ``sync``."""

import threading
from pathlib import Path
from typing import Annotated, Any

import typer

from langchain_sentence_window.cli import options
from langchain_sentence_window.cli.exit_codes import NOTHING
from langchain_sentence_window.cli.output import Output

Watch = Annotated[bool, typer.Option("--watch", help="Go on, and follow the files as they change, until Ctrl-C.")]


def index(
    paths: Annotated[list[Path], typer.Argument(metavar="PATHS...", help="Files, and folders with all below them.")],
    *,
    watch: Watch = False,
    index: options.Index = None,
    embedding: options.Embedding = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Make an index of files, or add files to one.

    Markdown, text, HTML, PDF and Word are read. Files that are in the index and haven't changed are passed over, so
    the same command goes on where it was stopped.
    """
    out = Output(as_json=as_json, quiet=quiet)


def sync(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DIR...", help="The files and folders; else those it was made from."),
    ] = None,
    *,
    watch: Watch = False,
    index: options.Index = None,
    embedding: options.Embedding = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Add, update and delete documents, as files did."""
    out = Output(as_json=as_json, quiet=quiet)
