"""Baselines for sentence windows: fixed chunks with BM25, plain windows, and retrievers of LangChain."""

import re
from importlib.util import find_spec
from typing import Any

import bm25s
import numpy as np
import numpy.typing as npt
from langchain_classic.retrievers import EnsembleRetriever, MultiVectorRetriever, ParentDocumentRetriever
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from pydantic import PrivateAttr

from langchain_sentence_window import SentenceSplitter

Floats = npt.NDArray[np.floating]

RETURNED = 40
"""Windows or chunks returned, enough for the largest budget."""
LEXICAL_WEIGHT = 0.3
"""What BM25 adds to the dense score, both as z-scores."""
SEPARATORS = ["\n\n", "\n", ".", "?", "!", " ", ""]
"""Chunks that end with sentences: a stronger baseline than those that end anywhere."""
PARENTS = ((400, 2000), (200, 800))
"""Characters of the chunks that are searched, and of those that are returned."""
SEARCHED = 5 * RETURNED
"""Children searched, so that enough of their parents are returned."""


def chunker(size: int, overlap: int = 0) -> RecursiveCharacterTextSplitter:
    """Make a splitter into chunks that know their places."""
    return RecursiveCharacterTextSplitter(
        SEPARATORS, keep_separator="end", chunk_size=size, chunk_overlap=overlap, add_start_index=True
    )


def retrievers_of_langchain(documents: list[Document], embedding: Embeddings) -> dict[str, BaseRetriever]:
    """Index documents for LangChain's own retrievers; `BM25Retriever` needs the package rank-bm25."""
    made: dict[str, BaseRetriever] = {}
    for child, parent in PARENTS:
        parents = ParentDocumentRetriever(
            vectorstore=InMemoryVectorStore(embedding),
            docstore=InMemoryStore(),
            child_splitter=chunker(child),
            parent_splitter=chunker(parent),
            search_kwargs={"k": SEARCHED},
        )
        parents.add_documents(documents)
        made[f"ParentDocumentRetriever, {child:,} in {parent:,}"] = parents
    made["MultiVectorRetriever, sentences in 800"] = _sentences_in_chunks(documents, embedding, 800)
    if find_spec("rank_bm25"):
        chunks = chunker(400).split_documents(documents)
        made["EnsembleRetriever, chunks of 400"] = _ensemble(chunks, embedding)
    return made


def _sentences_in_chunks(documents: list[Document], embedding: Embeddings, size: int) -> BaseRetriever:
    """Search sentences, and return the chunks that they are in."""
    chunks = {str(number): chunk for number, chunk in enumerate(chunker(size).split_documents(documents))}
    sentences = [
        Document(chunk.page_content[start:end], metadata={"parent": parent})
        for parent, chunk in chunks.items()
        for start, end in SentenceSplitter().spans(chunk.page_content)
    ]
    retriever = MultiVectorRetriever(
        vectorstore=InMemoryVectorStore.from_documents(sentences, embedding),
        docstore=InMemoryStore(),
        id_key="parent",
        search_kwargs={"k": SEARCHED},
    )
    retriever.docstore.mset(list(chunks.items()))
    return retriever


def _ensemble(chunks: list[Document], embedding: Embeddings) -> BaseRetriever:
    """Fuse the ranks of BM25 and of a search by meaning."""
    from langchain_community.retrievers import BM25Retriever

    lexical = BM25Retriever.from_documents(chunks, k=RETURNED, preprocess_func=words)
    dense = InMemoryVectorStore.from_documents(chunks, embedding).as_retriever(search_kwargs={"k": RETURNED})
    return EnsembleRetriever(retrievers=[lexical, dense], weights=[0.5, 0.5])


class HybridChunks(BaseRetriever):
    """Chunks ranked by the sum of z-scored cosine and BM25."""

    k: int = RETURNED
    lexical_weight: float = LEXICAL_WEIGHT
    _chunks: list[Document] = PrivateAttr()
    _embedding: Embeddings = PrivateAttr()
    _vectors: Floats = PrivateAttr()
    _bm25: bm25s.BM25 = PrivateAttr()

    def __init__(self, chunks: list[Document], embedding: Embeddings, **settings: Any) -> None:
        """Index chunks in memory."""
        super().__init__(**settings)
        self._chunks, self._embedding = chunks, embedding
        self._vectors = np.array(embedding.embed_documents([chunk.page_content for chunk in chunks]))
        self._bm25 = bm25s.BM25()
        self._bm25.index([words(chunk.page_content) for chunk in chunks], show_progress=False)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        dense = self._vectors @ np.array(self._embedding.embed_query(query))
        scores = z_scores(dense) + self.lexical_weight * z_scores(self._bm25.get_scores(words(query)))
        return [self._chunks[i] for i in np.argsort(-scores)[: self.k]]


class PlainWindows(BaseRetriever):
    """Each hit's own window, as LlamaIndex's sentence windows are returned: neither merged nor cut at headings."""

    store: InMemoryVectorStore

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        hits = self.store.similarity_search(query, k=RETURNED)
        return [Document(page_content=hit.metadata["window"], metadata=hit.metadata) for hit in hits]


def plain_windows(documents: list[Document], size: int) -> list[Document]:
    """Make a Document of each sentence, with the window around it in its metadata."""
    made: list[Document] = []
    for document in documents:
        text = document.page_content
        spans = SentenceSplitter().spans(text)
        for i, (start, end) in enumerate(spans):
            first, last = spans[max(0, i - size)][0], spans[min(len(spans) - 1, i + size)][1]
            place = {**document.metadata, "start_index": first, "window": text[first:last]}
            made.append(Document(page_content=text[start:end], metadata=place))
    return made


class CachedEmbeddings(Embeddings):
    """Embeds no text twice, as several of the retrievers embed the same sentences and questions."""

    def __init__(self, embedding: Embeddings) -> None:
        """Wrap an embedder."""
        self.embedding = embedding
        self.known: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed those that are new."""
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            self.known.update(zip(new, self.embedding.embed_documents(new), strict=True))
        return [self.known[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Embed a question; the model makes no difference between questions and documents."""
        return self.embed_documents([text])[0]


def words(text: str) -> list[str]:
    """The words that BM25 counts; an empty one where there are none, as it refuses no words at all."""
    return re.findall(r"\w+", text.lower()) or [""]


def z_scores(scores: Floats) -> Floats:
    """Scores with a mean of 0 and a standard deviation of 1."""
    scaled: Floats = (scores - scores.mean()) / (scores.std() + 1e-9)
    return scaled
