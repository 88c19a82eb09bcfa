"""Real stores tell by themselves what `DocumentWriter` wrote: what is unchanged, and what vanished."""

from collections.abc import Callable
from pathlib import Path

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window import NeighborMixedEmbeddings
from langchain_sentence_window.distributed import DocumentWriter
from langchain_sentence_window.distributed.store_connection import StoreConnection
from tests.live_stores import makers
from tests.toys import WordEmbeddings, document

TEXT = "# Fees\n\nA refund is paid. A card is sent.\n\n# Trials\n\nA trial ends. An invoice comes."


@pytest.mark.parametrize(
    "make",
    [
        lambda embedding, folder: makers.qdrant(embedding),
        makers.milvus,
        makers.chroma,
    ],
    ids=["qdrant", "milvus", "chroma"],
)
def test_only_what_changed_is_written(
    make: Callable[[Embeddings, Path], VectorStore], words: WordEmbeddings, tmp_path: Path
) -> None:
    store = make(NeighborMixedEmbeddings(words), tmp_path)
    write = DocumentWriter(lambda: store)
    for second in ("A seat.", "A page. And a card."):
        given = [document(TEXT, "a"), document(second, "b")]
        outcomes = write(given)
    assert [each.status for each in outcomes] == ["unchanged", "written"]
    connection = StoreConnection(lambda: store, {})
    assert connection.call(lambda opened: opened.ingested("")) == {"a", "b"}
    assert connection.call(lambda opened: opened.remove(["b", "c"])) == ["b"]
    assert [each.status for each in write(given)] == ["unchanged", "written"]
