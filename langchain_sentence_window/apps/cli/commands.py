"""The commands of ``sentence-window``, their errors as exit codes, and those that make, read and manage an index.

The commands that query an index are in `query_commands`.
"""

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from typer.core import TyperGroup

from langchain_sentence_window.errors import InvalidInputError, SentenceWindowError, SentenceWindowWarning

from . import options
from .output import FAILED, MISSING_EXTRA, USAGE, Output, above_bars, counted, in_commands, laid_out, one_line
from .query_commands import ask, evaluate, explain, mcp, serve, sweep, why

if TYPE_CHECKING:
    from langchain_sentence_window.documents.indexed_documents import IndexedDocument

    from .opened_index import NameLookup


_HELP = """Search your documents for sentences, and read the windows around them.

Begin with: sentence-window index PATHS, then: sentence-window ask "QUESTION".

Exit codes: 0 done; 1 nothing was found, or a check failed; 2 a wrong command; 3 an extra isn't installed;
4 an index, a file, a model or the network failed; 130 Ctrl-C.
"""


class Commands(TyperGroup):
    """All commands; turns errors into a line on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with _error_exits(), _warning_lines():
            done = super().invoke(ctx)
            sys.stdout.flush()
            return done

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
    from .index_sync import follow
    from .opened_index import new_index

    out = Output(as_json=as_json, quiet=quiet)
    follow(out, new_index(index), [*paths], embedding, delete=False, watch=watch, strict=strict)


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

    Updates the given files and folders, or else all sources of the index. Documents from elsewhere stay.
    """
    from langchain_sentence_window.retrieval.index_settings import read_index_settings
    from langchain_sentence_window.store.faiss_store import FaissStore

    from .index_sync import follow
    from .opened_index import existing_index

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


_KILO = 1_000


