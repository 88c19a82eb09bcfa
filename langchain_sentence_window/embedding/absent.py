"""`NoEmbeddings`: stands in for the embedder of an index that is only listed, read, checked or copied."""

from langchain_core.embeddings import Embeddings

from langchain_sentence_window.errors import InvalidInputError


class NoEmbeddings(Embeddings):
    """Refuses to embed, so that an index can be opened without loading a model.

    A `FaissStore` that was opened with it lists, reads, deletes and copies what it holds. It can't be searched, and no
    text can be added.
    """

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Raise InvalidInputError."""
        raise self._refusal()

    def embed_query(self, text: str) -> list[float]:
        """Raise InvalidInputError."""
        raise self._refusal()

    @staticmethod
    def _refusal() -> InvalidInputError:
        return InvalidInputError("the index was opened without an embedder; open it with the one that it was made with")
