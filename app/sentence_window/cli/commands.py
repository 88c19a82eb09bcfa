"""The command ``sentence-window``: its errors as exit codes, and the commands that make, read and manage an index.

The commands that query an index are in `query_commands`.
"""

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from typer.core import TyperGroup

from langchain_sentence_window.errors import InvalidInputError, SentenceWindowError, SentenceWindowWarning
from sentence_window import __version__
from sentence_window.cli import options
from sentence_window.cli.output import (
    FAILED,
    MISSING_EXTRA,
    USAGE,
    Output,
    above_bars,
    counted,
    in_commands,
    one_line,
)
from sentence_window.cli.query_commands import ask, evaluate, explain, mcp, serve, sweep, why

if TYPE_CHECKING:
    from langchain_sentence_window import SentenceWindowRetriever


_HELP = """Search your documents for sentences, and read the windows around them.

Begin with: sentence-window index PATHS, then: sentence-window ask "QUESTION".

Exit codes: 0 done; 1 nothing was found, or a check failed; 2 a wrong command; 3 a model's library isn't installed;
4 an index, a file, a model or the network failed; 130 Ctrl-C.
"""


class Commands(TyperGroup):
    """All commands; an error becomes a line on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with _error_exits(), _warning_lines():
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write what each command does, in groups."""
        for title, commands in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(each.__name__, self.commands[each.__name__].get_short_help_str(100)) for each in commands]
                )


