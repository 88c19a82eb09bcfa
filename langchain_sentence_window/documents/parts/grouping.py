"""Which Documents make up one document, and its name.

A document is named by its id, else by ``doc_id`` in its metadata, else by its source. Documents of one source are its
parts. A text without any of these is named by a hash of the text.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window._primitives import is_storable_id
from langchain_sentence_window.documents.ids import MAX_ID_CHARS, checked_id, storable_text
from langchain_sentence_window.documents.keys import DOC_ID, SOURCE
from langchain_sentence_window.documents.parts.joined_document import JoinedDocument
from langchain_sentence_window.documents.parts.joining import join_parts
from langchain_sentence_window.documents.parts.numbering import Part, part_of, source_of
from langchain_sentence_window.errors import InvalidInputError

JoinParts: TypeAlias = bool | str
"""Whether the parts of a source are joined; a metadata key that numbers them, if loaders don't."""


class Group(NamedTuple):
    """The Documents that make up one document.

    Attributes:
        doc_id: Its name.
        parts: One part, or several in the order given.
    """

    doc_id: str
    parts: list[Part]

    @property
    def is_one_document(self) -> bool:
        """Whether its Documents may be parts of one document, and don't only have the same name."""
        documents = [part.document for part in self.parts]
        if len(documents) == 1:
            return True
        sources = {source_of(document.metadata) for document in documents}
        are_parts = all(part.is_numbered for part in self.parts) or (len(sources) == 1 and None not in sources)
        return are_parts and all(document.id is None for document in documents)

    def join(self) -> JoinedDocument:
        """Join the parts."""
        return join_parts(self.doc_id, self.parts)


def group_documents(documents: Sequence[Document], join: JoinParts) -> list[Group]:
    """Find the documents that some Documents make up.

    Args:
        documents: Pages, elements, rows, chunks, or whole texts, in any order.
        join: ``False`` if each Document is a document of its own; a metadata key that numbers parts.

    Returns:
        The documents, in the order of their first parts.

    Raises:
        InvalidInputError: Two Documents have the same id, or one has an id that stores can't keep.
    """
    groups = group_by_name(documents, join)
    check_groups(groups)
    return groups


def check_groups(groups: Iterable[Group]) -> None:
    """Check that the Documents of each group may be parts of one document.

    Raises:
        InvalidInputError: Two Documents have the same id.
    """
    for group in groups:
        if not group.is_one_document:
            raise InvalidInputError(
                f"two documents of this call have the doc_id {group.doc_id!r}; give each a different one, or join "
                "their texts into one document. Nothing was stored."
            )


def group_by_name(documents: Sequence[Document], join: JoinParts, names: Sequence[str] | None = None) -> list[Group]:
    """Group Documents by the name of the document that each is, or is a part of, as `group_documents` does.

    Args:
        documents: The Documents.
        join: As for `group_documents`.
        names: Their names, if they are known.
    """
    key = join if isinstance(join, str) else None
    groups: dict[str, Group] = {}
    for name, document in zip(document_ids(documents, join) if names is None else names, documents, strict=True):
        groups.setdefault(name, Group(name, [])).parts.append(part_of(document, key))
    return list(groups.values())


def document_ids(documents: Sequence[Document], join: JoinParts, copies: Counter[bytes] | None = None) -> list[str]:
    """Return the name of the document that each Document is, or is a part of.

    The same Documents in the same order always get the same names. Texts without a source that are equal, such as
    blank pages, are numbered.

    Args:
        documents: The Documents.
        join: As for `group_documents`.
        copies: How often each text without a source came before these Documents, which is counted on; ``None`` if none
            came before.

    Raises:
        InvalidInputError: A Document has an id that stores can't keep.
    """
    sources = Counter(source_of(document.metadata) for document in documents)
    copies = Counter() if copies is None else copies
    names: list[str] = []
    for document in documents:
        given = document.id if document.id is not None else document.metadata.get(DOC_ID)
        source = source_of(document.metadata)
        if given is not None:
            names.append(checked_id(given))
        elif source is not None and _is_name(source) and (join or sources[source] == 1):
            names.append(source)
        else:
            names.append(_hash(document, copies))
    return names


def _is_name(source: str) -> bool:
    return is_storable_id(source) and len(source) <= MAX_ID_CHARS


def _hash(document: Document, copies: Counter[bytes]) -> str:
    # A source that can't be written as text doesn't count.
    key = repr((storable_text(document.metadata.get(SOURCE, "")) or "", document.page_content))
    hashed = hashlib.sha256(key.encode("utf-8", "surrogatepass"))
    copies[hashed.digest()] += 1
    hashed.update(str(copies[hashed.digest()]).encode())
    return hashed.hexdigest()[:32]
