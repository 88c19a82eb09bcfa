"""Files dropped on the page: named, kept, read, added, or refused; and removed with their documents."""

import asyncio
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from app.tests.studio.making import call, client_of, read
from langchain_sentence_window import SentenceWindowRetriever
from sentence_window.folders import sync_files
from sentence_window.studio import create_studio
from tests.toys import BY_COSINE, WordEmbeddings, document

BYTES = {"content-type": "application/octet-stream"}


@pytest.fixture
def retriever(tmp_path: Path) -> SentenceWindowRetriever:
    given = [document("A refund is quick.", "terms")]
    return SentenceWindowRetriever.from_documents(given, WordEmbeddings(), path=tmp_path / "index", **BY_COSINE)


@pytest.fixture
def served(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    folder.mkdir()
    return folder


@pytest.fixture
def client(retriever: SentenceWindowRetriever, served: Path) -> Iterator[TestClient]:
    with client_of(retriever, folders=[served]) as found:
        yield found


def send(client: TestClient, name: str, content: bytes, headers: Any = BYTES) -> httpx2.Response:
    return client.post("/api/documents/add", params={"name": name}, content=content, headers=headers)


def add(client: TestClient, name: str, content: bytes = b"A seat is free.") -> bool:
    answer = send(client, name, content)
    assert answer.status_code == 200, answer.text
    return bool(answer.json()["added"])


def kept(served: Path) -> list[str]:
    folder = served / "uploads"
    return sorted(each.name for each in folder.iterdir()) if folder.exists() else []


def test_a_dropped_file_is_kept_and_added_once(
    client: TestClient, retriever: SentenceWindowRetriever, served: Path
) -> None:
    assert add(client, "Über Karten.md", b"# Cards\n\nA card has a limit. It ends.")
    path = served / "uploads" / "Über Karten.md"
    assert path.read_text().startswith("# Cards")
    (found,) = retriever.documents(source=path)
    assert (found.doc_id, found.sentences) == (str(path), 3)
    assert not add(client, "again.md", path.read_bytes())
    assert kept(served) == [path.name]
    for text in (b"A card.", b"A seat."):
        assert add(client, "a.tar.txt", text)
    assert kept(served) == ["a.tar (2).txt", "a.tar.txt", path.name]
    assert sync_files(retriever, [served]).added == ()  # the folder holds them already


def zip_bomb() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "")
        archive.writestr("word/document.xml", b" " * 300_000_000)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bad.pdf", b"%PDF-1.7 no"),
        ("bad.docx", b"This is no Word file."),
        ("bomb.docx", zip_bomb()),
        ("empty.txt", b" \n"),
        ("bad.txt", b"\0" * 99),
    ],
)
def test_a_file_that_cannot_be_read_is_not_kept(client: TestClient, served: Path, name: str, content: bytes) -> None:
    answer = send(client, name, content)
    assert answer.status_code == 400
    assert name in answer.json()["error"]["message"]
    assert kept(served) == []


def test_a_file_that_the_filter_forbids_is_not_kept(retriever: SentenceWindowRetriever, served: Path) -> None:
    client = client_of(retriever.model_copy(update={"filter": {"team": "a"}}), folders=[served])
    assert send(client, "a.txt", b"A seat.").status_code == 400
    assert kept(served) == []


