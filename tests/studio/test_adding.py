"""Files dropped on the page: received, named, read, added, or refused."""

import asyncio
import errno
import io
import os
import threading
import zipfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as over
from hypothesis import strategies as st
from starlette.testclient import TestClient

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.apps.folders.file_sync import sync_files
from langchain_sentence_window.apps.studio import library as adding
from langchain_sentence_window.apps.studio import uploads
from langchain_sentence_window.apps.studio.uploads import MAX_NAME_BYTES, RECORD, KeptFiles, Uploads, clean_name
from langchain_sentence_window.studio import create_studio
from tests.patience import PATIENCE, until
from tests.studio.making import client_of
from tests.toys import BY_COSINE, WordEmbeddings, document

BYTES = {"content-type": "application/octet-stream"}


class SlowEmbeddings(WordEmbeddings):
    """Waits before each call after the first, once it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.waits = threading.Event()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if not self.may_go_on.is_set() and self.waits.is_set():
            self.may_go_on.wait(PATIENCE)
        if not self.may_go_on.is_set():
            self.waits.set()
        return super().embed_documents(texts)


@pytest.fixture
def embedder() -> SlowEmbeddings:
    return SlowEmbeddings()


@pytest.fixture
def retriever(tmp_path: Path, embedder: SlowEmbeddings) -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents(
        [document("A refund is quick.", "terms")], embedder, path=tmp_path / "index", **BY_COSINE
    )


@pytest.fixture
def served(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    folder.mkdir()
    return folder


@pytest.fixture
def client(retriever: SentenceWindowRetriever, served: Path) -> Iterator[TestClient]:
    with client_of(retriever, folders=[served]) as found:
        yield found


def upload(client: TestClient, name: str, content: bytes) -> Any:
    return client.post("/api/documents/upload", params={"name": name}, content=content, headers=BYTES)


def add(client: TestClient, *uploads: Any) -> dict[str, Any]:
    """Add files that were received, and return the job at its end."""
    numbers = [each.json()["upload"] for each in uploads]
    answer = client.post("/api/documents/add", json={"uploads": numbers})
    assert answer.status_code == 200, answer.text
    return ended(client, answer.json()["number"])


def ended(client: TestClient, number: int) -> dict[str, Any]:
    def job() -> dict[str, Any]:
        found: dict[str, Any] = client.get("/api/jobs").json()["jobs"][-number]
        return found

    until(lambda: job()["status"] != "running")
    return job()


def test_a_dropped_file_is_kept_read_and_added(
    client: TestClient, retriever: SentenceWindowRetriever, served: Path
) -> None:
    job = add(client, upload(client, "Über Karten.md", b"# Cards\n\nA card has a limit. It ends."))
    assert (job["status"], job["kind"], job["title"]) == ("done", "add", "Add Über Karten.md")
    assert (job["result"]["added"], job["result"]["failed"], job["result"]["sentences"]) == (1, [], 3)
    path = served / "uploads" / "Über Karten.md"
    assert path.read_text().startswith("# Cards")
    (found,) = retriever.documents(source=path)
    assert (found.doc_id, found.sentences) == (str(path), 3)
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert retriever.invoke("card limit")[0].metadata["source"] == str(path)


def test_several_files_are_one_job(client: TestClient, retriever: SentenceWindowRetriever) -> None:
    job = add(client, *(upload(client, f"{i}.txt", f"A page {i}.".encode()) for i in range(5)))
    assert job["title"] == "Add 5 files"
    assert (job["result"]["added"], job["result"]["done"], job["result"]["total"]) == (5, 5, 5)
    assert len(retriever.documents()) == 6


def test_the_same_bytes_are_added_once(client: TestClient, retriever: SentenceWindowRetriever, served: Path) -> None:
    add(client, upload(client, "a.txt", b"A seat is free."))
    again = add(client, upload(client, "a.txt", b"A seat is free."), upload(client, "b.txt", b"A seat is free."))
    path = str(served / "uploads" / "a.txt")
    assert again["result"]["same"] == [{"name": "a.txt", "doc_id": path}, {"name": "b.txt", "doc_id": path}]
    assert again["result"]["added"] == 0
    both = add(client, upload(client, "c.txt", b"A trial."), upload(client, "c.txt", b"A trial."))
    assert (both["result"]["added"], len(both["result"]["same"])) == (1, 1)
    assert sorted(each.name for each in (served / "uploads").iterdir()) == ["a.txt", "c.txt"]
    assert len(retriever.documents()) == 3


def test_another_file_of_the_same_name_gets_a_number(client: TestClient, served: Path) -> None:
    for text in (b"A card.", b"A seat.", b"A page."):
        assert add(client, upload(client, "a.tar.txt", text))["result"]["added"] == 1
    assert sorted(each.name for each in (served / "uploads").iterdir()) == [
        "a.tar (2).txt",
        "a.tar (3).txt",
        "a.tar.txt",
    ]
    assert (served / "uploads" / "a.tar (2).txt").read_bytes() == b"A seat."


def zip_bomb() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", b"<w:t>" + b" " * 200_000_000)
    return packed.getvalue()


BAD_FILES = [
    ("bomb.docx", zip_bomb, "unpacks to more"),
    ("empty.txt", b"", "empty.txt is empty"),
    ("blank.md", b" \n\t\n", "blank.md is empty"),
    ("binary.txt", b"\x00\x01\x02" * 100, "NUL|encoding"),
    ("picture.md", b"\x89PNG\r\n\x1a\n", "picture"),
    ("broken.pdf", b"%PDF-1.7 and no more", "PDF"),
    ("text.docx", b"plain text", "DOCX"),
]


@pytest.mark.process
@pytest.mark.parametrize("bad", BAD_FILES, ids=[each[0] for each in BAD_FILES])
def test_a_file_that_can_not_be_read_is_reported_and_removed(
    client: TestClient,
    retriever: SentenceWindowRetriever,
    served: Path,
    bad: tuple[str, bytes | Callable[[], bytes], str],
) -> None:
    name, given, reason = bad
    content = given() if callable(given) else given
    job = add(client, upload(client, name, content), upload(client, "good.txt", b"A card."))
    (failed,) = job["result"]["failed"]
    assert failed["name"] == name
    assert any(part in failed["reason"] for part in reason.split("|")), failed["reason"]
    assert (job["status"], job["result"]["added"], job["result"]["failures"]) == ("done", 1, 1)
    assert [each.name for each in (served / "uploads").iterdir()] == ["good.txt"]
    assert len(retriever.documents()) == 2


def test_what_the_filter_forbids_is_reported(retriever: SentenceWindowRetriever, served: Path) -> None:
    with client_of(retriever.model_copy(update={"filter": {"team": "a"}}), folders=[served]) as client:
        job = add(client, upload(client, "a.txt", b"A card."))
    assert "filter" in job["result"]["failed"][0]["reason"]
    assert list((served / "uploads").iterdir()) == []


@pytest.mark.parametrize("name", ["a.exe", "a", ".txt", "a.md.exe", "a.txt\0.exe", "a.txt/", "...", "a.zip", "md"])
def test_other_kinds_of_files_are_refused(client: TestClient, name: str, served: Path) -> None:
    answer = upload(client, name, b"A card.")
    assert answer.status_code in (400, 415), answer.text
    assert not list(served.rglob("*.*"))


def test_a_file_that_is_too_large_is_refused_and_removed(
    client: TestClient, served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = client.post(
        "/api/documents/upload",
        params={"name": "a.txt"},
        headers={**BYTES, "content-length": "200000000"},
        content=b"A",
    )
    assert (refused.status_code, refused.json()["error"]["message"]) == (413, "the file has more than 100 MB; split it")
    monkeypatch.setattr(uploads, "MAX_UPLOAD_BYTES", 2_500_000)

    def parts() -> Iterator[bytes]:  # without a length
        for _ in range(30):
            yield b"a" * 100_000

    answer = client.post("/api/documents/upload", params={"name": "a.txt"}, headers=BYTES, content=parts())
    assert answer.status_code == 413
    assert list((served / "uploads").iterdir()) == []


@pytest.mark.parametrize("kind", ["", "text/plain", "application/json", "multipart/form-data; boundary=x"])
def test_what_a_form_can_send_is_refused(client: TestClient, kind: str) -> None:
    answer = client.post(
        "/api/documents/upload", params={"name": "a.txt"}, content=b"A", headers={"content-type": kind}
    )
    assert answer.status_code == 415


def test_a_file_needs_a_name(client: TestClient) -> None:
    for address in ("/api/documents/upload", "/api/documents/upload?name=", "/api/documents/upload?name=%20"):
        assert client.post(address, content=b"A", headers=BYTES).status_code == 400


def test_what_was_not_received_can_not_be_added(client: TestClient) -> None:
    received = upload(client, "a.txt", b"A card.").json()["upload"]
    for wrong in (["x"], [received, "../../etc/passwd"], ["a.txt"]):
        assert client.post("/api/documents/add", json={"uploads": wrong}).status_code == 404
    for odd in ([], "x", None, [1]):
        assert client.post("/api/documents/add", json={"uploads": odd}).status_code == 400
    first = client.post("/api/documents/add", json={"uploads": [received, received]})
    assert ended(client, first.json()["number"])["result"]["added"] == 1
    assert client.post("/api/documents/add", json={"uploads": [received]}).status_code == 404


def test_too_many_waiting_files_are_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_WAITING", 2)
    assert [upload(client, f"{i}.txt", b"A").status_code for i in range(3)] == [200, 200, 429]


def test_files_that_nobody_adds_are_removed(client: TestClient, served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = served / "uploads" / f".{'0' * 32}.part"
    old = upload(client, "old.txt", b"A card.").json()["upload"]
    left.write_bytes(b"of a process that ended")
    own = [served / "uploads" / name for name in (".notes.part", f".{'A' * 32}.part", f".{'1' * 32}.part")]
    own[0].write_bytes(b"of the user")
    own[1].write_bytes(b"of the user")
    own[2].symlink_to(own[0])
    for path in (left, *own[:2]):
        os.utime(path, (0, 0))
    os.utime(own[2], (0, 0), follow_symlinks=False)
    monkeypatch.setattr(uploads, "WAITING_SECONDS", -1.0)
    upload(client, "new.txt", b"A seat.")
    assert len(set((served / "uploads").iterdir()) - set(own)) == 1
    assert all(path.exists() for path in own)
    assert client.post("/api/documents/add", json={"uploads": [old]}).status_code == 404


def test_a_stop_ends_the_file_that_is_being_added_and_those_that_follow(
    client: TestClient, retriever: SentenceWindowRetriever, embedder: SlowEmbeddings, served: Path
) -> None:
    long = " ".join(f"A card has {i} sides." for i in range(700))
    given = [
        upload(client, "a.txt", b"A seat."),
        upload(client, "b.txt", long.encode()),
        upload(client, "c.txt", b"A page."),
    ]
    embedder.may_go_on.clear()
    embedder.waits.clear()
    numbers = [each.json()["upload"] for each in given]
    job = client.post("/api/documents/add", json={"uploads": numbers}).json()

    def progress() -> Any:
        return client.get("/api/jobs").json()["jobs"][0]["progress"]

    until(lambda: progress().get("name") == "b.txt")
    assert (progress()["done"], progress()["total"]) == (1, 3)
    client.post("/api/jobs/stop", json={"number": job["number"]})
    embedder.may_go_on.set()
    job = ended(client, job["number"])
    assert (job["status"], job["progress"]["added"]) == ("stopped", 1)
    assert [each.name for each in (served / "uploads").iterdir()] == ["a.txt"]
    assert len(retriever.documents()) == 2
    assert add(client, upload(client, "b.txt", long.encode()))["result"]["added"] == 1  # nothing is left locked


async def canceled_while(held: "Held", work: Coroutine[Any, Any, object]) -> None:
    """Cancel a task while a thread of it is held, let that go on, and wait for both."""
    task = asyncio.ensure_future(work)
    assert await asyncio.to_thread(held.begun.wait, PATIENCE)
    task.cancel()
    await asyncio.wait([task], timeout=0.1)  # in which it would end, if it didn't wait
    held.goes_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.get_running_loop().shutdown_default_executor()


class Held:
    """Holds the thread that calls a function, before or after the call."""

    def __init__(self) -> None:
        self.begun, self.goes_on = threading.Event(), threading.Event()

    def wait(self) -> None:
        self.begun.set()
        assert self.goes_on.wait(PATIENCE)


def test_an_upload_that_is_canceled_leaves_no_file(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held, path_open = Held(), Path.open

    def open_late(path: Path, mode: str = "r") -> Any:
        held.wait()
        return path_open(path, mode)

    async def parts() -> AsyncIterator[bytes]:
        yield b"A card."

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", open_late)
        asyncio.run(canceled_while(held, Uploads(KeptFiles(served)).receive("a.txt", parts())))
    assert not list(served.iterdir())


def test_a_job_that_is_canceled_leaves_no_file_that_is_not_in_the_index(
    retriever: SentenceWindowRetriever, served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the server ends."""
    held, add_file = Held(), KeptFiles.add

    def add_slowly(kept: KeptFiles, *given: Any) -> Path:
        path = add_file(kept, *given)
        held.wait()
        return path

    async def parts() -> AsyncIterator[bytes]:
        yield b"A card."

    async def add_one() -> None:
        studio = create_studio(retriever, folders=[served]).state.studio
        upload = await studio.uploads.receive("a.txt", parts())
        before = asyncio.all_tasks()
        await adding.add_files(studio, [upload.number])
        (job,) = asyncio.all_tasks() - before
        await job

    monkeypatch.setattr(KeptFiles, "add", add_slowly)
    asyncio.run(canceled_while(held, add_one()))
    assert [path.name for path in (served / "uploads").iterdir()] == []
    assert len(retriever.documents()) == 1


