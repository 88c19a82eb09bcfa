"""Documents as the page reads them: every character of the text, and the sentences that the filter lets through."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from langchain_sentence_window import SentenceWindowRetriever
from tests.properties import examples
from tests.studio.making import client_of
from tests.toys import BY_COSINE, WordEmbeddings, document

TEXT = "# Seats\n\nA **seat** is *free*. It takes a card 😀.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- One\n- Two\n"


def client_for(*texts: str, **settings: Any) -> TestClient:
    given = [document(text, f"d{i}", source=f"d{i}.md") for i, text in enumerate(texts)]
    return client_of(SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE, **settings))


def read(client: TestClient, doc_id: str = "d0") -> dict[str, Any]:
    answer = client.get("/api/document", params={"doc_id": doc_id})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def runs_of(found: dict[str, Any]) -> list[tuple[str, int, str]]:
    cells = [
        runs
        for block in found["blocks"]
        for runs in ([cell for row in block["rows"] for cell in row["cells"]] if "rows" in block else [block["runs"]])
    ]
    return [run for texts, indexes, styles in cells for run in zip(texts, indexes, styles, strict=True)]


def text_of(found: dict[str, Any]) -> str:
    return "".join(text for text, _, _ in runs_of(found))


def test_the_blocks_hold_the_text_and_its_sentences() -> None:
    found = read(client_for(TEXT))
    assert (found["kind"], found["name"], found["pages"], found["no_pages"]) == ("markdown", "d0.md", None, None)
    assert text_of(found) == TEXT.rstrip()
    for index, (start, end) in enumerate(found["sentences"]):
        assert "".join(text for text, at, _ in runs_of(found) if at == index) == TEXT[start:end]
    assert found["length"] == len(TEXT.rstrip())
    assert found["indexes"] is None
    at = 0
    for block in found["blocks"]:
        assert block["start"] == at
        at += len(text_of({"blocks": [block]}))


def test_the_styles_of_a_paragraph_are_told() -> None:
    shown = [(text, style) for text, index, style in runs_of(read(client_for(TEXT))) if index == 1]
    assert ("**", "m") in shown
    assert ("seat", "b") in shown
    assert ("free", "i") in shown


def test_offsets_count_from_the_beginning_of_the_source() -> None:
    found = read(client_for("---\ntitle: Seats\n---\n\nA seat."))
    assert found["title"] == "Seats"
    assert found["start"] == found["blocks"][0]["start"] == found["sentences"][0][0] == 22
    assert text_of(found) == "A seat."


def test_a_text_without_marks_is_text() -> None:
    found = read(
        client_of(
            SentenceWindowRetriever.from_documents(
                [document("A seat. A card.\n\nA page.", "d0")], WordEmbeddings(), **BY_COSINE
            )
        )
    )
    assert found["kind"] == "text"
    assert [block["kind"] for block in found["blocks"]] == ["paragraph", "paragraph"]
    assert text_of(found) == "A seat. A card.\n\nA page."


@pytest.mark.parametrize("content_type", ["text/html", "text/markdown"])
def test_html_that_was_read_as_markdown_is_shown_as_such(content_type: str) -> None:
    given = [document("A *seat*.", "d0", content_type=content_type)]
    found = read(client_of(SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE)))
    assert found["kind"] == "markdown"
    assert ("seat", 0, "i") in runs_of(found)


@pytest.mark.parametrize("metadata", [{"source": "a.rst"}, {"content_type": "text/x-rst"}])
def test_other_markup_is_shown_as_text(metadata: dict[str, str]) -> None:
    given = [document("# a | b\n\n``seat``\n\n.. note::\n\n   A *card*.", "d0", **metadata)]
    found = read(client_of(SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE)))
    assert found["kind"] == "text"
    assert all(mark not in ("i", "code") for *_, mark in runs_of(found))


def test_a_content_type_may_be_anything() -> None:
    given = [document("A *seat*.", "d0", content_type=["text/html"], title=7)]
    found = read(client_of(SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE)))
    assert (found["kind"], found["title"]) == ("text", None)


@examples(25)
@given(st.text(min_size=1).filter(lambda text: text.strip() != ""))
def test_any_text_is_read_with_its_offsets(text: str) -> None:
    try:
        client = client_for(text)
    except ValueError:  # nothing to index
        return
    found = read(client)
    shown = text_of(found)
    kept = text[found["start"] : found["length"]]
    assert len(shown) == len(kept)
    assert all(one == other or "\ud800" <= other <= "\udfff" for one, other in zip(shown, kept, strict=True))


@pytest.mark.parametrize("text", ["a\0b seat.", "العربية مقعد. 中文座位。", "e\u0301 seat 👩‍👩‍👧. 𝔸 card."])
def test_odd_characters_keep_their_places(text: str) -> None:
    found = read(client_for(text))
    assert text_of(found) == text
    assert "".join(text[start:end] for start, end in found["sentences"]).replace(" ", "") == text.replace(" ", "")


def test_lone_surrogates_are_shown_as_replaced_and_move_nothing() -> None:
    found = read(client_for("a\ud800b seat. A card.\udfff"))
    assert text_of(found) == "a\ufffdb seat. A card.\ufffd"
    assert found["sentences"][0] == [0, 9]


def test_markup_in_a_document_stays_text() -> None:
    hostile = "# <img src=x onerror=alert(1)>\n\n<script>alert(1)</script>\n\n[a](javascript:alert(1)) seat."
    answer = client_for(hostile).get("/api/document", params={"doc_id": "d0"})
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert text_of(answer.json()) == hostile


def test_a_document_that_is_not_there_is_refused() -> None:
    client = client_for(TEXT)
    answer = client.get("/api/document", params={"doc_id": "none"})
    assert answer.status_code == 404
    assert "no such document" in answer.json()["error"]["message"]
    assert client.get("/api/document").status_code == 400
    assert client.get("/api/document", params={"doc_id": ""}).status_code == 400


def test_a_document_that_the_filter_forbids_is_like_one_that_is_not_there() -> None:
    given = [document("A seat.", "mine", team="a"), document("A card.", "theirs", team="b")]
    retriever = SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE)
    client = client_of(SentenceWindowRetriever(vectorstore=retriever.vectorstore, filter={"team": "a"}))
    assert text_of(read(client, "mine")) == "A seat."
    refused = [client.get("/api/document", params={"doc_id": name}) for name in ("theirs", "none")]
    assert [each.status_code for each in refused] == [404, 404]
    assert refused[0].json() == refused[1].json()


def test_of_a_document_that_the_filter_cuts_only_the_rest_is_told() -> None:
    texts = ["A seat is free. It takes days.", "No card is secret. Hide it.", "The refund comes. We wait for it."]
    pages = [document(text, "d0", source="d0.txt", page=i) for i, text in enumerate(texts)]
    retriever = SentenceWindowRetriever.from_documents(pages, WordEmbeddings(), **BY_COSINE)
    client = client_of(SentenceWindowRetriever(vectorstore=retriever.vectorstore, filter={"page": {"$in": [0, 2]}}))
    found = read(client, retriever.documents()[0].doc_id)
    assert found["indexes"] == [0, 1, 4, 5]
    assert found["sentence_pages"] == [0, 0, 2, 2]
    assert [block["kind"] for block in found["blocks"]] == ["paragraph", "gap", "paragraph"]
    assert "card" not in text_of(found)
    assert found["blocks"][2]["start"] == found["sentences"][2][0]
    assert {index for _, index, _ in runs_of(found)} == {-1, 0, 1, 4, 5}


def test_documents_are_read_in_any_order_and_again() -> None:
    texts = [f"Seat {i} is free. A card." for i in range(7)]
    client = client_for(*texts)
    for _ in range(2):
        for i, text in enumerate(texts):
            assert text_of(read(client, f"d{i}")) == text


def test_a_document_that_was_replaced_is_read_anew() -> None:
    retriever = SentenceWindowRetriever.from_documents([document(TEXT, "d0")], WordEmbeddings(), **BY_COSINE)
    client = client_of(retriever)
    assert text_of(read(client)) == TEXT.rstrip()
    retriever.add_documents([document("A new seat.", "d0")])
    assert text_of(read(client)) == "A new seat."


def test_a_document_that_was_deleted_is_gone_at_once() -> None:
    retriever = SentenceWindowRetriever.from_documents([document(TEXT, "d0")], WordEmbeddings(), **BY_COSINE)
    client = client_of(retriever)
    read(client)
    retriever.delete(["d0"])
    assert client.get("/api/document", params={"doc_id": "d0"}).status_code == 404
