"""Add files that are dropped on the page."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from pydantic import Field
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window.documents.file_states import FileState
from langchain_sentence_window.embedding.counting import heard_texts
from langchain_sentence_window.loaders.file_bytes import Root, read_file
from langchain_sentence_window.loaders.file_loader import convert
from langchain_sentence_window.loaders.pdf.pdf_process import PdfProcess
from langchain_sentence_window.studio.jobs import Job, Stopped
from langchain_sentence_window.studio.replies import (
    Arguments,
    Refused,
    calling,
    check_writable,
    reply,
    reply_to,
    studio_of,
    told,
)
from langchain_sentence_window.studio.state import Studio
from langchain_sentence_window.studio.uploads import MAX_UPLOAD_BYTES, MAX_WAITING, Upload, discard

BYTES = "application/octet-stream"
MAX_TOLD = 100
"""The most files that the page is told of as failed."""


class Received(Arguments):
    """Files that were uploaded, by their random names."""

    uploads: list[str] = Field(min_length=1, max_length=MAX_WAITING)


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
        return {
            "total": self.total,
            "done": self.done,
            "name": self.name,
            "added": self.added,
            "same": self.same[:MAX_TOLD],
            "failed": self.failed[:MAX_TOLD],
            "failures": len(self.failed),
            "sentences": self.sentences,
        }


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [
        Route("/api/documents/upload", _upload, methods=["POST"]),
        calling("/api/documents/add", Received, add_files),
    ]


async def add_files(studio: Studio, given: Received) -> object:
    """Start to add files that were uploaded."""
    check_writable(studio)
    uploads = studio.uploads.take(given.uploads)
    title = f"Add {uploads[0].name}" if len(uploads) == 1 else f"Add {len(uploads)} files"
    return studio.jobs.start("add", title, lambda job: _add_all(studio, job, uploads)).to_dict()


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
        await ASYNC.in_thread(pdfs.close)
        studio.library.forget()
        for upload in uploads:
            await ASYNC.in_thread(discard, upload.path)
        job.progress = progress.to_dict()
    return progress.to_dict()


async def _add_one(studio: Studio, job: Job, pdfs: PdfProcess, upload: Upload, progress: Progress) -> None:
    for each in await studio.documents():
        state = FileState.read(each.metadata)
        if state is not None and state.sha256 == upload.sha256:
            progress.same.append({"name": upload.name, "doc_id": each.doc_id})
            return

    def hear(count: int) -> None:
        progress.sentences += count
        job.report(**progress.to_dict())

    kept = studio.uploads.kept
    path = await ASYNC.in_thread(kept.add, upload.path, upload.name, upload.sha256)
    is_added = False
    try:
        documents = await ASYNC.in_thread(_load, pdfs, path, upload.name)
        with heard_texts(hear):
            await studio.retriever.aadd_documents(documents)
        is_added = True
        progress.added += 1
    except Stopped:
        raise
    except Exception as error:  # noqa: BLE001 - the page shows it, and goes on with the next
        progress.failed.append({"name": upload.name, "reason": told(error)["message"]})
    finally:
        if not is_added:
            await ASYNC.in_thread(kept.remove, [str(path)])


def _load(pdfs: PdfProcess, path: Path, name: str) -> list[Document]:
    """Load a kept file, which messages call by the name that it came with.

    The folder it is in must be no link, either.
    """
    return convert(read_file(path, name, Root(str(path.parent.parent))), name, str(path), pdfs)
