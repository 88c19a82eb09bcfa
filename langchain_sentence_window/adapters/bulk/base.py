"""`BulkLoader`: how a store takes many sentences with their vectors; and what all loaders check."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._showing import shown
from langchain_sentence_window._types import Vectors
from langchain_sentence_window._validation import listed
from langchain_sentence_window.adapters.traits import StoreTraits
from langchain_sentence_window.errors import InvalidInputError


class BulkLoader(ABC):
    """Loads sentences into a store: `prepare` once, `write` often, and `finish` once; or `restore` after an error.

    Writing is idempotent: a sentence replaces the one with the same id. What `prepare` switched off is noted in the
    store itself, so that `finish` switches it on again after a crash too, also from another process.
    """

    settings: ClassVar[Mapping[str, Any]] = {}
    """The settings that a loader of this class takes, with their defaults."""

    def __init__(self, adapter: StoreTraits, settings: Mapping[str, Any]) -> None:
        """Take the store's adapter, and settings.

        Raises:
            InvalidInputError: There is no such setting for the store.
        """
        unknown = settings.keys() - self.settings
        if unknown:
            known = listed(list(self.settings)) if self.settings else "none"
            raise InvalidInputError(
                f"{listed(sorted(unknown))} is no setting for loading {adapter.name}; its settings: {known}"
            )
        self.adapter = adapter
        self.given = {**self.settings, **settings}

    async def prepare(self, io: IO) -> None:  # noqa: B027 - not all stores have something to switch off
        """Switch off what makes writing slow, such as indexes."""

    @abstractmethod
    async def write(self, io: IO, documents: Sequence[Document], vectors: Vectors, *, are_new: bool = False) -> None:
        """Write sentence Documents, each in the place of one with the same id.

        Args:
            io: Makes the calls.
            documents: ``n`` sentence Documents with ids, no two of them equal.
            vectors: Their vectors as they are to be searched, shape ``(n, dimension)``.
            are_new: Whether the store had none of them a moment ago; it may have got them since.
        """

    async def finish(self, io: IO) -> None:  # noqa: B027
        """Build indexes, and switch on again what `prepare` switched off."""

    async def restore(self, io: IO) -> None:
        """Switch on again what `prepare` switched off, and build nothing new."""
        await self.finish(io)


def encoded(text: str, document: Document) -> bytes:
    """Return a text in UTF-8.

    Raises:
        InvalidInputError: It holds a lone surrogate, which UTF-8 can't hold, or a NUL, which many stores can't.
    """
    try:
        in_utf8 = text.encode()
    except UnicodeEncodeError:
        in_utf8 = b"\0"
    if b"\0" in in_utf8:
        raise InvalidInputError(
            f"the sentence {shown(document.id)} holds a NUL or a lone surrogate in {shown(text)}, which the store "
            "can't keep; take such characters out of the document"
        )
    return in_utf8