def test_a_read_only_page_adds_nothing(retriever: SentenceWindowRetriever, served: Path) -> None:
    client = client_of(retriever, folders=[served], read_only=True)
    assert upload(client, "a.txt", b"A").status_code == 403
    assert client.post("/api/documents/add", json={"uploads": ["x"]}).status_code == 403
    assert client.post("/api/documents/sync", json={}).status_code == 403
    assert list(served.iterdir()) == []


def test_without_a_served_folder_files_are_kept_with_the_index(
    retriever: SentenceWindowRetriever, tmp_path: Path
) -> None:
    with client_of(retriever) as client:
        assert add(client, upload(client, "a.txt", b"A card."))["result"]["added"] == 1
    assert (tmp_path / "index" / "uploads" / "a.txt").exists()
    SentenceWindowRetriever.open(tmp_path / "index", WordEmbeddings())


def test_an_index_in_memory_has_no_place_for_files() -> None:
    retriever = SentenceWindowRetriever.from_documents([document("A card.")], WordEmbeddings(), **BY_COSINE)
    client = client_of(retriever)
    assert client.get("/api/documents").json()["adding"] is None
    assert upload(client, "a.txt", b"A").status_code == 409


def test_the_file_goes_with_its_document_and_no_other_file_does(
    client: TestClient, retriever: SentenceWindowRetriever, served: Path
) -> None:
    add(client, upload(client, "a.txt", b"A card."), upload(client, "b.txt", b"A seat."))
    outside = served / "own.txt"
    outside.write_text("mine")
    kept = served / "uploads" / "b.txt"
    retriever.add_documents([document("A page.", str(outside)), document("A trial.", "x", source=str(kept))])
    traversal = str(served / "uploads" / ".." / "own.txt")
    retriever.add_documents([document("A page.", traversal)])
    doc_ids = [str(served / "uploads" / "a.txt"), str(outside), "x", traversal, str(kept) + "\0", str(kept.parent)]
    answer = client.post("/api/documents/delete", json={"doc_ids": doc_ids}).json()
    assert answer == {"deleted": 4, "files": 1}
    assert outside.exists()
    assert [each.name for each in kept.parent.iterdir()] == ["b.txt"]


