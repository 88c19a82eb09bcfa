"""`check` lists what is wrong with each file of an index, and nothing where nothing is."""

import random
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_sentence_window.stores.faiss import soundness as whole
from langchain_sentence_window.stores.faiss.database.database_file import SEAL_FILE
from langchain_sentence_window.stores.faiss.database.store_files import (
    DATABASE_FILE,
    LEXICAL_FOLDER,
    VECTORS_FILE,
    seal_of,
    seals_in,
)
from langchain_sentence_window.stores.faiss.database.transaction import Transaction
from langchain_sentence_window.stores.faiss.dense.dense_cache import VECTORS_FACT
from langchain_sentence_window.stores.faiss.dense.vector_index import VectorIndex, read_index
from langchain_sentence_window.stores.faiss.lexical_index import LexicalIndex
from langchain_sentence_window.stores.faiss.soundness import CheckResult, check_folder, sentence_problems

from langchain_sentence_window import FaissStore, SentenceSplitter
from langchain_sentence_window.errors import StoreError
from tests.interpreters import run_code
from tests.torture import damage
from tests.toys import VOCABULARY, WordEmbeddings

EVERYTHING = ("files", "database", "documents", "vectors", "words")


def documents(count: int, *, seed: int = 0) -> list[Document]:
    """Sentence Documents of several documents with headings, lists and tables."""
    chance = random.Random(seed)
    sources = [
        Document(
            id=f"d{number}",
            page_content="# Title\n\n"
            + " ".join(f"A {chance.choice(VOCABULARY)} {chance.choice(VOCABULARY)} {at}." for at in range(12))
            + "\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n\n- one\n- two\n",
        )
        for number in range(count)
    ]
    return SentenceSplitter().split_documents(sources)


def make(folder: Path, index: str = "Flat") -> None:
    with FaissStore(WordEmbeddings(), folder, index) as store:
        store.add_documents(documents(30))
        store.save()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    make(folder)
    return folder


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    shutil.copytree(sound, tmp_path / "index")
    return tmp_path / "index"


@contextmanager
def forging(folder: Path) -> Iterator[Transaction]:
    """Write to an index with right checksums, as a forger would."""
    with closing(sqlite3.connect(folder / DATABASE_FILE, isolation_level=None)) as connection:
        transaction = Transaction(connection, 1)
        connection.execute("BEGIN IMMEDIATE")
        yield transaction
        connection.execute("COMMIT")
    (folder / SEAL_FILE).unlink(missing_ok=True)


def problems(folder: Path) -> str:
    return "\n".join(check_folder(folder).problems)


# Sound indexes


@pytest.mark.slow
@pytest.mark.parametrize("index", ["Flat", "SQ8", "SQfp16", "HNSW16", "HNSW16_SQ8", "IVF4,Flat", "SQ4"])
def test_sound_index_of_each_kind_and_one_that_is_behind(tmp_path: Path, index: str) -> None:
    make(tmp_path, index)
    assert check_folder(tmp_path) == CheckResult((), 30, len(documents(30)), EVERYTHING)
    with FaissStore.open(tmp_path, WordEmbeddings()) as store:
        store.replace_documents(documents(3, seed=1), ["d0", "d1", "d2"])
        store.replace_documents([], ["d7"])
        assert store.check() == CheckResult((), 29, len(store), EVERYTHING)
        store.lexical_search("refund")
        assert store.check().is_sound
    assert check_folder(tmp_path).is_sound


def test_nothing_is_changed(folder: Path) -> None:
    before = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    assert check_folder(folder).is_sound
    assert {path: path.read_bytes() for path in before} == before


def test_caches_that_are_not_there(folder: Path) -> None:
    (folder / VECTORS_FILE).unlink()
    shutil.rmtree(folder / LEXICAL_FOLDER)
    assert check_folder(folder).checked == ("files", "database", "documents")
    assert check_folder(folder).is_sound


