"""The index brought up to date with its folders, from the page."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.folders import sync_files
from langchain_sentence_window.retrieval.index_settings import IndexSettings, write_index_settings
from tests.studio.making import client_of
from tests.studio.test_adding import add, ended, upload
from tests.toys import BY_COSINE, WordEmbeddings, document


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "files"
    found.mkdir()
    (found / "a.md").write_text("A card.")
    (found / "b.txt").write_text("A seat. One more.")
    return found


@pytest.fixture
def retriever(tmp_path: Path, folder: Path) -> SentenceWindowRetriever:
    given = [document("A refund.", "elsewhere")]
    found = SentenceWindowRetriever.from_documents(given, WordEmbeddings(), path=tmp_path / "index", **BY_COSINE)
    sync_files(found, [folder])
    write_index_settings(tmp_path / "index", IndexSettings(sources=(str(folder), "/nowhere")))
    return found


@pytest.fixture
def client(retriever: SentenceWindowRetriever, folder: Path) -> Iterator[TestClient]:
    with client_of(retriever, folders=[folder]) as found:
        yield found


def follow(client: TestClient, **given: Any) -> dict[str, Any]:
    answer = client.post("/api/documents/sync", json=given)
    assert answer.status_code == 200, answer.text
    return ended(client, answer.json()["number"])


def test_changes_in_the_folder_are_followed(client: TestClient, folder: Path) -> None:
    assert client.get("/api/documents").json()["sources"] == [str(folder)]
    assert follow(client)["result"]["unchanged"] == 2
    (folder / "c.md").write_text("A page.")
    (folder / "b.txt").write_text("A trial.")
    os.utime(folder / "b.txt", ns=(10**18, 10**18))
    (folder / "d.docx").write_text("This is no Word file.")
    (folder / "e.txt").write_text("")
    (folder / "a.md").unlink()
    result = follow(client)["result"]
    counts = {name: result[name] for name in ("added", "updated", "unchanged", "deleted", "empty", "failures")}
    assert counts == {"added": 1, "updated": 1, "unchanged": 0, "deleted": 0, "empty": 1, "failures": 1}
    assert result["failed"][0]["name"] == str(folder / "d.docx")
    assert follow(client, delete=True)["result"]["deleted"] == 1
    names = [each["name"] for each in client.get("/api/documents").json()["documents"]]
    assert names == ["b.txt", "c.md", "elsewhere"]


def test_files_that_were_dropped_are_part_of_the_folder(client: TestClient) -> None:
    assert add(client, upload(client, "new.txt", b"A page."))["result"]["added"] == 1
    result = follow(client, delete=True)["result"]
    assert (result["added"], result["unchanged"], result["deleted"]) == (0, 3, 0)


def test_only_what_is_served_is_read(retriever: SentenceWindowRetriever, folder: Path, tmp_path: Path) -> None:
    write_index_settings(tmp_path / "index", IndexSettings(sources=("/etc", str(tmp_path), str(folder / "a.md"))))
    with client_of(retriever, folders=[folder]) as client:
        assert client.get("/api/documents").json()["sources"] == [str(folder / "a.md")]
    with client_of(retriever) as client:
        assert client.get("/api/documents").json()["sources"] == []
        assert client.post("/api/documents/sync", json={}).status_code == 409


def test_an_index_in_memory_follows_nothing() -> None:
    retriever = SentenceWindowRetriever.from_documents([document("A card.")], WordEmbeddings(), **BY_COSINE)
    assert client_of(retriever).get("/api/documents").json()["sources"] == []


@pytest.mark.parametrize("given", [{"delete": "perhaps"}, {"paths": ["/etc"]}, []])
def test_other_arguments_are_refused(client: TestClient, given: Any) -> None:
    assert client.post("/api/documents/sync", json=given).status_code == 400