# Whose files they are


def delete(client: TestClient, *doc_ids: object) -> Any:
    answer = client.post("/api/documents/delete", json={"doc_ids": [str(each) for each in doc_ids]})
    assert answer.status_code == 200, answer.text
    return answer.json()


def added(client: TestClient, served: Path, name: str = "a.txt", text: str = "A card.") -> Path:
    assert add(client, upload(client, name, text.encode()))["result"]["added"] == 1
    return served / "uploads" / name


def test_a_file_that_was_never_dropped_stays(
    client: TestClient, retriever: SentenceWindowRetriever, served: Path
) -> None:
    own, other = served / "uploads" / "own.txt", served / "uploads" / "other.txt"
    own.parent.mkdir()
    own.write_text("A seat is mine.")
    other.write_text("A page is mine.")
    sync_files(retriever, served)
    # What a document says of itself doesn't make its file one that was dropped.
    (stored,) = retriever.get([str(other)])
    retriever.add_documents([stored])
    assert delete(client, own, other) == {"deleted": 2, "files": 0}
    assert (own.read_text(), other.read_text()) == ("A seat is mine.", "A page is mine.")


def test_a_file_whose_document_this_call_does_not_delete_stays(
    client: TestClient, retriever: SentenceWindowRetriever, served: Path
) -> None:
    path, never = added(client, served), served / "uploads" / "never.txt"
    never.write_text("A page.")
    assert delete(client, never, "nobody") == {"deleted": 0, "files": 0}
    retriever.delete([str(path)])
    assert delete(client, path) == {"deleted": 0, "files": 0}
    assert path.exists()
    assert never.exists()