def test_emptied_and_empty_indexes(folder: Path, tmp_path: Path) -> None:
    with FaissStore.open(folder, WordEmbeddings()) as store:
        store.delete(filter={})
        assert store.check() == CheckResult((), 0, 0, EVERYTHING)
    with FaissStore(WordEmbeddings(), tmp_path / "empty") as store:
        assert store.check() == CheckResult((), 0, 0, ("files", "database", "documents"))
    with FaissStore(WordEmbeddings()) as store:
        store.add_texts(["not a sentence of a document"])
        assert store.check() == CheckResult((), 0, 1, ("database", "documents"))


def test_check_while_others_write(folder: Path) -> None:
    with FaissStore.open(folder, WordEmbeddings()) as store:
        for number in range(5):
            store.replace_documents(documents(1, seed=number), ["d0"])
            store.save()
            assert store.check().is_sound
            store.similarity_search("refund")
            assert check_folder(folder).is_sound


# Damaged files


@pytest.mark.parametrize("seed", range(3))
def test_damage_of_each_file_is_listed(sound: Path, tmp_path: Path, seed: int) -> None:
    """Flip one byte, or cut the file; only what isn't used may go unnoticed, and it then is as it was."""
    chance = random.Random(seed)
    files = [path.relative_to(sound) for path in sorted(sound.rglob("*")) if path.is_file()]
    assert {path.parts[0] for path in files} >= {DATABASE_FILE, VECTORS_FILE, LEXICAL_FOLDER, SEAL_FILE}
    for number, file in enumerate(files):
        copy = tmp_path / f"{number}"
        shutil.copytree(sound, copy)
        content = (copy / file).read_bytes()
        if not content:
            continue  # tantivy's locks
        while (changed := damage.damaged(content, chance)) == content:
            pass
        (copy / file).write_bytes(changed)
        result = check_folder(copy)
        assert not result.is_sound, f"{file} was damaged"
        assert str(copy) in "\n".join(result.problems) or "sentences" in "\n".join(result.problems)


def test_missing_database(folder: Path) -> None:
    (folder / DATABASE_FILE).write_bytes(b"")
    assert "is empty" in problems(folder)


@pytest.mark.process
@pytest.mark.slow
def test_lost_log(tmp_path: Path) -> None:
    """The log of a killed process is cut off, so that its last writes are lost."""
    script = (
        "import os, sys\nfrom tests.stores.faiss.test_checks import *\n"
        "store = FaissStore(WordEmbeddings(), sys.argv[1])\n"
        "for n in range(5): store.replace_documents(documents(1, seed=n), ['d0'])\nos._exit(0)"
    )
    assert run_code(script, tmp_path).returncode == 0
    assert check_folder(tmp_path).is_sound
    log = tmp_path / f"{DATABASE_FILE}-wal"
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])
    for file in tmp_path.glob("*-shm"):
        file.unlink()
    assert re.search(r"holds \d writes, and \d were made", problems(tmp_path))


def test_restore_that_was_interrupted(folder: Path) -> None:
    (folder / "sentences.restoring").write_text("")
    assert "is being restored from a backup" in problems(folder)


def test_rows_of_another_state(folder: Path) -> None:
    with closing(sqlite3.connect(folder / DATABASE_FILE, isolation_level=None)) as connection:
        connection.execute("DELETE FROM vectors WHERE row = 5")
    (folder / SEAL_FILE).unlink()
    assert re.search(r"is damaged: it has \d+ sentences and \d+ vectors", problems(folder))


# Caches that lie


