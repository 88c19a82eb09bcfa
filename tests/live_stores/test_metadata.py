"""Test what other stores hold in metadata: lists in Chroma, columns in PostgreSQL."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.errors import SentenceWindowWarning
from tests.live_stores import makers
from tests.toys import WordEmbeddings


def test_chroma_holds_lists_of_one_type_and_finds_by_their_elements(tmp_path: Path) -> None:
    retriever = SentenceWindowRetriever(vectorstore=makers.chroma(WordEmbeddings(), tmp_path), lexical_weight=0)
    own: dict[str, Any] = {
        "groups": ["staff", "north"],
        "mixed": [1, "a"],
        "empty": [],
        "nested": {},
        "none": None,
        "large": 2**63,
    }
    with pytest.warns(SentenceWindowWarning, match="'mixed', 'empty', 'nested', 'none', 'large', 'odd', '\\$x'; con"):
        retriever.add_documents(
            [Document("A card.", id="a", metadata={**own, "odd": "\ud800", "$x": 1, "n": 2**63 - 1})]
        )
    (window,) = retriever.invoke("card", filter={"groups": {"$contains": "north"}})
    assert (window.metadata["groups"], window.metadata["n"]) == (["staff", "north"], 2**63 - 1)


def test_a_column_of_postgresql_takes_plain_values_and_is_empty_without_one(postgres: Any) -> None:
    retriever = SentenceWindowRetriever(vectorstore=makers.postgres(WordEmbeddings(), postgres), lexical_weight=0)
    for number, tenant in enumerate(([], ["a"], date(2024, 5, 1), None)):
        own = {"tenant": tenant, "other": tenant, "nul": ["\0"], "n": number}
        told = "PGVectorStore can't hold it: 'tenant'; "
        with pytest.warns(SentenceWindowWarning, match=told):
            retriever.add_documents([Document("A card.", id=f"{number}", metadata=own)])
        (found,) = retriever.get([f"{number}"])
        assert found.metadata["other"] == ("2024-05-01" if tenant == date(2024, 5, 1) else tenant)
        assert found.metadata["nul"] == ["\0"]
        assert "tenant" not in found.metadata
    retriever.add_documents([Document("A seat.", id="a", metadata={"tenant": "a"})])
    (window,) = retriever.invoke("seat", filter={"tenant": "a"})
    assert window.metadata["tenant"] == "a"
