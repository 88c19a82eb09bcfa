"""A large database is opened without reading all of it, if nobody has written to it; damage is found all the same."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.stores.faiss.database import database_file
from langchain_sentence_window.stores.faiss.database import database_file as later_check
from langchain_sentence_window.stores.faiss.database.database_file import SEAL_FILE, Sealed, read_seal, write_seal
from langchain_sentence_window.stores.faiss.database.locks import HELD_FILES
from langchain_sentence_window.stores.faiss.database.store_files import DATABASE_FILE
from langchain_sentence_window.stores.faiss.database.transaction import Transaction
from tests.patience import until
from tests.torture.churn import fill
from tests.torture.corpus import TextEmbeddings, contents

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows doesn't tell when a file was last changed")


class Reads:
    """Counts how often a whole file was read, and how many parts of one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.whole = self.parts = 0
        seal, read = HELD_FILES.seal, HELD_FILES.read

        def counted_seal(*given: Any) -> Any:
            self.whole += 1
            return seal(*given)

        def counted_read(*given: Any) -> Any:
            self.parts += 1
            return read(*given)

        monkeypatch.setattr(HELD_FILES, "seal", counted_seal)
        monkeypatch.setattr(HELD_FILES, "read", counted_read)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a closed store that counts as large, and whose file is checked when the test says so."""
    monkeypatch.setattr(database_file, "MAX_READ_AT_OPENING", 0)
    monkeypatch.setattr(database_file, "SETTLED_AFTER", -1)
    monkeypatch.setattr("langchain_sentence_window.stores.faiss.session.run_slowly", lambda _: None)
    with FaissStore(TextEmbeddings(), tmp_path / "store") as store:
        fill(store, 80)
    return tmp_path / "store"


def seal_of(folder: Path) -> Sealed:
    sealed = read_seal(folder)
    assert sealed is not None
    return sealed


def damage_unseen(folder: Path) -> None:
    """Make the seal that of other bytes, as if a disk had lost some without a trace."""
    (size, checksum), stamp = seal_of(folder)
    write_seal(folder, Sealed([size, checksum ^ 1], stamp))


def search_until_told(folder: Path, *, read_only: bool) -> None:
    with FaissStore.open(folder, TextEmbeddings(), read_only=read_only) as store:
        until(lambda: not store.similarity_search("x"))


def test_an_unchanged_file_is_not_read_when_it_is_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = Reads(monkeypatch)
    before = seal_of(folder)
    with FaissStore.open(folder, TextEmbeddings()) as store:
        assert len(contents(store)) == 10
        assert (reads.whole, reads.parts) == (0, 0)
    assert seal_of(folder) == before


def test_it_is_read_once_before_the_first_change(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = Reads(monkeypatch)
    monkeypatch.setattr(later_check, "PART_SIZE", 10_000)
    size = (folder / DATABASE_FILE).stat().st_size
    with FaissStore.open(folder, TextEmbeddings()) as store:
        for number in range(2):
            store.delete(filter={"number": number})
            assert (reads.whole, reads.parts) == (0, -(-size // 10_000))
    with FaissStore.open(folder, TextEmbeddings()) as store:
        assert len(contents(store)) == 8


def test_searches_leave_the_seal_in_place_and_others_need_not_check_each_row(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaissStore.open(folder, TextEmbeddings()) as store:
        assert store.lexical_search("d3", k=1)  # makes the lexical index
    before = seal_of(folder)
    monkeypatch.setattr("langchain_sentence_window.stores.faiss.database.snapshot.find_damage", None)
    reads = Reads(monkeypatch)
    with FaissStore.open(folder, TextEmbeddings()) as store:
        assert store.hybrid_search("d3", k=1)
        assert seal_of(folder) == before
        with FaissStore.open(folder, TextEmbeddings()) as other:
            assert other.lexical_search("d3", k=1)
    assert seal_of(folder) == before
    assert (reads.whole, reads.parts) == (0, 0)


def test_a_write_that_fails_does_not_leave_the_store_without_a_seal(folder: Path) -> None:
    with FaissStore.open(folder, TextEmbeddings()) as store:
        with pytest.raises(RuntimeError, match="in the middle"):
            store._session._database.write(changed_and_failed)
        assert not (folder / SEAL_FILE).exists()
        assert len(contents(store)) == 10
    assert seal_of(folder)


def changed_and_failed(transaction: Transaction) -> None:
    transaction.set_fact("number", 1)
    raise RuntimeError("in the middle")


def test_unseen_damage_is_told_before_anything_is_written(folder: Path) -> None:
    damage_unseen(folder)
    store = FaissStore.open(folder, TextEmbeddings())
    assert len(contents(store)) == 10
    with pytest.raises(StoreError, match="isn't as it was closed, though nobody has written to it"):
        store.delete(filter={"number": 0})
    for call in (lambda: store.similarity_search("x"), lambda: contents(store), lambda: store.delete(["x"])):
        with pytest.raises(StoreError, match="isn't as it was closed"):
            call()
    store.close()
    assert not (folder / SEAL_FILE).exists()  # so the next opening checks each row
    with FaissStore.open(folder, TextEmbeddings()) as store:
        assert len(contents(store)) == 10


def test_a_damaged_file_is_not_copied(folder: Path) -> None:
    damage_unseen(folder)
    with FaissStore.open(folder, TextEmbeddings()) as store:
        with pytest.raises(StoreError, match="isn't as it was closed"):
            store.save(folder.parent / "copy")
        assert not (folder.parent / "copy" / DATABASE_FILE).exists()


def test_unseen_damage_is_found_in_the_background(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langchain_sentence_window.stores.faiss.session.run_slowly", later_check.run_slowly)
    damage_unseen(folder)
    for read_only in (True, False):
        with pytest.raises(StoreError, match="isn't as it was closed"):
            search_until_told(folder, read_only=read_only)


def test_a_file_that_somebody_wrote_to_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / DATABASE_FILE
    content = path.read_bytes()
    path.write_bytes(content)
    reads = Reads(monkeypatch)
    FaissStore.open(folder, TextEmbeddings()).close()
    assert reads.whole == 2  # when it was opened, and for a seal that tells when the file was written
    FaissStore.open(folder, TextEmbeddings()).close()
    assert reads.whole == 2
    status, at = path.stat(), content.index(b"Sentence s1")
    with path.open("rb+") as file:
        file.seek(at)
        file.write(b"X")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(StoreError, match="damaged"):
        FaissStore.open(folder, TextEmbeddings())


def test_a_copy_is_read_and_a_damaged_one_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = Reads(monkeypatch)
    shutil.copytree(folder, folder.parent / "copy", copy_function=shutil.copy2)
    FaissStore.open(folder.parent / "copy", TextEmbeddings()).close()
    assert reads.whole == 2


def test_a_seal_is_only_trusted_with_its_stamp_and_checksum(folder: Path) -> None:
    content = (folder / SEAL_FILE).read_bytes()
    assert content.startswith(b"%d bytes, CRC-32 " % (folder / DATABASE_FILE).stat().st_size)
    for at in range(len(content)):
        (folder / SEAL_FILE).write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert read_seal(folder) is None
    (folder / SEAL_FILE).write_bytes(content.split(b"\n")[0] + b"\n")
    assert read_seal(folder) == Sealed(read_seal(folder).seal, None)  # type: ignore[union-attr]


def test_a_file_changed_just_now_gets_no_stamp(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_file, "SETTLED_AFTER", 60)
    with FaissStore.open(folder, TextEmbeddings()) as store:
        store.delete(filter={"number": 0})
    assert seal_of(folder).stamp is None


def test_small_files_are_read_when_they_are_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        fill(store, 80)
    assert seal_of(tmp_path).stamp is None
    reads = Reads(monkeypatch)
    FaissStore.open(tmp_path, TextEmbeddings()).close()
    assert (reads.whole, reads.parts) == (1, 0)