def test_vectors_of_another_index(folder: Path, tmp_path: Path) -> None:
    make(tmp_path / "other")
    with FaissStore.open(tmp_path / "other", WordEmbeddings()) as store:
        store.add_documents(documents(1, seed=9))
        store.save()
    shutil.copy(tmp_path / "other" / VECTORS_FILE, folder / VECTORS_FILE)
    assert "vectors.faiss' isn't as it was written" in problems(folder)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("swap", "holds other vectors than the database"),
        ("drop", "doesn't hold the sentences that the database held"),
        ("add", "doesn't hold the sentences that the database held"),
    ],
)
def test_forged_vectors(folder: Path, change: str, problem: str) -> None:
    found = read_index(folder / VECTORS_FILE, mapped=False)
    assert found is not None
    index = VectorIndex(found.index, found.rows, 0, owner=found.owner)
    rows = np.sort(index.live_rows)
    vectors = index.decoded(rows)
    if change == "swap":
        vectors[[3, 4]] = vectors[[4, 3]]
    index.remove(rows)
    rows = rows[1:] if change == "drop" else rows
    index.add(rows, vectors[-len(rows) :])
    if change == "add":
        index.add(np.array([9_999]), vectors[:1])
    index.save(folder / VECTORS_FILE)
    with forging(folder) as transaction:
        record = transaction.fact(VECTORS_FACT)
        transaction.set_fact(VECTORS_FACT, record | {"seal": seal_of(folder / VECTORS_FILE)})
    assert problem in problems(folder)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("other words", "holds other words than the database"),
        ("drop", "doesn't hold the sentences that the database held"),
        ("add", "doesn't hold the sentences that the database held"),
    ],
)
def test_forged_words(folder: Path, change: str, problem: str) -> None:
    index, row = LexicalIndex(folder / LEXICAL_FOLDER), np.array([5])
    if change == "other words":
        index.change(row, [(5, "nothing of it")])
    elif change == "drop":
        index.change(row, [])
    else:
        index.change(row[:0], [(9_999, "one more")])
    del index
    with forging(folder) as transaction:
        record = transaction.fact("lexical")
        transaction.set_fact("lexical", record | {"files": seals_in(folder / LEXICAL_FOLDER)})
    assert problem in problems(folder)


# Sentences


def split(text: str) -> list[Document]:
    return SentenceSplitter().split_documents([Document(id="a", page_content=text)])


TEXT = "# One\n\nA card. A seat.  A trial.\n\n# Two\n\nA page."


@given(st.text(st.sampled_from("aA.!? \n\t#-|*1\u00a0é"), max_size=200))
def test_what_the_splitter_writes_is_sound(text: str) -> None:
    assert list(sentence_problems(split(text))) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda found: found[1:], "it lacks sentence 0"),
        (lambda found: found[:1] + found[3:], "it lacks sentences 1 to 2"),
        (lambda found: found[:-1], "it lacks sentence 5 at its end"),
        (lambda found: [found[0], *found], "it lacks sentence 1"),
        (lambda found: changed(found, 2, page_content="A sea."), "sentence 2 isn't as long as its place"),
        (lambda found: changed(found, 2, separator=" "), "sentence 3 doesn't begin where sentence 2"),
        (lambda found: changed(found, 3, section_end=6), "the section of sentence 3"),
        (lambda found: changed(found, 2, start_index="x"), "start_index"),
        (lambda found: changed(found, 2, end_index=None), "end_index"),
    ],
)
def test_sentences_that_do_not_belong_together(change: Any, problem: str) -> None:
    found = split(TEXT)
    assert len(found) == 6
    (listed,) = sentence_problems(change(found))
    assert listed.startswith("document 'a': ")
    assert problem in listed


def changed(found: list[Document], at: int, page_content: str | None = None, **metadata: Any) -> list[Document]:
    each = found[at]
    text = each.page_content if page_content is None else page_content
    other = Document(id=each.id, page_content=text, metadata=each.metadata | metadata)
    return [*found[:at], other, *found[at + 1 :]]


def test_deleted_sentences_are_missed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaissStore.open(folder, WordEmbeddings()) as store:
        for number in range(25):
            (id_,) = (
                each.id
                for each in documents(30)
                if each.metadata["doc_id"] == f"d{number}" and each.metadata["sentence_index"] == 3
            )
            store.delete([str(id_)])
        result = store.check()
    assert len(result.problems) == whole.MAX_PROBLEMS + 1
    assert result.problems[0] == "document 'd0': it lacks sentence 3; add the document again"
    assert result.problems[-1] == "5 other documents have problems like these"
    assert str(result).startswith("21 problems:\n- document 'd0'")


def test_forged_state(folder: Path) -> None:
    with forging(folder) as transaction:
        transaction.set_fact("state", {"sentences": 3})
    with pytest.raises(StoreError, match="is damaged where it keeps 'state'"):
        FaissStore.open(folder, WordEmbeddings())
    assert "is damaged where it keeps 'state'" in problems(folder)
