"""Retrieval in callbacks and LangSmith: the store and embedder that were searched, and a run for the reranker.

LangChain's own retrievers only pass their callbacks on to a compressor, and most compressors make no run. So the run is
made here, for any compressor.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import LangSmithRetrieverParams
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.registry import adapter_of
from langchain_sentence_window.retrieval.reranked import Reranked, copied_documents, read_ranking


def search_params(store: VectorStore) -> LangSmithRetrieverParams:
    """Return the parameters that LangSmith shows of a store and its embedder, as far as they are known."""
    params = LangSmithRetrieverParams(ls_vector_store_provider=type(store).__name__)
    embedding = adapter_of(store).embedding
    if embedding is not None:
        params["ls_embedding_provider"] = type(embedding).__name__
        # The first name is langchain-huggingface's, the second that of most others.
        model = getattr(embedding, "model_name", None) or getattr(embedding, "model", None)
        if isinstance(model, str):
            params["ls_embedding_model"] = model
    return params


async def reranked(
    io: IO, reranker: BaseDocumentCompressor, documents: Sequence[Document], query: str, callbacks: Callbacks
) -> list[Document]:
    """Rerank documents in a run with the reranker's name, as a child of the run with the callbacks.

    The run's input is the query and the documents in the order of the search. Its output is the documents in the
    reranker's order, their ranks in the search from 1 as ``search_ranks``, and as ``left_out`` the number of Documents
    that came twice or belong to no window.

    Raises:
        InvalidInputError: The reranker's result can't be read; see `read_ranking`.
    """
    name = type(reranker).__name__

    def rerank(given: Mapping[str, Any], config: RunnableConfig) -> dict[str, Any]:
        copies = copied_documents(given["documents"])
        found = reranker.compress_documents(copies, given["query"], config.get("callbacks"))
        return _outputs(read_ranking(name, found, documents))

    async def arerank(given: Mapping[str, Any], config: RunnableConfig) -> dict[str, Any]:
        copies = copied_documents(given["documents"])
        found = await reranker.acompress_documents(copies, given["query"], config.get("callbacks"))
        return _outputs(read_ranking(name, found, documents))

    run = RunnableLambda(rerank, arerank, name=name)
    given = {"query": query, "documents": list(documents)}
    found: dict[str, list[Document]] = await io.call(run.invoke, run.ainvoke, given, {"callbacks": callbacks})
    return found["documents"]


def _outputs(ranking: Reranked) -> dict[str, Any]:
    return {
        "documents": ranking.documents,
        "search_ranks": ranking.search_ranks,
        "left_out": ranking.left_out,
    }
