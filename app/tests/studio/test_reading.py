"""Documents as the page reads them: every character of the text, with its sentences."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from app.tests.studio.making import client_of
from langchain_sentence_window import SentenceWindowRetriever
from tests.properties import examples
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
    at = 0
    for block in found["blocks"]:
        assert block["start"] == at
        at += len(text_of({"blocks": [block]}))


def test_the_runs_of_a_paragraph_have_styles() -> None:
    shown = [(text, style) for text, index, style in runs_of(read(client_for(TEXT))) if index == 1]
    assert ("**", "m") in shown
    assert ("seat", "b") in shown
    assert ("free", "i") in shown


def test_offsets_count_from_the_beginning_of_the_source() -> None:
    found = read(client_for("---\ntitle: Seats\n---\n\nA seat."))
    assert found["title"] == "Seats"
    assert found["start"] == found["blocks"][0]["start"] == found["sentences"][0][0] == 22
    assert text_of(found) == "A seat."


@pytest.mark.parametrize(
    ("metadata", "kind"),
    [
        ({"source": "a.rst"}, "text"),
        ({"source": "a.txt"}, "text"),
        ({"source": "a.docx", "content_type": "application/msword"}, "markdown"),
        ({"source": "a.pdf", "page": 0}, "pdf"),
        ({"source": "notes"}, "text"),
    ],
)
def test_the_kind_of_a_document_is_known_by_its_file(metadata: dict[str, Any], kind: str) -> None:
    given = [document("A *seat*.\n\nA card\n is it.", "d0", **metadata)]
    client = client_of(SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE))
    found = read(client)
    assert found["kind"] == kind
    styles = {style for _, _, style in runs_of(found)}
    assert ("i" in styles) == (kind == "markdown")
    assert [block["kind"] for block in found["blocks"]] == ["paragraph", "paragraph"]
    (window, *_) = client.post(
        "/api/ask", json={"query": "seat", "settings": {"window": 0, "k": 1, "fetch_k": 1}}
    ).json()["windows"]
    assert (window["kind"], text_of(window)) == (kind, "A *seat*.")


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


def test_a_document_of_which_the_filter_hides_any_part_is_like_one_that_is_not_there() -> None:
    pages = [document(f"A seat {i}.", "cut", source="cut.txt", page=i, team=team) for i, team in enumerate("ab")]
    given = [document("A seat.", "mine", team="a"), document("A card.", "theirs", team="b"), *pages]
    retriever = SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE)
    client = client_of(SentenceWindowRetriever(vectorstore=retriever.vectorstore, filter={"team": "a"}))
    assert text_of(read(client, "mine")) == "A seat."
    refused = [client.get("/api/document", params={"doc_id": name}) for name in ("theirs", "cut", "none")]
    assert [each.status_code for each in refused] == [404, 404, 404]
    assert len({each.text for each in refused}) == 1


def test_a_document_that_was_replaced_or_deleted_is_read_again() -> None:
    retriever = SentenceWindowRetriever.from_documents([document(TEXT, "d0")], WordEmbeddings(), **BY_COSINE)
    client = client_of(retriever)
    assert text_of(read(client)) == TEXT.rstrip()
    retriever.add_documents([document("A new seat.", "d0")])
    assert text_of(read(client)) == "A new seat."
    retriever.delete(["d0"])
    assert client.get("/api/document", params={"doc_id": "d0"}).status_code == 404
