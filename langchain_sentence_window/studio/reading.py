"""Read a document as it looks: its text in blocks, and the pages of a PDF."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

from pydantic import Field
from starlette.responses import Response
from starlette.routing import BaseRoute

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window.documents.sentence_pages import PagedSentence
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.loaders.pdf.pdf_process import PdfProcess
from langchain_sentence_window.studio.page_images import ImageCache, places_on
from langchain_sentence_window.studio.pdf_files import PdfState, page_sizes, pdf_of
from langchain_sentence_window.studio.read_document import ReadDocument, read_document
from langchain_sentence_window.studio.replies import JSON, Arguments, Refused, as_json, reading
from langchain_sentence_window.studio.state import Studio

MIN_WIDTH = 200
MAX_WIDTH = 2_400
"""Pixels of a page's picture."""

MAX_KEPT_DOCUMENTS = 4
"""Documents that are kept for the calls of their pages."""

KEPT_SECONDS = 30.0
"""How long they are kept. Then it is asked again whether they may be shown."""

P = ParamSpec("P")
T = TypeVar("T")


class Named(Arguments):
    """A document."""

    doc_id: str = Field(min_length=1)


class Paged(Named):
    """A page of a document, from 0."""

    page: int = Field(ge=0)


class Pictured(Paged):
    """A page of a document as a picture, its width in pixels.

    ``version`` names the file's content, so that browsers don't show the picture of an older one.
    """

    width: int = Field(ge=MIN_WIDTH, le=MAX_WIDTH)
    version: str | None = None


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    pages = _Pages()
    return [
        reading("/api/document", Named, pages.document),
        reading("/api/page", Pictured, pages.picture),
        reading("/api/boxes", Paged, pages.boxes),
    ]


class _Opened:
    """A document that was read a moment ago."""

    def __init__(self, document: ReadDocument) -> None:
        self.document = document
        self.until = 0.0
        self._sentences: Sequence[PagedSentence] | None = None
        self._written: bytes | None = None

    def written(self, shown: dict[str, Any]) -> bytes:
        """Return the document as JSON, with what is known of its file."""
        if self._written is None:
            self._written = as_json(self.document.to_dict())
        return self._written[:-1] + b"," + as_json(shown)[1:]

    def sentences(self) -> Sequence[PagedSentence]:
        """Return its sentences with their places in its pages."""
        if self._sentences is None:
            self._sentences = self.document.on_pages()
        return self._sentences


class _Pages:
    """The documents and the pages of one app."""

    def __init__(self) -> None:
        self._opened: OrderedDict[str, _Opened] = OrderedDict()
        self._images = ImageCache()
        # A process reads one file at a time. Pictures don't wait for boxes, which take a whole file first.
        self._readers = {
            name: (ThreadPoolExecutor(1, f"studio-{name}"), PdfProcess()) for name in ("pictures", "boxes")
        }

    async def document(self, studio: Studio, given: Named) -> object:
        """Return a document in blocks, and the sizes of its pages, or why they can't be shown."""
        opened = await self._open(studio, given.doc_id, is_fresh=True)
        try:
            pdf = await ASYNC.in_thread(pdf_of, opened.document, studio.folders)
            sizes = await self._in("pictures", page_sizes, pdf, opened.document.page_count)
            shown: dict[str, Any] = {"page_sizes": sizes, "version": pdf.version, "no_pages": None}
        except (Refused, SentenceWindowError) as error:
            reason = str(error) if opened.document.kind == "pdf" else None
            shown = {"page_sizes": None, "version": None, "no_pages": reason}
        return Response(await ASYNC.in_thread(opened.written, shown), media_type=JSON)

    async def picture(self, studio: Studio, given: Pictured) -> object:
        """Return a page as a PNG."""
        pdf = await self._pdf(studio, await self._open(studio, given.doc_id))
        made = await self._in("pictures", self._images.page, pdf, given.page, given.width)
        return Response(made, media_type="image/png", headers={"Cache-Control": "private, max-age=600"})

    async def boxes(self, studio: Studio, given: Paged) -> object:
        """Return the places of the sentences that touch a page."""
        opened = await self._open(studio, given.doc_id)
        pdf = await self._pdf(studio, opened)
        return {"page": given.page, "sentences": await self._in("boxes", _places, opened, pdf, given.page)}

    async def _open(self, studio: Studio, doc_id: str, *, is_fresh: bool = False) -> _Opened:
        kept = self._opened.get(doc_id)
        if is_fresh or kept is None or kept.until < time.monotonic():
            self._opened.pop(doc_id, None)
            found = await read_document(studio.retriever, doc_id)
            if kept is None or kept.document != found:
                kept = _Opened(found)
            kept.until = time.monotonic() + KEPT_SECONDS
            self._opened[doc_id] = kept
        self._opened.move_to_end(doc_id)
        while len(self._opened) > MAX_KEPT_DOCUMENTS:
            self._opened.popitem(last=False)
        return kept

    async def _pdf(self, studio: Studio, opened: _Opened) -> PdfState:
        return await ASYNC.in_thread(pdf_of, opened.document, studio.folders)

    async def _in(
        self, name: str, function: Callable[Concatenate[PdfProcess, P], T], *arguments: P.args, **keywords: P.kwargs
    ) -> T:
        thread, pdfs = self._readers[name]
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(thread, partial(function, pdfs, *arguments, **keywords))


def _places(pdfs: PdfProcess, opened: _Opened, pdf: PdfState, page: int) -> object:
    indexes = [each.index for each in opened.document.sentences]
    try:
        sentences = opened.sentences()
    except SentenceWindowError as error:
        raise Refused(409, f"the index doesn't say where its sentences stand ({error})") from error
    return places_on(pdfs, pdf, page, sentences, indexes)
