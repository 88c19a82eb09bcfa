"""Indexes that earlier versions of the package wrote: they open, and are converted without losing anything.

The files in ``formats`` were written by the version that had the format, with two documents of a few sentences.
"""

import json
import shutil
import sqlite3
import subprocess
import sys
import time
import warnings
import zlib
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_sentence_window.stores.faiss import format_conversion
from langchain_sentence_window.stores.faiss.database.schema import FORMAT_VERSION
from langchain_sentence_window.stores.faiss.database.store_files import DATABASE_FILE
from langchain_sentence_window.stores.faiss.format_conversion import CONVERTED_FILE, KEPT_FILE, format_of

from langchain_sentence_window import FaissStore, SentenceWindowRetriever, check_index, read_index_settings
from langchain_sentence_window.errors import IndexMismatchError, SentenceWindowWarning, StoreError

FORMATS = Path(__file__).with_name("formats")
EMBEDDING = DeterministicFakeEmbedding(size=8)


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """Return the folder of an index of the format before the present one."""
    return unpacked(FORMAT_VERSION - 1, tmp_path)


def unpacked(version: int, folder: Path) -> Path:
    ZipFile(FORMATS / f"format-{version}.zip").extractall(folder / "index")
    return folder / "index"


def opened(folder: Path) -> FaissStore:
    with pytest.warns(SentenceWindowWarning, match=f"was converted to format {FORMAT_VERSION}; the old database is"):
        return FaissStore.open(folder, EMBEDDING)


def test_every_format_that_can_be_read_has_a_stored_index() -> None:
    expected = {f"format-{version}.zip" for version in range(format_conversion.EARLIER_FORMAT, FORMAT_VERSION + 1)}
    assert {path.name for path in FORMATS.iterdir()} == expected


@pytest.mark.parametrize("version", range(format_conversion.EARLIER_FORMAT, FORMAT_VERSION + 1))
def test_an_index_of_each_format_opens_with_all_it_held(version: int, tmp_path: Path) -> None:
    folder = unpacked(version, tmp_path)
    assert format_of(folder / DATABASE_FILE) == version
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SentenceWindowWarning)
        retriever = SentenceWindowRetriever.open(str(folder), EMBEDDING, **read_index_settings(folder).retriever)
    store = retriever.vectorstore
    assert isinstance(store, FaissStore)
    with store:
        assert format_of(folder / DATABASE_FILE) == FORMAT_VERSION
        assert store.check().problems == ()
        assert len(store) == 8
        assert [(each.doc_id, each.sentences) for each in store.list_documents()] == [("policy", 5), ("halls", 3)]
        (halls,) = store.list_documents({"tags": "ä"})
        assert halls.metadata == {"source": "halls.txt", "tenant": "b", "tags": ["x", "ä"], "level": 2}
        assert halls.added is not None
        assert halls.added.date() == datetime(2026, 11, 26, tzinfo=UTC).date()
        # The vectors are those of the texts, and were not embedded again.
        text = "Refunds\nWrite to us within 30 days."
        asked = np.array(EMBEDDING.embed_query(text))
        assert dict(store.sample_embedded())[text] @ asked / np.linalg.norm(asked) > 0.999
        (found,) = retriever.invoke(text, k=1, window=(0, 1), lexical_weight=0.0, ranking=None)
        assert found.page_content == "Write to us within 30 days. It is refused after 100 bookings."
        assert found.metadata["heading"] == "Refunds"
        retriever.add_documents([found.model_copy(update={"id": "new", "metadata": {}})])
        assert len(store) == 10


def test_the_earlier_database_is_kept_as_it_was(earlier: Path) -> None:
    before = (earlier / DATABASE_FILE).read_bytes()
    opened(earlier).close()
    assert (earlier / KEPT_FILE).read_bytes() == before
    FaissStore.open(earlier, EMBEDDING).close()  # no second warning
    assert check_index(earlier).problems == ()