def test_files_of_what_the_filter_forbids_stay(retriever: SentenceWindowRetriever, served: Path) -> None:
    with client_of(retriever, folders=[served]) as client:
        path = added(client, served)
        with client_of(retriever.model_copy(update={"filter": {"team": "a"}}), folders=[served]) as theirs:
            assert delete(theirs, path) == {"deleted": 0, "files": 0}
        assert path.exists()
        assert delete(client, path) == {"deleted": 1, "files": 1}


def test_a_page_that_is_started_again_knows_its_files(
    retriever: SentenceWindowRetriever, served: Path, tmp_path: Path
) -> None:
    with client_of(retriever, folders=[served]) as client:
        paths = [
            added(client, served),
            added(client, served, "b.txt", "A seat."),
            added(client, served, "c.txt", "Hm."),
        ]
    again = SentenceWindowRetriever.open(tmp_path / "index", WordEmbeddings())
    by_link = tmp_path / "link"
    by_link.symlink_to(served)
    for folder, path in zip((served, by_link), paths, strict=False):
        with client_of(again, folders=[folder]) as client:
            assert delete(client, path) == {"deleted": 1, "files": 1}
    assert [path.exists() for path in paths] == [False, False, True]


def test_files_of_another_index_stay(retriever: SentenceWindowRetriever, served: Path, tmp_path: Path) -> None:
    other = SentenceWindowRetriever.from_documents(
        [document("A trial.")], WordEmbeddings(), path=tmp_path / "other", **BY_COSINE
    )
    with client_of(retriever, folders=[served]) as client, client_of(other, folders=[served]) as page:
        path = added(client, served)
        sync_files(other, served)
        assert delete(page, path) == {"deleted": 1, "files": 0}
        assert delete(client, path) == {"deleted": 1, "files": 1}


