"""The documents of the index: list them, look into one, add and delete some, and follow their folders."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from langchain_sentence_window.stores import IndexedDocument, read_index_settings
from sentence_window.files.readers import readers
from sentence_window.folders import SyncProgress, sync_files
from sentence_window.studio.page_state import (
    Studio,
    base_name,
    calling,
    check_writable,
    index_folder,
    reading,
)
from sentence_window.studio.replies import (
    Refused,
    Report,
    bytes_of,
    check_type,
    fields_of,
    progress_lines,
    reply,
    reply_to,
)
from sentence_window.studio.uploads import MAX_UPLOAD_BYTES, add_upload, remove_uploads

MAX_ROWS = 500
"""The most documents of one reply, as a table shows only some."""

MAX_DELETED = 100_000
"""The most documents of one call."""

MAX_LISTED = 100
"""The most files that the page lists as failed."""

BYTES = "application/octet-stream"

Sort: TypeAlias = Literal["name", "sentences", "pages", "added"]
Search: TypeAlias = Annotated[str, Field(max_length=1_000)]
DocIds: TypeAlias = Annotated[list[str], Field(min_length=1, max_length=MAX_DELETED)]


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [
        reading("/api/documents", list_documents),
        reading("/api/documents/details", show_document),
        calling("/api/documents/delete", delete_documents),
        Route("/api/documents/add", _add_file, methods=["POST"]),
        calling("/api/documents/sync", follow_sources),
    ]


async def list_documents(
    studio: Studio, *, search: Search = "", sort: Sort = "name", order: Literal["up", "down"] = "up"
) -> object:
    """Return the first of the documents that a search finds, how many there are, and what may be added or followed.

    The words of the search must be in the id, the source or the title, in any case.
    """
    documents = await studio.documents()
    words = search.casefold().split()
    found = [each for each in documents if all(word in _searched_text(each) for word in words)]
    found = _sorted(found, sort, is_down=order == "down")
    can_add = not studio.is_read_only and studio.uploads is not None
    return {
        "documents": [_row(each) for each in found[:MAX_ROWS]],
        "found": len(found),
        "total": len(documents),
        "sentences": sum(each.sentences for each in found),
        "can_change": not studio.is_read_only,
        "adding": {"suffixes": sorted(readers()), "max_bytes": MAX_UPLOAD_BYTES} if can_add else None,
        "sources": [] if studio.is_read_only else await asyncio.to_thread(_sources, studio),
    }


def _searched_text(document: IndexedDocument) -> str:
    return "\n".join([document.doc_id, document.source or "", document.title or ""]).casefold()


def _sorted(documents: Sequence[IndexedDocument], sort: Sort, *, is_down: bool) -> list[IndexedDocument]:
    """Sort documents; those without a value come last, and equal ones by name."""
    by_name = sorted(documents, key=lambda each: (_name_of(each).casefold(), each.doc_id))
    if sort == "name":
        return by_name[::-1] if is_down else by_name
    known = [each for each in by_name if getattr(each, sort) is not None]
    known.sort(key=lambda each: getattr(each, sort), reverse=is_down)
    return known + [each for each in by_name if getattr(each, sort) is None]


def _row(document: IndexedDocument) -> dict[str, Any]:
    added = None if document.added is None else document.added.isoformat()
    return {**fields_of(document, "doc_id source title sentences pages"), "name": _name_of(document), "added": added}


def _name_of(document: IndexedDocument) -> str:
    return base_name(document.source or document.doc_id)


async def show_document(studio: Studio, doc_id: str) -> object:
    """Return what is known of a document."""
    found = next((each for each in await studio.documents() if each.doc_id == doc_id), None)
    if found is None:
        raise Refused(404, "there is no such document in the index; it may have been deleted")
    return {**_row(found), "metadata": found.metadata}


async def delete_documents(studio: Studio, doc_ids: DocIds) -> object:
    """Delete documents, and the files of those that were added from the page."""
    check_writable(studio)
    async with studio.writing:
        wanted = set(doc_ids)
        known = [each for each in await studio.retriever.adocuments() if each.doc_id in wanted]
        deleted = await studio.retriever.adelete([each.doc_id for each in known]) if known else 0
        studio.forget_documents()
        left = {each.doc_id for each in await studio.documents()}
        gone = [each for each in known if each.doc_id not in left]
        await asyncio.to_thread(remove_uploads, studio.uploads, gone)
    return {"deleted": deleted}


async def _add_file(request: Request) -> Response:
    """Add the file of some bytes, named by ``name`` in the query; say whether the index has them already."""
    try:
        studio: Studio = request.app.state.studio
        check_writable(studio)
        # A page of another origin can't send this type without asking first, and is refused then.
        check_type(request, BYTES)
        name = request.query_params.get("name", "")
        if not name.strip():
            raise Refused(400, "say what the file is called: ?name=...")
        content = await bytes_of(request, MAX_UPLOAD_BYTES)
        async with studio.writing:
            is_new = await add_upload(studio, name, content)
    except ClientDisconnect:
        raise
    except Exception as error:  # noqa: BLE001 - the page shows it
        return reply_to(error)
    return reply({"added": is_new})


async def follow_sources(studio: Studio, *, delete: bool = False) -> object:
    """Bring the index up to date with its files and folders, and report the progress."""
    check_writable(studio)
    sources = await asyncio.to_thread(_sources, studio)
    if not sources:
        raise Refused(409, "the index remembers no folder that is served; add files instead")

    async def work(report: Report) -> object:
        def on_progress(progress: SyncProgress) -> None:
            name = "" if progress.current is None else base_name(progress.current)
            report(done=progress.done, total=progress.total, name=name)

        async with studio.writing:
            try:
                result = await asyncio.to_thread(
                    sync_files, studio.retriever, sources, delete=delete, on_progress=on_progress
                )
            finally:
                studio.forget_documents()
        failed = [{"name": path, "reason": why} for path, why in {**result.failed, **result.known_failed}.items()]
        counts = {name: len(getattr(result, name)) for name in ("added", "updated", "unchanged", "deleted", "empty")}
        return {**counts, "failed": failed[:MAX_LISTED], "failures": len(failed)}

    return progress_lines(work)


def _sources(studio: Studio) -> list[str]:
    """Return the files and folders that the index was made from and that are served."""
    # The file of settings may come from a stranger, so only what is served counts.
    folder = index_folder(studio.retriever)
    sources = () if folder is None else read_index_settings(folder).sources
    return [each for each in sources if any(Path(each).resolve().is_relative_to(served) for served in studio.folders)]
