"""Damage of the database: rows that don't belong together are noticed."""

import random
import shutil
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_sentence_window.stores.faiss.database.schema import checksum_of, source_row
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.database.store_files import DATABASE_FILE
from langchain_sentence_window.stores.faiss.database.transaction import Transaction

from langchain_sentence_window import FaissStore
from tests.properties import examples
from tests.torture.corpus import TextEmbeddings, document
from tests.toys import WordEmbeddings

PAGE = 16_384
TABLES = ("facts", "documents", "sources", "sections", "sentences", "vectors", "staged", "writes", "removals")


@contextmanager
def snapshot_of(file: Path) -> Iterator[Snapshot]:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        yield Snapshot(connection)


def damage_of(file: Path) -> str | None:
    """Return the damage found, also by SQLite."""
    with snapshot_of(file) as snapshot:
        try:
            return snapshot.find_damage()
        except sqlite3.DatabaseError as error:
            return f"SQLite: {error}"


def everything_in(file: Path) -> dict[str, list[Any]]:
    with closing(sqlite3.connect(file)) as connection:
        return {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES}  # noqa: S608


def grow(store: FaissStore, chance: random.Random, version: int) -> None:
    """Continue with a store in one of many ways."""
    for number in chance.sample(range(150), 25):
        store.replace_documents(document(number, version), [f"document {number}"])
    store.delete(filter={"number": {"$in": chance.sample(range(150), 5)}})
    store.add_documents([Document(page_content=f"alone {version}", id=f"{version}", metadata={"version": version})])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_pages_of_another_version_are_seen(tmp_path: Path, seed: int) -> None:
    """Two databases with one history diverge; pages of one replace those of the other, as with a stale log."""
    chance = random.Random(seed)
    with FaissStore(TextEmbeddings(), tmp_path / "0") as store:
        for start in range(0, 150, 50):
            store.add_documents([each for number in range(start, start + 50) for each in document(number, 0)])
    for version in (1, 2):
        shutil.copytree(tmp_path / "0", tmp_path / str(version))
        with FaissStore.open(tmp_path / str(version), TextEmbeddings()) as store:
            grow(store, chance, version)
    files = [tmp_path / str(version) / DATABASE_FILE for version in range(3)]
    assert [damage_of(file) for file in files] == [None] * 3
    contents = [everything_in(file) for file in files]
    pages = [
        [data[at : at + PAGE] for at in range(0, len(data), PAGE)] for data in (file.read_bytes() for file in files)
    ]
    outcomes, mixed = Counter[str](), tmp_path / "mixed.sqlite3"
    for under, over in ((1, 2), (2, 1), (1, 0), (0, 1)):
        common = range(min(len(pages[under]), len(pages[over])))
        differing = [at for at in common if pages[under][at] != pages[over][at]]
        several = [set(chance.sample(differing, chance.randrange(2, len(differing)))) for _ in range(20)]
        for laid_over in [{at} for at in differing] + several:
            mixture = [pages[over if at in laid_over else under][at] for at in range(len(pages[under]))]
            mixed.write_bytes(b"".join(mixture))
            damage = damage_of(mixed)
            if damage is None:
                assert everything_in(mixed) in (contents[under], contents[over])
            outcomes["of one state" if damage is None else damage.split(":")[0].translate(DIGITS)] += 1
    assert outcomes["its rows aren't those of one state"] > 0, outcomes
    assert outcomes.total() - outcomes["of one state"] > 100


DIGITS = str.maketrans("", "", "0123456789")


