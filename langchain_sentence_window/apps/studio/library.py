"""The documents of the index: list them, look into one, add and delete some, and follow their folders."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from langchain_core.documents import Document
from pydantic import Field
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window.apps.folders.file_sync import SyncProgress, SyncResult, index_folder, sync_files
from langchain_sentence_window.documents.file_state import FileState
from langchain_sentence_window.embedding.embedder import on_embedded_texts
from langchain_sentence_window.loaders.file_bytes import Root, read_file
from langchain_sentence_window.loaders.file_loader import SUFFIXES, convert
from langchain_sentence_window.loaders.pdf.pdf_process import PdfProcess
from langchain_sentence_window.retrieval import indexing
from langchain_sentence_window.retrieval.index_settings import read_index_settings

from .page_state import Job, Sort, Stopped, Studio, base_name, calling, check_writable, reading, row, studio_of
from .replies import Refused, error_dict, reply, reply_to
from .uploads import MAX_UPLOAD_BYTES, MAX_WAITING, Upload, discard

MAX_ROWS = 500
"""The most documents of one reply, as a table shows only some."""

MAX_DELETED = 100_000
"""The most documents of one call."""


Search: TypeAlias = Annotated[str, Field(max_length=1_000)]
Limit: TypeAlias = Annotated[int, Field(ge=1, le=MAX_ROWS)]
DocIds: TypeAlias = Annotated[list[str], Field(min_length=1, max_length=MAX_DELETED)]


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [
        reading("/api/documents", list_documents),
        reading("/api/documents/details", show_document),
        calling("/api/documents/delete", delete_documents),
        Route("/api/documents/upload", _upload, methods=["POST"]),
        calling("/api/documents/add", add_files),
        calling("/api/documents/sync", follow_sources),
    ]


async def list_documents(
    studio: Studio,
    *,
    search: Search = "",
    sort: Sort = "name",
    order: Literal["up", "down"] = "up",
    limit: Limit = 100,
) -> object:
    """Return the first of the documents that a search finds, how many there are, and what may be added or followed."""
    listing = await studio.library.current(studio.retriever)
    found = listing.found(search, sort, is_down=order == "down")
    return {
        "documents": [row(each) for each in found[:limit]],
        "found": len(found),
        "total": len(listing.documents),
        "sentences": sum(each.sentences for each in found),
        "can_change": not studio.is_read_only,
        "adding": what_can_be_added(studio),
        "sources": [] if studio.is_read_only else await ASYNC.in_thread(_sources, studio),
    }


async def show_document(studio: Studio, doc_id: str) -> object:
    """Return what is known of a document.

    Raises:
        Refused: There is no such document within the retriever's filter.
    """
    found = (await studio.library.current(studio.retriever)).by_id.get(doc_id)
    if found is None:
        raise Refused(404, "there is no such document in the index; it may have been deleted")
    return {**row(found), "metadata": found.metadata}


async def delete_documents(studio: Studio, doc_ids: DocIds) -> object:
    """Delete documents, and the files of those that were added from the page and that this call deleted."""
    check_writable(studio)
    retriever = studio.retriever
    deleted = await indexing.delete_documents(ASYNC, retriever.scope(), doc_ids, bm25_index=retriever.bm25_index)
    studio.library.forget()
    return {"deleted": len(deleted), "files": await ASYNC.in_thread(studio.uploads.kept.remove, deleted)}


BYTES = "application/octet-stream"
MAX_LISTED = 100
"""The most files that the page lists as failed."""


Numbers: TypeAlias = Annotated[list[str], Field(min_length=1, max_length=MAX_WAITING)]
"""Random names of files that were uploaded."""


@dataclass(slots=True)
class Progress:
    """How far files are added.

    Attributes:
        total: How many there are.
        done: How many of them are done.
        name: The one that is being added.
        added: How many were added.
        same: Names of those whose very bytes the index has already, and of the documents that have them.
        failed: Names of those that failed, and why.
        sentences: Sentences that were embedded.
    """

    total: int
    done: int = 0
    name: str = ""
    added: int = 0
    same: list[dict[str, str]] = field(default_factory=list)
    failed: list[dict[str, str]] = field(default_factory=list)
    sentences: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return what the page shows."""
        same, failed = self.same[:MAX_LISTED], self.failed[:MAX_LISTED]
        return asdict(self) | {"same": same, "failed": failed, "failures": len(self.failed)}


async def add_files(studio: Studio, uploads: Numbers) -> object:
    """Start to add files that were uploaded."""
    check_writable(studio)
    taken = studio.uploads.take(uploads)
    title = f"Add {taken[0].name}" if len(taken) == 1 else f"Add {len(taken)} files"
    return studio.jobs.start("add", title, lambda job: _add_all(studio, job, taken)).to_dict()


async def _upload(request: Request) -> Response:
    """Receive the bytes of a file, named by ``name`` in the query."""
    try:
        studio = studio_of(request)
        check_writable(studio)
        _check_request(request)
        upload = await studio.uploads.receive(request.query_params["name"], request.stream())
    except ClientDisconnect:
        raise
    except Exception as error:  # noqa: BLE001 - the page shows it
        return reply_to(error)
    return reply({"upload": upload.number, "name": upload.name})


