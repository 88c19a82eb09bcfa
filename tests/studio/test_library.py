"""The list of documents: searched, sorted, looked into, deleted."""

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from starlette.testclient import TestClient

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.apps.studio.library import MAX_DELETED
from tests.studio.making import client_of, small_retriever
from tests.toys import BY_COSINE, WordEmbeddings, document


def reply(client: TestClient, path: str, **given: object) -> Any:
    answer = client.get(path, params={name: str(value) for name, value in given.items()})
    assert answer.status_code == 200, answer.text
    return answer.json()


def names(client: TestClient, **given: object) -> list[str]:
    return [each["name"] for each in reply(client, "/api/documents", **given)["documents"]]


def retriever_of(*documents: Document, **settings: Any) -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), **{**BY_COSINE, **settings})


@pytest.fixture
def client() -> TestClient:
    return client_of(
        retriever_of(
            document("A refund. Two days. All of it.", "a", source="/data/Terms.md", title="Terms of sale"),
            document("A card.", "b", source="C:\\files\\cards.txt"),
            document("# Seats\n\nA seat. One more.", "c"),
            document("A page.", "d", source="https://example.com/help/", page=0),
        )
    )


def test_documents_are_listed_with_what_is_known_of_them(client: TestClient) -> None:
    found = reply(client, "/api/documents")
    assert (found["found"], found["total"], found["sentences"]) == (4, 4, 8)
    rows = {each["doc_id"]: each for each in found["documents"]}
    assert rows["a"]["added"].endswith("+00:00")
    assert {**rows["a"], "added": 0} == {
        "doc_id": "a", "name": "Terms.md", "source": "/data/Terms.md", "title": "Terms of sale", "sentences": 3,
        "pages": None, "added": 0,
    }  # fmt: skip
    assert (rows["c"]["source"], rows["c"]["title"], rows["d"]["pages"]) == (None, "Seats", 1)


def test_they_are_sorted_up_and_down_with_unknown_values_last(client: TestClient) -> None:
    assert names(client) == ["c", "cards.txt", "help", "Terms.md"]
    assert names(client, order="down") == ["Terms.md", "help", "cards.txt", "c"]
    assert names(client, sort="sentences") == ["cards.txt", "help", "c", "Terms.md"]
    assert (
        names(client, sort="pages", order="down")
        == names(client, sort="pages")
        == ["help", "c", "cards.txt", "Terms.md"]
    )
    assert sorted(names(client, sort="added")) == sorted(names(client))


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("terms", ["Terms.md"]),
        ("SALE data", ["Terms.md"]),
        ("seats", ["c"]),
        ("cards missing", []),
        (" ", ["c", "cards.txt", "help", "Terms.md"]),
        (".*", []),
        ("<script>", []),
    ],
)
def test_all_words_are_searched_in_id_source_and_title(client: TestClient, search: str, expected: list[str]) -> None:
    assert names(client, search=search) == expected


def test_a_part_of_the_list_is_shown(client: TestClient) -> None:
    found = reply(client, "/api/documents", limit=2)
    assert [each["name"] for each in found["documents"]] == ["c", "cards.txt"]
    assert found["found"] == 4


@pytest.mark.parametrize(
    "given",
    [
        {"sort": "path"},
        {"order": "x"},
        {"limit": 0},
        {"limit": 501},
        {"search": "x" * 1001},
        {"other": 1},
    ],
)
def test_other_arguments_are_refused(client: TestClient, given: dict[str, Any]) -> None:
    assert client.get("/api/documents", params=given).status_code == 400


def test_the_list_follows_the_index_and_is_read_only_when_it_has_changed() -> None:
    retriever = small_retriever()
    client = client_of(retriever)
    assert len(names(client)) == 2
    listed = client.app.state.studio.library._kept  # type: ignore[attr-defined]
    assert len(names(client)) == 2
    assert client.app.state.studio.library._kept is listed  # type: ignore[attr-defined]
    retriever.add_documents([document("A trial.", "new")])
    assert len(names(client)) == 3
    retriever.delete(["new", "other"])
    assert names(client) == ["terms.md"]


def test_a_store_that_counts_no_writes_is_listed_too() -> None:
    store = InMemoryVectorStore(WordEmbeddings())
    retriever = SentenceWindowRetriever(vectorstore=store, ranking=None)
    retriever.add_documents([document("A card. A seat.", "a"), document("A page.", "b")])
    client = client_of(retriever)
    assert names(client) == ["a", "b"]
    assert reply(client, "/api/documents/details", doc_id="a")["sentences"] == 2
    assert client.post("/api/documents/delete", json={"doc_ids": ["a"]}).json() == {"deleted": 1, "files": 0}
    assert names(client) == ["b"]


def test_a_document_is_shown_with_its_metadata(client: TestClient) -> None:
    found = reply(client, "/api/documents/details", doc_id="a")
    assert found["metadata"]["title"] == "Terms of sale"
    assert found["sentences"] == 3


@pytest.mark.parametrize("doc_id", ["e", "", "A", "../a", "a\0", "😀"])
def test_a_document_that_is_not_there_is_not_found(client: TestClient, doc_id: str) -> None:
    assert client.get("/api/documents/details", params={"doc_id": doc_id}).status_code == 404


def test_what_the_filter_forbids_is_neither_listed_nor_shown_nor_deleted() -> None:
    given = [document("A card.", "mine", team="a"), document("A secret card.", "theirs", team="b")]
    everything = retriever_of(*given)
    client = client_of(everything.model_copy(update={"filter": {"team": "a"}}))
    assert names(client) == ["mine"]
    assert names(client, search="theirs") == []
    assert client.get("/api/documents/details", params={"doc_id": "theirs"}).status_code == 404
    assert client.post("/api/documents/delete", json={"doc_ids": ["theirs"]}).json() == {"deleted": 0, "files": 0}
    assert len(everything.documents()) == 2


def test_documents_are_deleted_and_counted(client: TestClient) -> None:
    assert client.post("/api/documents/delete", json={"doc_ids": ["a", "b", "nobody", "a"]}).json()["deleted"] == 2
    assert names(client) == ["c", "help"]
    assert client.post("/api/documents/delete", json={"doc_ids": ["a"]}).json()["deleted"] == 0


@pytest.mark.parametrize("doc_ids", [[], None, "a", [1], ["a"] * (MAX_DELETED + 1)])
def test_what_is_not_a_list_of_documents_is_refused(client: TestClient, doc_ids: Any) -> None:
    assert client.post("/api/documents/delete", json={"doc_ids": doc_ids}).status_code == 400
    assert len(names(client)) == 4


def test_a_read_only_page_deletes_nothing() -> None:
    client = client_of(small_retriever(), read_only=True)
    assert reply(client, "/api/documents")["adding"] is None
    answer = client.post("/api/documents/delete", json={"doc_ids": ["terms"]})
    assert (answer.status_code, answer.json()["error"]["type"]) == (403, "Refused")
    assert len(names(client)) == 2


def test_hostile_names_are_data() -> None:
    bad = ["<img src=x onerror=alert(1)>", "a\nb", "\u202etxt.exe", "//", "\\\\"]
    client = client_of(retriever_of(*(document("A card.", f"{i}{name}", source=name) for i, name in enumerate(bad))))
    found = reply(client, "/api/documents")["documents"]
    assert len(found) == len(bad)
    assert all(each["name"] and "\n" not in each["name"] for each in found)