def test_a_mixture_whose_rows_are_all_sound_is_seen(words: WordEmbeddings, tmp_path: Path) -> None:
    """A row of another version has the same number and a correct checksum."""
    for version in ("card", "seat"):
        with FaissStore(words, tmp_path / version) as store:
            store.add_texts([version, "page"], [{"lang": version}, {"lang": "en"}], ids=["a", "b"])
    file = tmp_path / "card" / DATABASE_FILE
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("ATTACH ? AS other", [str(tmp_path / "seat" / DATABASE_FILE)])
        stored = ", ".join(row[1] for row in connection.execute("PRAGMA table_info(sentences)"))
        connection.execute(
            f"REPLACE INTO sentences ({stored}) SELECT {stored} FROM other.sentences WHERE row = 1"  # noqa: S608
        )
        connection.commit()
    assert damage_of(file) == (
        "its rows aren't those of one state: some are from another version of it, or some are lost"
    )


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("DELETE FROM documents WHERE document = 1", "row 1 of the sentences isn't as it was written"),
        ("DELETE FROM sections WHERE section_key = 1", "row 1 of the sentences isn't as it was written"),
        ("UPDATE sentences SET section_key = 3 WHERE row = 2", "row 2 of the sentences isn't as it was written"),
        ("UPDATE sources SET metadata_checksum = 7", "row 1 of the sources isn't as it was written"),
        ("DELETE FROM sources WHERE source_key = 1", "row 1 of the sentences isn't as it was written"),
        ("UPDATE sentences SET source_key = 3 WHERE row = 2", "row 2 of the sentences isn't as it was written"),
        ("UPDATE sources SET metadata = '{}' WHERE source_key = 3", "row 3 of the sources isn't as it was written"),
        ("UPDATE sentences SET document = 2 WHERE row = 2", "row 2 of the sentences isn't as it was written"),
        ("UPDATE sections SET metadata = '{}' WHERE section_key = 3", "row 3 of the sections isn't as it was written"),
        ("UPDATE sections SET context = x'41'", "row 1 of the sections isn't as it was written"),
        ("UPDATE documents SET doc_id = 'c' WHERE document = 2", "row 2 of the documents isn't as it was written"),
        ("UPDATE documents SET written = 5 WHERE document = 2", "row 2 of the documents isn't as it was written"),
        ("UPDATE sentences SET start_index = 5 WHERE row = 2", "row 2 of the sentences isn't as it was written"),
        ("UPDATE sentences SET id_high = 5 WHERE row = 2", "row 2 of the sentences isn't as it was written"),
        ("UPDATE sources SET sentences = 9", "row 1 of the sources says another number of sentences than it has"),
        ("UPDATE sections SET sentences = 9", "row 1 of the sections says another number of sentences than it has"),
        ("UPDATE facts SET value = '5' WHERE name = 'dimension'", "row dimension of the facts isn't as it was written"),
        ("UPDATE removals SET row = row + 1", "row 1 of the removals isn't as it was written"),
        ("DELETE FROM sentences WHERE row = 3", "it has 2 sentences and 3 vectors instead of 3"),
        ("DELETE FROM removals", "its rows aren't those of one state"),
        ("DELETE FROM writes WHERE generation = 2", "the writes of its log are incomplete"),
    ],
)
def test_rows_that_are_lost_or_changed_are_seen(words: WordEmbeddings, tmp_path: Path, sql: str, message: str) -> None:
    def sentence(doc_id: str, index: int) -> Document:
        metadata = {"doc_id": doc_id, "sentence_index": index, "section_start": 0}
        return Document(page_content="card", id=f"{doc_id}{index}", metadata=metadata)

    with FaissStore(words, tmp_path) as store:
        store.add_documents([sentence("a", 0), sentence("a", 1), sentence("b", 0), sentence("c", 0)])
        store.delete(["c0"])
    file = tmp_path / DATABASE_FILE
    assert damage_of(file) is None
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute(sql).rowcount > 0
        connection.commit()
    assert str(damage_of(file)).startswith(message)


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("vectors", (7, b"", zlib.crc32(b"", 7))),
        ("documents", (7, "b", 5, checksum_of(7, "b", 5))),
        ("sources", source_row(7, 1, 0, "{}")),
        ("sections", (7, 1, 0, "{}", b"", 0, checksum_of(7, 1, "{}", 0))),
    ],
)
def test_a_row_without_a_sentence_is_seen(
    words: WordEmbeddings, tmp_path: Path, table: str, row: tuple[Any, ...]
) -> None:
    """A faulty write would leave this: its checksums and the digest are correct."""
    with FaissStore(words, tmp_path) as store:
        store.add_documents([Document(page_content="card", metadata={"doc_id": "a", "sentence_index": 0})])
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE, isolation_level=None)) as connection:
        transaction = Transaction(connection, token=1)
        if table == "vectors":
            transaction._drop(table, "row = 1", [])
        transaction._insert(table, [row])
        transaction.finish()
    assert damage_of(tmp_path / DATABASE_FILE) == f"row 7 of the {table} belongs to no sentence"


numbers = st.lists(st.integers(0, 6), max_size=4, unique=True)
calls = st.lists(
    st.tuples(st.sampled_from(["add", "replace", "delete", "filter"]), numbers, st.integers(0, 2)), max_size=6
)


