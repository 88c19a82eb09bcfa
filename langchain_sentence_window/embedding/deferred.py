"""`DeferredEmbeddings`: stands in for an embedder until something has to be embedded, as loading a model takes long."""

from collections.abc import Callable

from langchain_core.embeddings import Embeddings

from langchain_sentence_window.errors import InvalidInputError


class DeferredEmbeddings(Embeddings):
    """Loads an embedder when it first embeds.

    A `FaissStore` that is opened with it doesn't load it to list, read, delete and copy what it holds. Whether the
    embedder made the index is found out when it is first used, by embedding a few stored texts again.
    """

    def __init__(self, load: Callable[[], Embeddings] | None = None) -> None:
        """Load nothing yet.

        Args:
            load: Loads the embedder; ``None`` to refuse to embed.
        """
        self._load = load
        self._embedding: Embeddings | None = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts.

        Raises:
            InvalidInputError: There is no embedder to load.
        """
        return self._loaded().embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Embed a question.

        Raises:
            InvalidInputError: There is no embedder to load.
        """
        return self._loaded().embed_query(text)

    def _loaded(self) -> Embeddings:
        if self._embedding is None:
            if self._load is None:
                raise InvalidInputError(
                    "the index was opened without an embedder; open it with the one that it was made with"
                )
            self._embedding = self._load()
        return self._embedding
