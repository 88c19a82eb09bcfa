"""Retrieval as callbacks and LangSmith show it: what was searched, and the reranker as a run of its own.

LangChain's own retrievers only hand their callbacks on to a compressor, which mostly makes no run of them;
so it is made here, whatever compressor it is.
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
from langchain_sentence_window.retrieval.reranked import Ranking, handed_out, read_ranking


def search_params(store: VectorStore) -> LangSmithRetrieverParams:
    """What LangSmith shows of a store and its embedder, as far as it is known."""
    params = LangSmithRetrieverParams(ls_vector_store_provider=type(store).__name__)
    embedding = adapter_of(store).embedding
    if embedding is not None:
        params["ls_embedding_provider"] = type(embedding).__name__
        # As langchain-huggingface calls it, and as most others do.
        model = getattr(embedding, "model_name", None) or getattr(embedding, "model", None)
        if isinstance(model, str):
            params["ls_embedding_model"] = model
    return params


async def reranked(
    io: IO, reranker: BaseDocumentCompressor, documents: Sequence[Document], query: str, callbacks: Callbacks
) -> list[Document]:
    """Rerank in a run of the reranker's name, below the one whose callbacks are given.

    The run takes the query, and the documents in the order of the search. It gives them in the reranker's
    order, as ``search_ranks`` the place, from 1, that each of them had in the search, and as ``left_out`` how
    many came twice or aren't of any window.

    Raises:
        InvalidInputError: What the reranker returned can't be read, see `read_ranking`.
    """
    name = type(reranker).__name__

    def rerank(given: Mapping[str, Any], config: RunnableConfig) -> dict[str, Any]:
        handed = handed_out(given["documents"])
        found = reranker.compress_documents(handed, given["query"], config.get("callbacks"))
        return _outputs(read_ranking(name, found, documents))

    async def arerank(given: Mapping[str, Any], config: RunnableConfig) -> dict[str, Any]:
        handed = handed_out(given["documents"])
        found = await reranker.acompress_documents(handed, given["query"], config.get("callbacks"))
        return _outputs(read_ranking(name, found, documents))

    run = RunnableLambda(rerank, arerank, name=name)
    given = {"query": query, "documents": list(documents)}
    found: dict[str, list[Document]] = await io.call(run.invoke, run.ainvoke, given, {"callbacks": callbacks})
    return found["documents"]


def _outputs(ranking: Ranking) -> dict[str, Any]:
    return {
        "documents": ranking.documents,
        "search_ranks": ranking.search_ranks,
        "left_out": ranking.left_out,
    }
