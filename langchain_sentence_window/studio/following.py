"""Follow the folders that the index remembers: add what is new there, read again what has changed."""

from pathlib import Path
from typing import Any

from starlette.routing import BaseRoute

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window.folders.results import SyncProgress, SyncResult
from langchain_sentence_window.folders.syncing import index_folder, sync_files
from langchain_sentence_window.retrieval.index_settings import read_index_settings
from langchain_sentence_window.studio.jobs import Job
from langchain_sentence_window.studio.listing import base_name
from langchain_sentence_window.studio.replies import Arguments, Refused, calling, check_writable, reading
from langchain_sentence_window.studio.state import Studio

MAX_TOLD = 100
"""The most paths that the page is told of."""


class Following(Arguments):
    """Whether documents whose files have gone are deleted."""

    delete: bool = False


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [reading("/api/sources", Arguments, list_sources), calling("/api/documents/sync", Following, follow_sources)]


async def list_sources(studio: Studio, _: Arguments) -> object:
    """Return the files and folders that the index was made from and that are served."""
    return {"sources": await ASYNC.in_thread(_sources, studio)}


async def follow_sources(studio: Studio, given: Following) -> object:
    """Start to bring the index up to date with its files and folders."""
    check_writable(studio)
    sources = await ASYNC.in_thread(_sources, studio)
    if not sources:
        raise Refused(409, "the index remembers no folder that is served; add files instead")

    async def work(job: Job) -> object:
        async with studio.library.writing:
            try:
                return await _follow(studio, job, sources, delete=given.delete)
            finally:
                studio.library.forget()

    return studio.jobs.start("sync", "Bring the index up to date with its folders", work).to_dict()


async def _follow(studio: Studio, job: Job, sources: list[str], *, delete: bool) -> dict[str, Any]:
    def report(progress: SyncProgress) -> None:
        name = "" if progress.current is None else base_name(progress.current)
        job.report(done=progress.done, total=progress.total, name=name, sentences=progress.sentences)

    return _told(await ASYNC.in_thread(sync_files, studio.retriever, sources, delete=delete, on_progress=report))


def _told(result: SyncResult) -> dict[str, Any]:
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
        "skipped": sum(result.skipped.values()),
        "failed": failed[:MAX_TOLD],
        "failures": len(failed),
        "sentences": result.sentences,
    }


def _sources(studio: Studio) -> list[str]:
    # The file of settings may come from a stranger, so only what is served counts.
    folder = index_folder(studio.retriever)
    if folder is None:
        return []
    return [each for each in read_index_settings(folder).sources if _is_served(studio, Path(each))]


def _is_served(studio: Studio, path: Path) -> bool:
    resolved = path.resolve()
    return any(resolved == each or resolved.is_relative_to(each) for each in studio.folders)