app = typer.Typer(
    cls=Commands,
    help=_HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


Watch: TypeAlias = Annotated[
    bool, typer.Option("--watch", help="Keep running, and update the index as files change, until Ctrl-C.")
]

Strict: TypeAlias = Annotated[
    bool, typer.Option("--strict", help="End with 4 also for unchanged files that failed before.")
]


def index(
    paths: Annotated[list[Path], typer.Argument(metavar="PATHS...", help="Files, and folders with all subfolders.")],
    *,
    watch: Watch = False,
    strict: Strict = False,
    index: options.Index = None,
    embedding: options.Embedding = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Make an index of files, or add files to one.

    Reads Markdown and other markup, text, HTML, PDF and office files. Unchanged files of the index are skipped, so the
    same command continues where it was stopped. Without --index, the index is .sentence-window in this folder.
    """
    from sentence_window.cli.index_sync import follow
    from sentence_window.cli.opened_index import FOLDER

    out = Output(as_json=as_json, quiet=quiet)
    follow(out, index or Path(FOLDER), paths, embedding, delete=False, watch=watch, strict=strict)


def sync(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DIR...", help="Files and folders, or an index's folder. Default: all its sources."),
    ] = None,
    *,
    watch: Watch = False,
    strict: Strict = False,
    index: options.Index = None,
    embedding: options.Embedding = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Add, update and delete documents, so that the index matches its files.

    Updates the given files and folders, or else all sources of the index. Documents from other places stay.
    """
    from langchain_sentence_window import FaissStore
    from langchain_sentence_window.stores import read_index_settings
    from sentence_window.cli.index_sync import follow
    from sentence_window.cli.opened_index import existing_index

    out = Output(as_json=as_json, quiet=quiet)
    paths = paths or []
    if index is None and len(paths) == 1 and FaissStore.exists(paths[0]):
        index, paths = paths[0], []
    folder = existing_index(index)
    sources = paths or [Path(each) for each in read_index_settings(folder).sources]
    if not sources:
        raise InvalidInputError(
            f"the index in {str(folder)!r} remembers no files; name the folder: sentence-window sync DIR"
        )
    follow(out, folder, sources, embedding, delete=True, watch=watch, strict=strict)


def ls(
    *,
    filter: options.Filter = None,
    index: options.Index = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """List the documents of an index."""
    from sentence_window.cli.opened_index import nothing_found, open_to_read, written
    from sentence_window.cli.typed_values import read_filter

    out = Output(as_json=as_json, quiet=quiet)
    with open_to_read(index) as retriever:
        documents = retriever.documents(read_filter(filter))
        message = nothing_found(retriever, "No documents were found.")
    columns = {
        "document": [written(each.doc_id) for each in documents],
        "title": [each.title or "" for each in documents],
        "sentences": [f"{each.sentences:,}" for each in documents],
        "pages": ["" if each.pages is None else f"{each.pages:,}" for each in documents],
        "added": ["" if each.added is None else f"{each.added.astimezone():%Y-%m-%d}" for each in documents],
    }
    # A document's name is never cut, as people copy it.
    out.table(
        {title: cells for title, cells in columns.items() if any(cells)}, numbers=("sentences", "pages"), cut="title"
    )
    out.document({"documents": documents})
    if not documents:
        out.end_without(message)
    out.note(f"{counted(len(documents), 'document')}, {counted(sum(each.sentences for each in documents), 'sentence')}")


def show(
    document: options.Name,
    *,
    sentences: Annotated[bool, typer.Option("--sentences", "-s", help="Number the sentences.")] = False,
    window: Annotated[
        str | None, typer.Option("--window", "-w", metavar="FIRST-LAST", help="Show only these sentences, numbered.")
    ] = None,
    index: options.Index = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Show the text of a document as the index holds it."""
    from sentence_window.cli.opened_index import find_documents, open_to_read, written
    from sentence_window.cli.printed_results import sentences_of, show_sentences
    from sentence_window.cli.typed_values import read_range

    out = Output(as_json=as_json, quiet=quiet)
    chosen = None if window is None else read_range(window)
    with open_to_read(index) as retriever:
        (named,) = find_documents(retriever, [document])
        (whole,) = retriever.get([named.doc_id])
    if chosen is None and not sentences:
        out.line(whole.page_content)
        out.document({"document": named.doc_id, "text": whole.page_content, "metadata": whole.metadata})
        return
    shown = [each for each in sentences_of(whole) if chosen is None or each["number"] in chosen]
    out.document({"document": named.doc_id, "sentences": shown})
    if not shown:
        out.end_without(f"{written(named.doc_id)} has no such sentences.")
    show_sentences(out, shown)


def rm(
    documents: options.Names = None,
    *,
    filter: options.Filter = None,
    index: options.Index = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Remove documents from an index.

    Their files stay, so sync would add them again.
    """
    from sentence_window.cli.opened_index import find_documents, open_to_read, written
    from sentence_window.cli.typed_values import read_filter

    out = Output(as_json=as_json, quiet=quiet)
    if not documents and filter is None:
        raise typer.BadParameter("name the documents, or give --filter")
    with open_to_read(index, read_only=False) as retriever:
        named = [each.doc_id for each in find_documents(retriever, documents)] if documents else None
        matched = {each.doc_id for each in retriever.documents(read_filter(filter))}
        chosen = [each for each in named or sorted(matched) if each in matched]
        removed = retriever.delete(named, filter=read_filter(filter))
    for doc_id in chosen:
        out.line(f"removed {written(doc_id)}")
    out.document({"removed": chosen, "documents": removed})
    if not removed:
        out.end_without("No documents were found.")


def stats(*, index: options.Index = None, as_json: options.AsJson = False, quiet: options.Quiet = False) -> None:
    """Show the contents of an index, its size, and its settings."""
    from tqdm import tqdm

    from langchain_sentence_window.stores import read_index_settings
    from sentence_window.cli.opened_index import existing_index, open_to_read
    from sentence_window.cli.typed_values import remembered_facts

    out = Output(as_json=as_json, quiet=quiet)
    folder = existing_index(index)
    remembered = read_index_settings(folder)
    with open_to_read(folder) as retriever:
        found = retriever.stats()
    out.facts(
        {
            "index": str(folder),
            "documents": f"{found.documents:,}",
            "sentences": f"{found.sentences:,}",
            "size": ", ".join(f"{part} {tqdm.format_sizeof(size, 'B')}" for part, size in found.bytes.items()),
            "vector index": found.index_in_use,
            "deleted vectors": f"{found.tombstones:,}",
            **remembered_facts(remembered),
        }
    )
    out.document({"index": folder, "store": found, "remembered": remembered})


def check(*, index: options.Index = None, as_json: options.AsJson = False, quiet: options.Quiet = False) -> None:
    """Verify everything that an index holds."""
    from langchain_sentence_window.stores import check_index
    from sentence_window.cli.opened_index import existing_index

    out = Output(as_json=as_json, quiet=quiet)
    with out.waiting("Checking …"):
        found = check_index(existing_index(index).absolute())
    found = replace(found, problems=tuple(map(in_commands, found.problems)))
    out.line(str(found))
    out.document(found)
    if found.problems:
        out.end_without("The index isn't sound. Restore a backup, or index the files again in another folder.")


def backup(
    folder: Annotated[Path, typer.Argument(metavar="DIR", file_okay=False, help="A folder that holds no index yet.")],
    *,
    index: options.Index = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Copy an index into another folder, even while it is in use."""
    from sentence_window.cli.opened_index import open_to_read

    out = Output(as_json=as_json, quiet=quiet)
    with open_to_read(index) as retriever:
        retriever.backup(folder)
        _show_size(out, "backup", folder, retriever)


def _show_size(out: Output, key: str, folder: Path, retriever: "SentenceWindowRetriever") -> None:
    found = retriever.stats()
    out.line(f"{folder} holds {counted(found.documents, 'document')}, {counted(found.sentences, 'sentence')}")
    out.document({key: folder, "documents": found.documents, "sentences": found.sentences})


def restore(
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="A folder that backup made.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Replace an existing index without asking.")] = False,
    index: options.Index = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Replace an index with a backup, which is checked first."""
    from langchain_sentence_window import FaissStore, SentenceWindowRetriever
    from sentence_window.cli.opened_index import FOLDER, open_to_read

    out = Output(as_json=as_json, quiet=quiet)
    folder = index or Path(FOLDER)
    if FaissStore.exists(folder) and not yes:
        typer.confirm(f"Replace the index in {folder}?", abort=True, err=True)
    SentenceWindowRetriever.restore(backup, folder)
    with open_to_read(folder, read_only=False) as retriever:
        _show_size(out, "index", folder, retriever)


def config(
    settings: Annotated[
        list[str] | None, typer.Argument(metavar="NAME=VALUE...", help="Settings to remember, such as k=20.")
    ] = None,
    *,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", metavar="NAME", help="A setting to forget. Repeat it.")
    ] = None,
    index: options.Index = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Show or change the settings that an index remembers."""
    from sentence_window.cli.opened_index import existing_index, remember
    from sentence_window.cli.typed_values import changed_settings, remembered_facts

    out = Output(as_json=as_json, quiet=quiet)
    folder = existing_index(index)
    remembered = remember(folder, **changed_settings(folder, settings or [], unset or []))
    out.facts({"index": str(folder), **remembered_facts(remembered)})
    out.document({"index": folder, "remembered": remembered})


_GROUPS = {
    "Make and change an index": (index, sync, rm, config),
    "Ask": (ask, explain, why),
    "Look into an index": (ls, show, stats),
    "Measure": (evaluate, sweep),
    "Serve": (serve, mcp),
    "Check and back up": (check, backup, restore),
}

for _command in chain.from_iterable(_GROUPS.values()):
    app.command()(_command)


def _show_version(is_wanted: bool) -> None:  # noqa: FBT001 - typer's signature
    if is_wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _all(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Define the options before the command."""


DEBUG = "SENTENCE_WINDOW_DEBUG"
"""The environment variable that shows tracebacks."""


@contextmanager
def _error_exits() -> Iterator[None]:
    """Write errors to stderr, and end the command with an exit code."""
    try:
        yield
    except BrokenPipeError:
        # The reader has closed the pipe. Python flushes stdout at the end, which must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except (typer.Exit, typer.Abort, typer.TyperException):
        raise
    except Exception as error:  # a model, a provider or the file system may raise anything
        if os.environ.get(DEBUG):
            traceback.print_exc()
        is_known = isinstance(error, SentenceWindowError | ImportError)
        message = str(error) if is_known else f"{type(error).__name__}: {error}"
        sys.stderr.write(f"Error: {one_line(in_commands(message))}\n")
        if isinstance(error, ImportError):
            raise typer.Exit(MISSING_EXTRA) from error
        raise typer.Exit(USAGE if isinstance(error, InvalidInputError) else FAILED) from error


@contextmanager
def _warning_lines() -> Iterator[None]:
    """Write warnings of this package to stderr, each once, without those of libraries, which are for programmers."""
    stderr = sys.stderr  # it is redirected while a model is loaded

    def show(message: Warning | str, *_: object, **__: object) -> None:
        with above_bars(stderr):
            stderr.write(f"Warning: {one_line(in_commands(str(message)))}\n")

    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", SentenceWindowWarning)
        warnings.showwarning = show
        yield