def test_a_damaged_index_stays_and_the_conversion_goes_on_when_it_is_mended(
    earlier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(format_conversion, "PART_SIZE", 2)
    path = earlier / DATABASE_FILE
    mended = path.read_bytes()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE sentences SET text = CAST('None in June.' AS BLOB) WHERE sentence_index = 4")
    damaged = path.read_bytes()
    for _ in range(2):
        with pytest.raises(StoreError, match=r"can't be converted .* row 5 of the sentences isn't as it was written"):
            FaissStore.open(earlier, EMBEDDING)
        assert path.read_bytes() == damaged
    begun = (earlier / CONVERTED_FILE).stat()
    path.write_bytes(mended)
    with opened(earlier) as store:
        assert len(store) == 8
        assert store.check().problems == ()
    assert path.stat().st_ino == begun.st_ino  # the file that was begun


def test_rows_of_two_states_are_refused(earlier: Path) -> None:
    with closing(sqlite3.connect(earlier / DATABASE_FILE)) as connection, connection:
        connection.execute("DELETE FROM times WHERE document = 1")
    with pytest.raises(StoreError, match="can't be converted .* its rows aren't those of one state"):
        FaissStore.open(earlier, EMBEDDING)


def test_a_log_of_another_version_is_refused(earlier: Path) -> None:
    log = earlier / f"{DATABASE_FILE}-wal"
    log.write_bytes(b"of another")
    with pytest.raises(StoreError, match="write-ahead log of another version"):
        FaissStore.open(earlier, EMBEDDING)
    assert log.read_bytes() == b"of another"


def test_a_copy_of_another_database_is_not_continued(earlier: Path, tmp_path: Path) -> None:
    shutil.copy(unpacked(FORMAT_VERSION, tmp_path / "other") / DATABASE_FILE, earlier / CONVERTED_FILE)
    with opened(earlier) as store:
        assert len(store) == 8
        assert store.check().problems == ()


def test_an_index_that_is_only_read_is_left_as_it_is(earlier: Path, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in earlier.iterdir()}
    cure = "open it once without read_only=True, or with a command, which converts it and keeps the old one"
    with pytest.raises(IndexMismatchError, match=cure):
        FaissStore.open(earlier, EMBEDDING, read_only=True)
    with pytest.raises(IndexMismatchError, match=cure):
        FaissStore.restore(earlier, tmp_path / "restored")
    assert cure in str(check_index(earlier).problems)
    assert {path.name: path.read_bytes() for path in earlier.iterdir() if path.name in before} == before


@pytest.mark.process
def test_a_conversion_that_is_killed_goes_on(earlier: Path) -> None:
    with closing(sqlite3.connect(earlier / DATABASE_FILE)) as connection, connection:
        add_sentences(connection, 20_000)
    program = (
        "from langchain_core.embeddings import DeterministicFakeEmbedding; "
        "from langchain_sentence_window.stores.faiss import FaissStore, format_conversion; "
        "format_conversion.PART_SIZE = 100; "
        f"FaissStore.open({str(earlier)!r}, DeterministicFakeEmbedding(size=8))"
    )
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL) as process:
        while not (earlier / CONVERTED_FILE).exists() and process.poll() is None:
            time.sleep(0.001)
        time.sleep(0.1)
        process.kill()
    with warnings.catch_warnings():  # it may have been done before it was killed
        warnings.simplefilter("ignore", SentenceWindowWarning)
        store = FaissStore.open(earlier, EMBEDDING)
    with store:
        assert len(store) == 20_008
        assert store.check().problems == ()
        assert [each.page_content for each in store.get_by_ids(["note 19999"])] == ["Note 19999."]


@pytest.mark.process
@pytest.mark.parametrize("last_step", ["seal_of", "write_head", "sync_folder"])
def test_an_exchange_of_the_databases_that_is_killed_is_undone_and_made_again(earlier: Path, last_step: str) -> None:
    program = f"""
import os
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_sentence_window.stores.faiss.database import restoring, store_files

exchange = restoring._exchange
def killed(folder, workshop, head):
    owner = restoring if hasattr(restoring, {last_step!r}) else store_files
    setattr(owner, {last_step!r}, lambda *_: os._exit(9))
    exchange(folder, workshop, head)
restoring._exchange = killed
from langchain_sentence_window import FaissStore
FaissStore.open({str(earlier)!r}, DeterministicFakeEmbedding(size=8))
"""
    assert subprocess.run([sys.executable, "-c", program], stderr=subprocess.DEVNULL, check=False).returncode == 9
    assert (earlier / "sentences.restoring").exists()
    with opened(earlier) as store:
        assert len(store) == 8
        assert store.check().problems == ()
    assert not (earlier / "sentences.restoring").exists()


def add_sentences(connection: sqlite3.Connection, count: int) -> None:
    """Add sentences to a database of format 7, as its version of the package did."""
    (state,) = connection.execute("SELECT value FROM facts WHERE name = 'state'").fetchone()
    (vector,) = connection.execute("SELECT vector FROM vectors LIMIT 1").fetchone()
    (first,) = connection.execute("SELECT max(row) + 1 FROM sentences").fetchone()
    added = 0
    for row in range(first, first + count):
        text = f"Note {row - first}.".encode()
        sentence = row, f"note {row - first}", None, None, 0, None, None, text, b"", "{}", zlib.crc32(text), 0
        connection.execute("INSERT INTO sentences VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", sentence)
        connection.execute("INSERT INTO vectors VALUES (?, ?, ?)", [row, vector, zlib.crc32(vector, row)])
        added += zlib.crc32(text) + zlib.crc32(vector, row)
    counted = json.loads(state)
    state = json.dumps(counted | {"sentences": counted["sentences"] + count, "digest": counted["digest"] + added})
    checksum = zlib.crc32(f"state\0{state}".encode())
    connection.execute("UPDATE facts SET value = ?, checksum = ? WHERE name = 'state'", [state, checksum])