@examples(40)  # it waits for the disk
@given(calls)
def test_a_database_is_sound_whatever_was_written(tmp_path_factory: pytest.TempPathFactory, given_: Any) -> None:
    folder = tmp_path_factory.mktemp("sound")
    with FaissStore(WordEmbeddings(), folder) as store:
        for call, chosen, version in given_:
            sentences = [
                Document(
                    page_content=f"card {n % 3}",
                    id=str(n),
                    metadata={"doc_id": str(version), "sentence_index": n, "section_start": n // 3, "version": version},
                )
                for n in chosen
            ]
            if call == "add":
                store.add_documents([*sentences, Document(page_content="card", id=f"alone {version}")])
            elif call == "replace":
                store.replace_documents(
                    sentences, [str(version)], contexts=[f"heading {version % 2}\n"] * len(sentences)
                )
            elif call == "delete":
                store.delete([str(n) for n in chosen])
            else:
                store.delete(filter={"version": version})
            assert damage_of(folder / DATABASE_FILE) is None


def test_the_log_is_shortened_and_the_database_stays_sound(
    words: WordEmbeddings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langchain_sentence_window.stores.faiss.database.transaction.MIN_LOGGED", 3)
    with FaissStore(words, tmp_path) as store:
        for number in range(20):
            store.add_texts([f"page {number}"], ids=["a"])
            assert damage_of(tmp_path / DATABASE_FILE) is None
        assert len(everything_in(tmp_path / DATABASE_FILE)["removals"]) < 12


# Staged vectors


def test_a_staged_vector_that_is_lost_is_embedded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langchain_sentence_window.embedding.embedder.EMBED_BATCH_SIZE", 2)

    class Interrupted(WordEmbeddings):
        client_is_interrupted = True

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if "page 4" in texts and self.client_is_interrupted:
                raise KeyboardInterrupt
            return super().embed_documents(texts)

    texts, embedding = [f"page {n}" for n in range(6)], Interrupted()
    with FaissStore(embedding, tmp_path) as store, pytest.raises(KeyboardInterrupt):
        store.add_texts(texts, ids=texts)
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as connection:
        assert connection.execute("DELETE FROM staged WHERE row IN (2, 3)").rowcount == 2
        connection.commit()
    assert damage_of(tmp_path / DATABASE_FILE) is None
    embedding.client_is_interrupted, embedding.embedded = False, []
    with FaissStore(embedding, tmp_path) as store:
        store.add_texts(texts, ids=texts)
        assert sorted(embedding.embedded) == ["page 1", "page 2", "page 4", "page 5"]
        assert [each.page_content for each in store.get_by_ids(texts)] == texts
    assert damage_of(tmp_path / DATABASE_FILE) is None


def test_staged_texts_can_be_sampled_and_discarded(words: WordEmbeddings, tmp_path: Path) -> None:
    FaissStore(words, tmp_path).close()
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE, isolation_level=None)) as connection:
        transaction = Transaction(connection, token=1)
        assert transaction.sample_embedded(3) == []
        assert transaction.discard_staged() == 0
        transaction.stage_vectors((f"text {n} \ud800\0", bytes([0, n])) for n in range(9))
        assert [text for text, _ in transaction.sample_embedded(3)] == [f"text {n} \ud800\0" for n in (0, 3, 6)]
        assert transaction.discard_staged() == 9
        assert transaction.count_staged() == 0
        assert transaction.discard_staged() == 0


def test_a_sample_of_what_was_embedded_is_spread_over_the_sentences(words: WordEmbeddings, tmp_path: Path) -> None:
    with FaissStore(words, tmp_path) as store:
        sentences = [
            Document(page_content=f"page {n} \ud800", id=str(n), metadata={"doc_id": "a", "sentence_index": n})
            for n in range(100)
        ]
        store.replace_documents(sentences, [], contexts=[f"Card\n{n}\0\n" for n in range(100)])
        store.delete([str(n) for n in range(20, 60)])
    with snapshot_of(tmp_path / DATABASE_FILE) as snapshot:
        sampled = snapshot.sample_embedded(5)
        assert [text for text, _ in sampled] == [f"Card\n{n}\0\npage {n} \ud800" for n in (0, 60, 80)]
        assert len(snapshot.sample_embedded(1_000)) == 60
        expected = words.vector("card page")
        length = sum(value**2 for value in expected) ** 0.5
        assert sampled[0][1].tolist() == pytest.approx([value / length for value in expected], abs=1e-3)