def replaced(path: Path) -> None:
    path.write_text("Mine now.")


def linked(path: Path) -> None:
    path.rename(path.with_name("moved.txt"))
    path.symlink_to("moved.txt")


def made_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def gone(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("change", [replaced, linked, made_a_folder, gone])
def test_what_has_taken_the_place_of_a_file_stays(client: TestClient, served: Path, change: Any) -> None:
    path = added(client, served)
    change(path)
    before = {each: each.lstat().st_ino for each in path.parent.iterdir()}
    assert delete(client, path) == {"deleted": 1, "files": 0}
    assert {each: each.lstat().st_ino for each in path.parent.iterdir()} == before


def test_what_takes_the_place_of_a_file_while_it_is_added_stays(served: Path, tmp_path: Path) -> None:
    class Replacing(WordEmbeddings):
        """Puts another file there, and fails."""

        path: Path | None = None

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if self.path is not None:
                self.path.unlink()
                self.path.write_text("Mine now.")
                raise ValueError("no vectors today")
            return super().embed_documents(texts)

    embedder = Replacing()
    retriever = SentenceWindowRetriever.from_documents([document("A refund.")], embedder, path=tmp_path / "index")
    with client_of(retriever, folders=[served]) as client:
        embedder.path = served / "uploads" / "a.txt"
        assert add(client, upload(client, "a.txt", b"A card."))["result"]["failures"] == 1
    assert embedder.path.read_text() == "Mine now."


@pytest.mark.parametrize(
    "record",
    [b"", b"{", b"\xff", b"[]", b"null", b"[" * 100_000, b'{"PATH": 1}', b'{"PATH": {}}', b'{"PATH": {"sha256": 1}}'],
)
def test_a_record_that_can_not_be_read_removes_nothing(client: TestClient, served: Path, record: bytes) -> None:
    path = added(client, served)
    (served / RECORD).write_bytes(record.replace(b"PATH", str(path).encode()))
    assert delete(client, path) == {"deleted": 1, "files": 0}
    assert path.exists()
    other = added(client, served, "b.txt", "A seat.")
    assert delete(client, other) == {"deleted": 1, "files": 1}


def test_a_folder_of_uploads_that_is_a_link_is_refused(
    retriever: SentenceWindowRetriever, served: Path, tmp_path: Path
) -> None:
    elsewhere, own = tmp_path / "elsewhere", served / "uploads" / "own.txt"
    elsewhere.mkdir()
    own.parent.symlink_to(elsewhere)
    own.write_text("A seat is mine.")
    retriever.add_documents([document("A seat is mine.", str(own))])
    with client_of(retriever, folders=[served]) as client:
        assert upload(client, "a.txt", b"A card.").status_code == 409
        assert elsewhere not in client.app.state.studio.folders  # type: ignore[attr-defined]
        assert delete(client, own) == {"deleted": 1, "files": 0}
    assert [each.name for each in elsewhere.iterdir()] == ["own.txt"]


@pytest.mark.parametrize("has_links", [True, False])
def test_a_name_that_is_taken_is_never_written_to(
    client: TestClient, served: Path, has_links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    if not has_links:
        monkeypatch.setattr(os, "link", refuse)
    folder, outside = served / "uploads", served / "outside.txt"
    folder.mkdir()
    (folder / "a.txt").write_text("Mine.")
    (folder / "a (2).txt").symlink_to(outside)
    (folder / "a (3).txt").mkdir()
    assert add(client, upload(client, "a.txt", b"A card."))["result"]["added"] == 1
    assert ((folder / "a.txt").read_text(), outside.exists()) == ("Mine.", False)
    assert (folder / "a (4).txt").read_text() == "A card."
    assert len(list(folder.iterdir())) == 4
    assert delete(client, folder / "a (4).txt") == {"deleted": 1, "files": 1}


def test_of_calls_at_once_one_deletes(client: TestClient, served: Path) -> None:
    paths = [added(client, served, f"{i}.txt", f"A card {i}.") for i in range(4)]
    with ThreadPoolExecutor(4) as threads:
        replies = list(threads.map(lambda _: delete(client, *paths), range(4)))
    assert [sum(each[name] for each in replies) for name in ("deleted", "files")] == [4, 4]
    assert list((served / "uploads").iterdir()) == []


# Names


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("notes.md", "notes.md"),
        ("../../etc/passwd.txt", "passwd.txt"),
        ("/etc/shadow.txt", "shadow.txt"),
        ("C:\\Windows\\win.txt", "win.txt"),
        ("C:win.txt", "C_win.txt"),
        ("..\\..\\a.txt", "a.txt"),
        ("a/", "document"),
        ("..", "document"),
        ("", "document"),
        (".txt", "txt"),
        ("...txt", "txt"),
        (".hidden.md", "hidden.md"),
        ("a.txt.", "a.txt"),
        ("a .txt ", "a.txt"),
        ("CON.txt", "_CON.txt"),
        ("con", "_con"),
        ("nul.a.md", "_nul.a.md"),
        ("LPT1.md", "_LPT1.md"),
        ("com¹.md", "_com¹.md"),
        ("console.md", "console.md"),
        ("a\0b.txt", "ab.txt"),
        ("a\nb\r.txt", "ab.txt"),
        ("a\u202etxt.exe.md", "atxt.exe.md"),
        ("a\ud800.txt", "a.txt"),
        ("a.txt:stream.md", "a.txt_stream.md"),
        ('<b>"?*|.md', "_b_____.md"),
        ("u\u0308ber.md", "über.md"),
        ("u\x1f\u0308ber.md", "über.md"),
        ("~$draft.md", "~$draft.md"),
        ("-rf.md", "-rf.md"),
    ],
)
def test_names_are_cleaned(given: str, expected: str) -> None:
    assert clean_name(given) == expected


@over(st.text(max_size=400))
def test_a_cleaned_name_is_a_name_in_a_folder(given: str) -> None:
    name = clean_name(given)
    assert name not in ("", ".", "..")
    assert Path(name).name == name
    assert not set(name) & set('/\\:*?"<>|\0\n')
    assert not name.startswith((".", " "))
    assert len(name.encode()) <= MAX_NAME_BYTES + len("_.document")
    assert clean_name(name) == name


def test_the_page_is_told_of_some_failures_and_of_their_number() -> None:
    progress = adding.Progress(500, failed=[{"name": str(i), "reason": ""} for i in range(300)])
    assert (len(progress.to_dict()["failed"]), progress.to_dict()["failures"]) == (adding.MAX_LISTED, 300)