def test_what_is_not_a_file_to_add_is_refused(
    client: TestClient, served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sentence_window.studio.library.MAX_UPLOAD_BYTES", 1_000)
    assert send(client, "a.exe", b"A seat.").status_code == 415
    assert send(client, "a", b"A seat.").status_code == 415
    assert send(client, " ", b"A seat.").status_code == 400
    for kind in ("text/plain", "multipart/form-data; boundary=x", ""):
        assert send(client, "a.txt", b"A seat.", {"content-type": kind}).status_code == 415
    answer = send(client, "a.txt", b"A seat. " * 200)
    assert (answer.status_code, "split it" in answer.json()["error"]["message"]) == (413, True)
    assert kept(served) == []


def test_files_are_kept_with_the_index_if_no_folder_is_served(
    retriever: SentenceWindowRetriever, tmp_path: Path
) -> None:
    assert add(client_of(retriever), "a.txt")
    assert (tmp_path / "index" / "uploads" / "a.txt").exists()
    in_memory = SentenceWindowRetriever.from_documents([document("A card.")], WordEmbeddings(), **BY_COSINE)
    assert read(client_of(in_memory), "documents")["adding"] is None
    assert send(client_of(in_memory), "a.txt", b"A seat.").status_code == 409
    assert send(client_of(retriever, read_only=True), "b.txt", b"A card.").status_code == 403


def test_a_folder_of_uploads_that_is_a_link_is_not_used(client: TestClient, served: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (served / "uploads").symlink_to(elsewhere)
    assert send(client, "a.txt", b"A seat.").status_code == 409
    assert list(elsewhere.iterdir()) == []


def delete(client: TestClient, *paths: Path) -> int:
    return int(call(client, "documents/delete", doc_ids=[str(path) for path in paths])["deleted"])


def test_a_file_is_removed_with_its_document_and_no_other_file_is(
    client: TestClient, retriever: SentenceWindowRetriever, served: Path
) -> None:
    uploads = served / "uploads"
    for name in ("a.txt", "changed.txt", "replaced.txt", "b.txt"):
        add(client, name, f"A seat {name}.".encode())
    (uploads / "own.txt").write_text("A page of my own.")
    sync_files(retriever, [served])
    (uploads / "changed.txt").write_text("A page.")
    (uploads / "replaced.txt").unlink()
    (served / "secret.txt").write_bytes(b"A seat replaced.txt.")
    (uploads / "replaced.txt").symlink_to(served / "secret.txt")
    assert delete(client, *(uploads / name for name in ("a.txt", "changed.txt", "replaced.txt", "own.txt"))) == 4
    assert kept(served) == ["b.txt", "changed.txt", "own.txt", "replaced.txt"]
    assert (served / "secret.txt").exists()
    with client_of(retriever, folders=[served]) as later:  # a page that is started again knows its files
        assert delete(later, uploads / "b.txt", uploads / "none.txt") == 1
    assert "b.txt" not in kept(served)


def test_files_of_another_index_and_of_forbidden_documents_stay(
    client: TestClient, retriever: SentenceWindowRetriever, served: Path, tmp_path: Path
) -> None:
    add(client, "a.txt")
    path = served / "uploads" / "a.txt"
    other = SentenceWindowRetriever.from_documents(
        [document("A card.")], WordEmbeddings(), path=tmp_path / "other", **BY_COSINE
    )
    assert delete(client_of(other, folders=[served]), path) == 0
    assert delete(client_of(retriever.model_copy(update={"filter": {"team": "a"}}), folders=[served]), path) == 0
    assert path.exists()


async def test_files_that_are_added_at_the_same_time_are_all_kept(
    retriever: SentenceWindowRetriever, served: Path
) -> None:
    transport = httpx2.ASGITransport(create_studio(retriever, folders=[served]))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        calls = (
            client.post("/api/documents/add", params={"name": "a.txt"}, content=f"A seat {i}.", headers=BYTES)
            for i in range(4)
        )
        assert [each.status_code for each in await asyncio.gather(*calls)] == [200] * 4
    assert kept(served) == ["a (2).txt", "a (3).txt", "a (4).txt", "a.txt"]
    assert len(retriever.documents()) == 5


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("../../etc/passwd.txt", "passwd.txt"),
        ("C:\\Windows\\a.txt", "a.txt"),
        ("a\0b\u202e\n.txt", "ab.txt"),
        ('<a>:"b|c?*.txt', "_a___b_c__.txt"),
        (".. .a.txt", "a.txt"),
        ('"?".txt', "___.txt"),
        ("  .hidden.txt", "hidden.txt"),
        ("con.txt", "_con.txt"),
        ("Com1.tar.txt", "_Com1.tar.txt"),
        ("u\u0308ber.txt", "über.txt"),
        ("é" * 300 + ".txt", "é" * 73 + ".txt"),
    ],
)
def test_names_are_cleaned(client: TestClient, served: Path, given: str, expected: str) -> None:
    add(client, given)
    assert kept(served) == [expected]
