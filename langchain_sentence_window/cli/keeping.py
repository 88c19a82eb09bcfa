"""The commands that keep an index: ``check``, ``backup``, ``restore`` and ``config``."""

from pathlib import Path
from typing import Annotated

import typer

from langchain_sentence_window.cli import options
from langchain_sentence_window.cli.exit_codes import NOTHING
from langchain_sentence_window.cli.output import Output, counted


def check(*, index: options.Index = None, as_json: options.AsJson = False, quiet: options.Quiet = False) -> None:
    """Verify everything that an index holds."""
    from langchain_sentence_window.cli.opening import existing_index
    from langchain_sentence_window.retrieval.index_checks import check_index

    out = Output(as_json=as_json, quiet=quiet)
    with out.waiting("Checking …"):
        found = check_index(existing_index(index).absolute())
    out.line(str(found))
    out.document(found)
    if found.problems:
        out.complain("The index isn't sound. Restore a backup, or index the files again in another folder.")
        raise typer.Exit(NOTHING)


def backup(
    folder: Annotated[Path, typer.Argument(metavar="DIR", file_okay=False, help="A folder that holds no index yet.")],
    *,
    index: options.Index = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Copy an index into another folder, also while it is used."""
    from langchain_sentence_window.cli.opening import existing_index, open_to_read
    from langchain_sentence_window.documents.window_metadata import SENTENCES

    out = Output(as_json=as_json, quiet=quiet)
    with open_to_read(existing_index(index)) as retriever:
        retriever.backup(folder)
        found = retriever.stats()
    out.line(f"{folder} holds {counted(found.documents, 'document')}, {counted(found.sentences, 'sentence')}")
    out.document({"backup": folder, "documents": found.documents, SENTENCES: found.sentences})


def restore(
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="A folder that backup made.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Replace an index that is there without asking.")] = False,
    index: options.Index = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Replace an index with a backup, which is checked first."""
    from langchain_sentence_window.cli.opening import check_writable, existing_index, new_index, open_to_read
    from langchain_sentence_window.documents.window_metadata import SENTENCES
    from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
    from langchain_sentence_window.stores.faiss.faiss_store import FaissStore

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
    """Show or change what an index remembers."""
    from langchain_sentence_window.cli.opening import existing_index, remember
    from langchain_sentence_window.cli.settings import changed_settings, shown_settings

    out = Output(as_json=as_json, quiet=quiet)
    folder = existing_index(index)
    found = remember(folder, **changed_settings(folder, settings or [], unset or []))
    out.facts({"index": str(folder), **shown_settings(found)})
    out.document({"index": folder, "remembered": found})