def _check_request(request: Request) -> None:
    # A page of another origin can't send this type without asking first, and is refused then.
    if request.headers.get("content-type") != BYTES:
        raise Refused(415, f"send the bytes of the file as {BYTES}")
    if not request.query_params.get("name", "").strip():
        raise Refused(400, "say what the file is called: ?name=...")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > MAX_UPLOAD_BYTES:
        raise Refused(413, f"the file has more than {MAX_UPLOAD_BYTES // 1_000_000} MB; split it")


async def _add_all(studio: Studio, job: Job, uploads: list[Upload]) -> object:
    progress, pdfs = Progress(len(uploads)), PdfProcess()
    try:
        async with studio.library.writing:
            for upload in uploads:
                progress.name = upload.name
                job.report(**progress.to_dict())
                await _add_one(studio, job, pdfs, upload, progress)
                progress.done += 1
    finally:
        studio.library.forget()
        job.progress = progress.to_dict()
        await ASYNC.to_end(_end, pdfs, uploads)
    return progress.to_dict()


def _end(pdfs: PdfProcess, uploads: Iterable[Upload]) -> None:
    pdfs.close()
    for upload in uploads:
        discard(upload.path)


async def _add_one(studio: Studio, job: Job, pdfs: PdfProcess, upload: Upload, progress: Progress) -> None:
    for each in await studio.documents():
        state = FileState.read(each.metadata)
        if state is not None and state.sha256 == upload.sha256:
            progress.same.append({"name": upload.name, "doc_id": each.doc_id})
            return

    def report(count: int) -> None:
        progress.sentences += count
        job.report(**progress.to_dict())

    kept, placed, is_added = studio.uploads.kept, list[str](), False

    def load() -> list[Document]:
        path = kept.add(upload.path, upload.name, upload.sha256)
        placed.append(str(path))
        return _load(pdfs, path, upload.name)

    try:
        documents = await ASYNC.to_end(load)
        with on_embedded_texts(report):
            await studio.retriever.aadd_documents(documents)
        is_added = True
        progress.added += 1
    except Stopped:
        raise
    except Exception as error:  # noqa: BLE001 - the page shows it, and goes on with the next
        progress.failed.append({"name": upload.name, "reason": error_dict(error)["message"]})
    finally:
        if not is_added:
            await ASYNC.to_end(kept.remove, placed)


def _load(pdfs: PdfProcess, path: Path, name: str) -> list[Document]:
    """Load a kept file, which messages call by the name that it came with.

    The folder it is in must be no link, either.
    """
    return convert(read_file(path, name, Root(str(path.parent.parent))), name, str(path), pdfs)


async def follow_sources(studio: Studio, *, delete: bool = False) -> object:
    """Start to bring the index up to date with its files and folders."""
    check_writable(studio)
    sources = await ASYNC.in_thread(_sources, studio)
    if not sources:
        raise Refused(409, "the index remembers no folder that is served; add files instead")

    async def work(job: Job) -> object:
        async with studio.library.writing:
            try:
                return await _follow(studio, job, sources, delete=delete)
            finally:
                studio.library.forget()

    return studio.jobs.start("sync", "Bring the index up to date with its folders", work).to_dict()


async def _follow(studio: Studio, job: Job, sources: list[str], *, delete: bool) -> dict[str, Any]:
    def report(progress: SyncProgress) -> None:
        name = "" if progress.current is None else base_name(progress.current)
        job.report(done=progress.done, total=progress.total, name=name, sentences=progress.sentences)

    return _sync_dict(await ASYNC.in_thread(sync_files, studio.retriever, sources, delete=delete, on_progress=report))


def _sync_dict(result: SyncResult) -> dict[str, Any]:
    missing = {
        path: f'install what reads it: pip install "langchain-sentence-window[{extra}]"'
        for extra, paths in result.missing_extras.items()
        for path in paths
    }
    reasons = {**result.failed, **missing, **result.known_failed}
    failed = [{"name": path, "reason": reason} for path, reason in reasons.items()]
    return {
        "added": len(result.added),
        "updated": len(result.updated),
        "unchanged": len(result.unchanged),
        "deleted": len(result.deleted),
        "empty": len(result.empty),
        "skipped": sum(result.skipped.values()),
        "failed": failed[:MAX_LISTED],
        "failures": len(failed),
        "sentences": result.sentences,
    }


def _sources(studio: Studio) -> list[str]:
    """Return the files and folders that the index was made from and that are served."""
    # The file of settings may come from a stranger, so only what is served counts.
    folder = index_folder(studio.retriever)
    if folder is None:
        return []
    return [each for each in read_index_settings(folder).sources if _is_served(studio, Path(each))]


def _is_served(studio: Studio, path: Path) -> bool:
    resolved = path.resolve()
    return any(resolved == each or resolved.is_relative_to(each) for each in studio.folders)


def what_can_be_added(studio: Studio) -> dict[str, Any] | None:
    """Return the kinds of files and the most bytes of one; ``None`` if nothing can be added."""
    if studio.is_read_only or studio.uploads.kept.folder is None:
        return None
    return {"suffixes": sorted(SUFFIXES), "max_bytes": MAX_UPLOAD_BYTES}
