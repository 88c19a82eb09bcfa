"""The list of documents: searched, sorted, looked into, deleted, and brought up to date with its folders."""

import os
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from starlette.testclient import TestClient

from app.tests.studio.making import call, client_of, read, small_retriever
from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.stores import IndexSettings, write_index_settings
from sentence_window.folders import sync_files
from tests.toys import BY_COSINE, WordEmbeddings, document


def names(client: TestClient, **given: object) -> list[str]:
    return [each["name"] for each in read(client, "documents", **given)["documents"]]


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
    found = read(client, "documents")
    assert (found["found"], found["total"], found["sentences"]) == (4, 4, 8)
    rows = {each["doc_id"]: each for each in found["documents"]}
    assert rows["a"]["added"].endswith("+00:00")
    assert {**rows["a"], "added": 0} == {
        "doc_id": "a", "name": "Terms.md", "source": "/data/Terms.md", "title": "Terms of sale", "sentences": 3,
        "pages": None, "added": 0,
    }  # fmt: skip
    assert (rows["c"]["source"], rows["c"]["title"], rows["d"]["pages"]) == (None, "Seats", 1)
    details = read(client, "documents/details", doc_id="a")
    assert (details["metadata"]["title"], details["sentences"]) == ("Terms of sale", 3)
    for doc_id in ("e", "", "A", "../a", "a\0"):
        read(client, "documents/details", 404, doc_id=doc_id)


def test_they_are_sorted_up_and_down_with_unknown_values_last(client: TestClient) -> None:
    assert names(client) == ["c", "cards.txt", "help", "Terms.md"]
    assert names(client, order="down") == ["Terms.md", "help", "cards.txt", "c"]
    assert names(client, sort="sentences") == ["cards.txt", "help", "c", "Terms.md"]
    for order in ("up", "down"):
        assert names(client, sort="pages", order=order) == ["help", "c", "cards.txt", "Terms.md"]


@pytest.mark.parametrize(
    ("search", "expected"),
    [("terms", ["Terms.md"]), ("SALE data", ["Terms.md"]), ("seats", ["c"]), ("cards missing", []), (".*", [])],
)
def test_all_words_are_searched_in_id_source_and_title(client: TestClient, search: str, expected: list[str]) -> None:
    assert names(client, search=search) == expected


@pytest.mark.parametrize("given", [{"sort": "path"}, {"order": "x"}, {"search": "x" * 1001}, {"other": 1}])
def test_other_arguments_are_refused(client: TestClient, given: dict[str, Any]) -> None:
    read(client, "documents", 400, **given)


def test_the_list_follows_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentence_window.studio.page_state.FRESH_SECONDS", 0.0)
    retriever = small_retriever()
    client = client_of(retriever)
    assert len(names(client)) == 2
    retriever.add_documents([document("A trial.", "new")])
    retriever.delete(["other"])
    assert names(client) == ["new", "terms.md"]


def test_documents_of_another_store_are_listed_and_deleted() -> None:
    retriever = SentenceWindowRetriever(vectorstore=InMemoryVectorStore(WordEmbeddings()), ranking=None)
    retriever.add_documents([document("A card. A seat.", "a"), document("A page.", "b")])
    client = client_of(retriever)
    assert names(client) == ["a", "b"]
    assert call(client, "documents/delete", doc_ids=["a", "none", "a"]) == {"deleted": 1}
    assert names(client) == ["b"]
    for doc_ids in ([], None, "a", [1]):
        call(client, "documents/delete", 400, doc_ids=doc_ids)


def test_documents_that_the_filter_forbids_are_neither_listed_nor_shown_nor_deleted() -> None:
    everything = retriever_of(document("A card.", "mine", team="a"), document("A secret.", "theirs", team="b"))
    client = client_of(everything.model_copy(update={"filter": {"team": "a"}}))
    assert names(client) == ["mine"]
    read(client, "documents/details", 404, doc_id="theirs")
    assert call(client, "documents/delete", doc_ids=["theirs"]) == {"deleted": 0}
    call(client_of(everything, read_only=True), "documents/delete", 403, doc_ids=["mine"])
    assert len(everything.documents()) == 2


def test_hostile_names_are_data() -> None:
    bad = ["<img src=x onerror=alert(1)>", "a\nb", "\u202etxt.exe", "//", "\\\\"]
    client = client_of(retriever_of(*(document("A card.", f"{i}{name}", source=name) for i, name in enumerate(bad))))
    found = names(client)
    assert len(found) == len(bad)
    assert all(each and "\n" not in each for each in found)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "files"
    found.mkdir()
    (found / "a.md").write_text("A card.")
    (found / "b.txt").write_text("A seat. One more.")
    return found


@pytest.fixture
def following(tmp_path: Path, folder: Path) -> SentenceWindowRetriever:
    found = retriever_of(document("A refund.", "elsewhere"), path=tmp_path / "index")
    sync_files(found, [folder])
    write_index_settings(tmp_path / "index", IndexSettings(sources=(str(folder), "/nowhere")))
    return found


def test_changes_in_the_folder_are_followed(following: SentenceWindowRetriever, folder: Path) -> None:
    client = client_of(following, folders=[folder])
    assert read(client, "documents")["sources"] == [str(folder)]
    assert call(client, "documents/sync")["unchanged"] == 2
    (folder / "c.md").write_text("A page.")
    (folder / "b.txt").write_text("A trial.")
    os.utime(folder / "b.txt", ns=(10**18, 10**18))
    (folder / "d.docx").write_text("This is no Word file.")
    (folder / "e.txt").write_text("")
    (folder / "a.md").unlink()
    result = call(client, "documents/sync")
    counts = {name: result[name] for name in ("added", "updated", "unchanged", "deleted", "empty", "failures")}
    assert counts == {"added": 1, "updated": 1, "unchanged": 0, "deleted": 0, "empty": 1, "failures": 1}
    assert result["failed"][0]["name"] == str(folder / "d.docx")
    assert call(client, "documents/sync", delete=True)["deleted"] == 1
    assert names(client) == ["b.txt", "c.md", "elsewhere"]


def test_only_served_folders_are_followed(following: SentenceWindowRetriever, folder: Path, tmp_path: Path) -> None:
    write_index_settings(tmp_path / "index", IndexSettings(sources=("/etc", str(tmp_path), str(folder / "a.md"))))
    assert read(client_of(following, folders=[folder]), "documents")["sources"] == [str(folder / "a.md")]
    assert read(client_of(following), "documents")["sources"] == []
    call(client_of(following), "documents/sync", 409)
    assert read(client_of(small_retriever()), "documents")["sources"] == []
    for given in ({"delete": "perhaps"}, {"paths": ["/etc"]}):
        call(client_of(following, folders=[folder]), "documents/sync", 400, **given)
