"""The files that an index holds, as the metadata of its documents says."""

from typing import NamedTuple

from langchain_sentence_window.documents.file_states import FileState
from langchain_sentence_window.folders.walking import FoundFile
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever


class IndexedFile(NamedTuple):
    """A document that has the path of a file as its name.

    Attributes:
        state: The state of the file when it was read; ``None`` if the document came from elsewhere.
        is_whole: Whether the index holds all of its sentences.
    """

    state: FileState | None
    is_whole: bool

    @property
    def is_of_file(self) -> bool:
        """Whether the document was read from a file by `sync_files`."""
        return self.state is not None

    def is_current(self, file: FoundFile) -> bool:
        """Return whether the file's size and time say that it hasn't changed."""
        state = self.state
        return state is not None and self.is_whole and (state.size, state.modified_ns) == (file.size, file.modified_ns)

    def has(self, sha256: str) -> bool:
        """Return whether the document was made of bytes with this hash."""
        return self.state is not None and self.is_whole and self.state.sha256 == sha256


def indexed_files(retriever: SentenceWindowRetriever) -> dict[str, IndexedFile]:
    """List the documents of an index that may be files, by their paths.

    Raises:
        InvalidInputError: The store can't list what it holds.
    """
    found: dict[str, IndexedFile] = {}
    for document in retriever.documents():
        if document.source == document.doc_id:
            state = FileState.read(document.metadata)
            # A store that doesn't write whole documents may have been stopped in the middle of one.
            is_whole = state is not None and state.sentences in (None, document.sentences)
            found[document.doc_id] = IndexedFile(state, is_whole)
    return found
