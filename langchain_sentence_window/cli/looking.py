"""The commands that look into an index: ``ls``, ``show``, ``stats``; and ``rm``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langchain_sentence_window.cli import options
from langchain_sentence_window.cli.exit_codes import NOTHING
from langchain_sentence_window.cli.output import Output, counted

if TYPE_CHECKING:
    from langchain_sentence_window.cli.names import DocumentNames
    from langchain_sentence_window.documents.indexed_documents import IndexedDocument

_KILO = 1_000


def ls(
    *,
    filter: options.Filter = None,
    index: options.Index = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """List the documents of an index."""
    from langchain_sentence_window.cli.names import EMPTY, DocumentNames
    from langchain_sentence_window.cli.opening import existing_index, open_to_read
    from langchain_sentence_window.cli.values import read_filter

    out = Output(as_json=as_json, quiet=quiet)
    with open_to_read(existing_index(index)) as retriever:
        documents = retriever.documents(read_filter(filter))
        names = DocumentNames(documents if filter is None else retriever.documents())
    if documents:
        _list(out, documents, names)
    out.document({"documents": documents})
    if not documents:
        out.complain("No documents were found." if names.has_any else EMPTY)
        raise typer.Exit(NOTHING)
    out.note(f"{counted(len(documents), 'document')}, {counted(sum(each.sentences for each in documents), 'sentence')}")


def _list(out: Output, documents: Sequence["IndexedDocument"], names: "DocumentNames") -> None:
    """Write a table of documents."""
    from langchain_sentence_window.cli.plain_text import one_line
    from langchain_sentence_window.documents.window_metadata import PAGES, SENTENCES

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
    out.table([list(told), *map(list, zip(*told.values(), strict=True))], numbers=numbers, shrink=shrink, cuts=cuts)


def show(
    document: options.Name,
    *,
    sentences: Annotated[bool, typer.Option("--sentences", "-s", help="Number the sentences.")] = False,
    window: Annotated[
        str | None, typer.Option("--window", "-w", metavar="FIRST-LAST", help="Show these sentences alone.")
    ] = None,
    index: options.Index = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Show the text of a document as the index holds it."""
    from langchain_sentence_window.cli.documents import read_range, read_sentences, show_sentences
    from langchain_sentence_window.cli.names import find_documents, written
    from langchain_sentence_window.cli.opening import existing_index, open_to_read
    from langchain_sentence_window.documents.window_metadata import SENTENCES

    out = Output(as_json=as_json, quiet=quiet)
    chosen = None if window is None else read_range(window)
    with open_to_read(existing_index(index)) as retriever:
        (named,) = find_documents(retriever, [document])
        if chosen is None and not sentences:
            (found,) = retriever.get([named.doc_id])
            out.line(found.page_content)
            out.document({"document": named.doc_id, "text": found.page_content, "metadata": found.metadata})
            return
        held = read_sentences(retriever, named, chosen)
    if held:
        show_sentences(out, held, numbered=sentences)
    listed: list[dict[str, Any]] = [
        {"number": each.index, "start": each.start, "end": each.end, "text": each.text} for each in held
    ]
    out.document({"document": named.doc_id, SENTENCES: listed})
    if not held:
        out.complain(f"{written(named.doc_id)} has no such sentences.")
        raise typer.Exit(NOTHING)


def rm(
    documents: Annotated[
        list[str] | None,
        typer.Argument(metavar="DOC...", help="Documents: ids, sources, or the ends of their paths."),
    ] = None,
    *,
    filter: options.Filter = None,
    index: options.Index = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Remove documents from an index.

    Their files stay where they are, and sync would add them again.
    """
    from langchain_sentence_window.cli.names import find_documents, written
    from langchain_sentence_window.cli.opening import existing_index, open_to_read
    from langchain_sentence_window.cli.values import read_filter

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
        out.complain("No documents were found.")
        raise typer.Exit(NOTHING)


def stats(*, index: options.Index = None, as_json: options.AsJson = False, quiet: options.Quiet = False) -> None:
    """Show what an index holds, its size, and what it remembers."""
    from langchain_sentence_window.cli.opening import existing_index, open_to_read
    from langchain_sentence_window.cli.settings import shown_settings
    from langchain_sentence_window.documents.window_metadata import SENTENCES
    from langchain_sentence_window.retrieval.index_settings import read_index_settings

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
            **shown_settings(remembered),
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