def ls(
    *,
    filter: options.Filter = None,
    index: options.Index = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """List the documents of an index."""
    from .opened_index import EMPTY, NameLookup, existing_index, open_to_read
    from .typed_values import read_filter

    out = Output(as_json=as_json, quiet=quiet)
    with open_to_read(existing_index(index)) as retriever:
        documents = retriever.documents(read_filter(filter))
        names = NameLookup(documents if filter is None else retriever.documents())
    if documents and not as_json:
        _list(out, documents, names)
    out.document({"documents": documents})
    if not documents:
        out.end_without("No documents were found." if names.has_any else EMPTY)
    out.note(f"{counted(len(documents), 'document')}, {counted(sum(each.sentences for each in documents), 'sentence')}")


def _list(out: Output, documents: Sequence["IndexedDocument"], names: "NameLookup") -> None:
    """Write a table of documents."""
    from langchain_sentence_window.documents.keys import PAGES, SENTENCES

    ids = {names.shown(each.doc_id): each.doc_id for each in documents}
    columns = {
        "document": list(ids),
        "title": [one_line(each.title or "") for each in documents],
        SENTENCES: [f"{each.sentences:,}" for each in documents],
        PAGES: ["" if each.pages is None else f"{each.pages:,}" for each in documents],
        "added": ["" if each.added is None else f"{each.added.astimezone():%Y-%m-%d}" for each in documents],
    }
    told = {name: column for name, column in columns.items() if any(column)}
    numbers = frozenset(i for i, name in enumerate(told) if name in (SENTENCES, PAGES))
    shrink = [i for name in ("title", "document") for i, each in enumerate(told) if each == name]
    cuts = {0: lambda name, width: names.shown(ids[name], width) if name in ids else name}
    rows = [list(told), *map(list, zip(*told.values(), strict=True))]
    out.table(laid_out(rows, numbers, shrink, out.columns, cuts))


def show(
    document: options.Name,
    *,
    sentences: Annotated[bool, typer.Option("--sentences", "-s", help="Number the sentences.")] = False,
    window: Annotated[
        str | None, typer.Option("--window", "-w", metavar="FIRST-LAST", help="Show only these sentences.")
    ] = None,
    index: options.Index = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Show the text of a document as the index holds it."""
    from langchain_sentence_window.documents.keys import SENTENCES

    from . import opened_index as opened

    out = Output(as_json=as_json, quiet=quiet)
    chosen = None if window is None else opened.read_range(window)
    with opened.open_to_read(opened.existing_index(index)) as retriever:
        (named,) = opened.find_documents(retriever, [document])
        if chosen is None and not sentences:
            (found,) = retriever.get([named.doc_id])
            out.line(found.page_content)
            out.document({"document": named.doc_id, "text": found.page_content, "metadata": found.metadata})
            return
        held = opened.read_sentences(retriever, named, chosen)
    if held:
        opened.show_sentences(out, held, numbered=sentences)
    listed: list[dict[str, Any]] = [
        {"number": each.index, "start": each.start, "end": each.end, "text": each.text} for each in held
    ]
    out.document({"document": named.doc_id, SENTENCES: listed})
    if not held:
        out.end_without(f"{opened.written(named.doc_id)} has no such sentences.")


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
    from .opened_index import existing_index, find_documents, open_to_read, written
    from .typed_values import read_filter

    out = Output(as_json=as_json, quiet=quiet)
    if not documents and filter is None:
        raise typer.BadParameter("name the documents, or give --filter")
    with open_to_read(existing_index(index), read_only=False) as retriever:
        ids = [each.doc_id for each in find_documents(retriever, documents)] if documents else None
        matched = {each.doc_id: each.sentences for each in retriever.documents(read_filter(filter))}
        chosen = [name for name in ids or matched if name in matched]
        removed = retriever.delete(ids, filter=read_filter(filter))
    for name in chosen:
        out.line(f"removed {written(name)}")
    out.document({"removed": chosen, "documents": removed})
    if not removed:
        out.end_without("No documents were found.")


def stats(*, index: options.Index = None, as_json: options.AsJson = False, quiet: options.Quiet = False) -> None:
    """Show the contents of an index, its size, and its settings."""
    from langchain_sentence_window.documents.keys import SENTENCES
    from langchain_sentence_window.retrieval.index_settings import read_index_settings

    from .opened_index import existing_index, open_to_read
    from .typed_values import settings_text

    out = Output(as_json=as_json, quiet=quiet)
    folder = existing_index(index)
    remembered = read_index_settings(folder)
    with open_to_read(folder) as retriever:
        found = retriever.stats()
    out.facts(
        {
            "index": str(folder),
            "documents": f"{found.documents:,}",
            SENTENCES: f"{found.sentences:,}",
            "size": ", ".join(f"{part} {_written(size)}" for part, size in found.bytes.items()),
            "vector index": found.index_in_use,
            "neighbor weights": ", ".join(f"{weight:g}" for weight in found.neighbor_weights),
            "deleted vectors": f"{found.tombstones:,}",
            "staged texts": f"{found.staged_texts:,}",
            **settings_text(remembered),
        }
    )
    out.document({"index": folder, "store": found, "remembered": remembered})


def _written(size: float) -> str:
    """Return a number of bytes as people read it."""
    for unit in ("bytes", "kB", "MB"):
        if size < _KILO:
            return f"{size:,.0f} {unit}"
        size /= _KILO
    return f"{size:,.1f} GB"


def check(*, index: options.Index = None, as_json: options.AsJson = False, quiet: options.Quiet = False) -> None:
    """Verify everything that an index holds."""
    from langchain_sentence_window.retrieval.index_settings import check_index

    from .opened_index import existing_index

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
    from langchain_sentence_window.documents.keys import SENTENCES

    from .opened_index import existing_index, open_to_read

    out = Output(as_json=as_json, quiet=quiet)
    with open_to_read(existing_index(index)) as retriever:
        retriever.backup(folder)
        found = retriever.stats()
    out.line(f"{folder} holds {counted(found.documents, 'document')}, {counted(found.sentences, 'sentence')}")
    out.document({"backup": folder, "documents": found.documents, SENTENCES: found.sentences})


def restore(
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="A folder that backup made.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Replace an existing index without asking.")] = False,
    index: options.Index = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Replace an index with a backup, which is checked first."""
    from langchain_sentence_window.documents.keys import SENTENCES
    from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
    from langchain_sentence_window.store.faiss_store import FaissStore

    from .opened_index import check_writable, existing_index, new_index, open_to_read

    out = Output(as_json=as_json, quiet=quiet)
    source, folder = existing_index(backup), new_index(index)
    check_writable(folder)
    if FaissStore.exists(folder) and not yes:
        typer.confirm(f"Replace the index in {folder}?", abort=True, err=True)
    SentenceWindowRetriever.restore(source, folder)
    with open_to_read(folder, read_only=False) as retriever:
        found = retriever.stats()
    out.line(f"{folder} holds {counted(found.documents, 'document')}, {counted(found.sentences, 'sentence')}")
    out.document({"index": folder, "documents": found.documents, SENTENCES: found.sentences})


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
    from .opened_index import existing_index, remember
    from .typed_values import changed_settings, settings_text

    out = Output(as_json=as_json, quiet=quiet)
    folder = existing_index(index)
    found = remember(folder, **changed_settings(folder, settings or [], unset or []))
    out.facts({"index": str(folder), **settings_text(found)})
    out.document({"index": folder, "remembered": found})


_GROUPS = {
    "Make and change an index": (index, sync, rm, config),
    "Ask": (ask, explain, why),
    "Look into an index": (ls, show, stats),
    "Measure": (evaluate, sweep),
    "Serve": (serve, mcp),
    "Check and back up": (check, backup, restore),
}

for _command in chain.from_iterable(_GROUPS.values()):
    # A number below 0 is a sentence that isn't there, and no option.
    app.command(context_settings={"ignore_unknown_options": _command is why})(_command)


def _show_version(*, is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(import_module("langchain_sentence_window").__version__)
        raise typer.Exit


@app.callback()
def _all(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=lambda given: _show_version(is_wanted=given), is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    """Take what is said before the command."""


_CODES = {ImportError: MISSING_EXTRA, InvalidInputError: USAGE}

DEBUG = "SENTENCE_WINDOW_DEBUG"
"""The variable of the environment that asks for tracebacks."""


@contextmanager
def _error_exits() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        # The reader has seen enough. What is left must not fail when Python flushes it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except (typer.Exit, typer.Abort, typer.TyperException):
        raise
    except Exception as error:  # a model, a provider or the file system may raise anything
        is_known = isinstance(error, SentenceWindowError | ImportError)
        code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), FAILED)
        raise _exit(str(error) if is_known else f"{type(error).__name__}: {error}", code) from error


def _exit(message: str, code: int) -> typer.Exit:
    """Write an error to stderr, and return what ends the command with an exit code."""
    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exc()
    sys.stderr.write(f"Error: {one_line(in_commands(message))}\n")
    return typer.Exit(code)


@contextmanager
def _warning_lines() -> Iterator[None]:
    """Write this package's warnings to stderr, each once, and leave out those that libraries mean for programmers."""
    stderr = sys.stderr  # what libraries write while a model is loaded is left out, but not these

    def show(message: Warning | str, *_: object, **__: object) -> None:
        with above_bars(stderr):
            stderr.write(f"Warning: {one_line(in_commands(str(message)))}\n")

    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", SentenceWindowWarning)
        warnings.showwarning = show
        yield
