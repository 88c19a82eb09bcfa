"""`check` lists what is wrong with an index, and nothing where nothing is."""

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceSplitter
from langchain_sentence_window.errors import IndexNotFoundError, StoreError
from langchain_sentence_window.stores import CheckResult, check_index
from tests.store.folders import DATABASE, VECTORS, WORDS, files_of
from tests.torture import damage, limits
from tests.toys import VOCABULARY, WordEmbeddings

EVERYTHING = ("database", "documents", "vectors", "words")


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


def make(folder: Path, index: str = "exact") -> None:
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
    return Path(shutil.copytree(sound, tmp_path / "index"))


def problems(folder: Path) -> str:
    return "\n".join(check_index(folder).problems)


# Sound indexes


@pytest.mark.parametrize("index", ["exact", "codes"])
def test_an_index_of_each_kind_is_sound_also_one_whose_caches_are_behind(
    tmp_path: Path, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits.lower(monkeypatch.setattr)
    make(tmp_path, index)
    assert check_index(tmp_path) == CheckResult((), 30, len(documents(30)), EVERYTHING)
    with FaissStore.open(tmp_path, WordEmbeddings()) as store:
        store.replace_documents(documents(3, seed=1), ["d0", "d1", "d2"])
        store.replace_documents([], ["d7"])
        assert store.check() == CheckResult((), 29, len(store), EVERYTHING)
        store.lexical_search("refund")
        assert store.check() == CheckResult((), 29, len(store), EVERYTHING)
    assert check_index(tmp_path) == CheckResult((), 29, len(documents(29)), EVERYTHING)


def test_nothing_is_changed(folder: Path) -> None:
    before = files_of(folder)
    assert check_index(folder).is_sound
    after = files_of(folder)
    assert {name: after[name] for name in before} == before


def test_caches_that_are_not_there_are_not_checked(folder: Path) -> None:
    (folder / VECTORS).unlink()
    shutil.rmtree(folder / WORDS)
    assert check_index(folder) == CheckResult((), 30, len(documents(30)), ("database", "documents"))


def test_empty_and_emptied_indexes_are_sound(folder: Path, tmp_path: Path) -> None:
    with FaissStore.open(folder, WordEmbeddings()) as store:
        store.delete(filter={})
        assert store.check() == CheckResult((), 0, 0, EVERYTHING)
    with FaissStore(WordEmbeddings(), tmp_path / "empty") as store:
        assert store.check() == CheckResult((), 0, 0, ("database", "documents"))
    with FaissStore(WordEmbeddings()) as store:
        store.add_texts(["not a sentence of a document"])
        assert store.check() == CheckResult((), 0, 1, ("database", "documents"))


# Caches


@pytest.mark.parametrize("way", [damage.change, damage.cut, damage.replace])
@pytest.mark.parametrize("name", [VECTORS, WORDS])
def test_a_damaged_cache_is_noted_and_built_again(folder: Path, name: str, way: Callable[..., None]) -> None:
    chance = random.Random(1)
    of_words = [path for path in (folder / WORDS).iterdir() if path.stat().st_size]
    files = [folder / VECTORS] if name == VECTORS else of_words
    file = chance.choice(sorted(files))
    before = file.read_bytes()
    while file.read_bytes() == before:
        way(file, chance)
    result = check_index(folder)
    assert result.is_sound
    part = "saved FAISS index" if name == VECTORS else "index of words"
    assert result.notes == (f"the {part} is damaged; the next search builds it again",)
    assert f"note: {result.notes[0]}" in str(result)
    with FaissStore.open(folder, WordEmbeddings()) as store:
        store.hybrid_search("refund")
        store.save()
    assert check_index(folder) == CheckResult((), 30, len(documents(30)), EVERYTHING)


# Databases


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("DELETE FROM documents WHERE document = 1", "row 1 of the sentences lacks its document"),
        ("DELETE FROM sources WHERE source_key = 1", "row 1 of the sentences lacks its source"),
        ("DELETE FROM sections WHERE section_key = 1", "row 1 of the texts to embed isn't as it was written"),
        ("DELETE FROM vectors WHERE row = 2", "row 2 of the sentences lacks its vector"),
        ("DELETE FROM sentences WHERE row = 2", "it has 2 sentences instead of 3"),
        ("DELETE FROM writes", "lacks a record of its writes"),
        ("UPDATE sources SET metadata = '{}' WHERE source_key = 3", "row 3 of the sources isn't as it was written"),
        ("UPDATE sections SET metadata = '{}' WHERE section_key = 3", "row 3 of the sections isn't as it was written"),
        ("UPDATE sections SET context = 'x' WHERE section_key = 1", "row 1 of the texts to embed isn't as it was"),
        ("UPDATE sentences SET text = 'x' WHERE row = 2", "row 2 of the sentences isn't as it was written"),
        ("UPDATE sentences SET start_index = 5 WHERE row = 2", "row 2 of the sentences isn't as it was written"),
        ("UPDATE sentences SET own = '{}' WHERE row = 2", "row 2 of the sentences isn't as it was written"),
        ("UPDATE sentences SET document = 9 WHERE row = 2", "row 2 of the sentences lacks its document"),
        ("UPDATE sentences SET section = 5 WHERE row = 2", "lacks sentences at the places that are in their metadata"),
        ("UPDATE documents SET doc_id = 'other' WHERE document = 1", "lacks sentences at the places that are in their"),
        ("UPDATE writes SET last_row = 2", "row 3 of the sentences is after the last that a write recorded"),
        ("DELETE FROM names", "row 1 of the sources lacks the keys of its names"),
        ("DELETE FROM first_lines WHERE row = 2", "row 2 of the sentences lacks the keys of its names"),
        ("UPDATE facts SET value = '7' WHERE name = 'dimension'", "row 1 of the vectors is of another length than the"),
        ("UPDATE facts SET value = '{' WHERE name = 'dimension'", "row 1 of the vectors is of another length than the"),
        ("UPDATE vectors SET vector = zeroblob(22) WHERE row = 3", "row 3 of the vectors isn't as it was written"),
    ],
)
def test_rows_that_are_lost_or_changed_are_a_problem(
    words: WordEmbeddings, tmp_path: Path, sql: str, message: str
) -> None:
    with FaissStore(words, tmp_path) as store:
        places, shared = [("a", 0), ("a", 1), ("b", 0)], {"section_start": 0, "section_end": 2, "title": "A name"}
        sentences = [
            Document(
                "Acme Card",
                id=f"{doc_id}{at}",
                metadata={
                    "doc_id": doc_id,
                    "sentence_index": at,
                    "start_index": 9 * at,
                    "end_index": 9 * at + 9,
                    **shared,
                },
            )
            for doc_id, at in places
        ]
        store.replace_documents(sentences, ["a", "b"], contexts=["A context."] * 3)
    with closing(sqlite3.connect(tmp_path / DATABASE)) as connection, connection:
        assert connection.execute(sql).rowcount > 0
    assert message in problems(tmp_path)
    assert "restore it from a backup" in problems(tmp_path)


@pytest.mark.parametrize("content", [b"", b"text", None])
def test_a_database_that_cannot_be_opened_is_a_problem(folder: Path, content: bytes | None) -> None:
    (folder / DATABASE).write_bytes((folder / DATABASE).read_bytes()[:50_000] if content is None else content)
    result = check_index(folder)
    assert result.checked == ("database",)
    assert "restore it from a backup" in problems(folder)
    (folder / DATABASE).unlink()
    with pytest.raises(IndexNotFoundError):
        check_index(folder)


# Sentences

TEXT = "# One\n\nA card. A seat.  A trial.\n\n# Two\n\nA page."


def checked(sentences: list[Document]) -> CheckResult:
    with FaissStore(WordEmbeddings()) as store:
        store.add_documents(sentences)
        return store.check()


@given(st.text(st.sampled_from("aA.!? \n\t#-|*1\u00a0é"), max_size=200))
def test_what_the_splitter_writes_is_sound(text: str) -> None:
    assert checked(SentenceSplitter().split_documents([Document(id="a", page_content=text)])).problems == ()


def changed(at: int, page_content: str | None = None, **metadata: Any) -> Callable[[list[Document]], list[Document]]:
    def change(found: list[Document]) -> list[Document]:
        text = found[at].page_content if page_content is None else page_content
        other = Document(id=found[at].id, page_content=text, metadata=found[at].metadata | metadata)
        return [*found[:at], other, *found[at + 1 :]]

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda found: found[1:], "it lacks sentence 0"),
        (lambda found: found[:1] + found[3:], "it lacks sentences 1 to 2"),
        (lambda found: found[:-1], "it lacks sentence 5 at its end"),
        (lambda found: [found[0].model_copy(update={"id": "twice"}), *found], "it lacks sentence 1"),
        (changed(2, "A sea."), "sentence 2 isn't as long as its place"),
        (changed(2, separator=" "), "sentence 3 doesn't begin where sentence 2"),
        (changed(3, section_end=6), "the section of sentence 3"),
        (changed(2, start_index="x"), "start_index"),
        (changed(2, end_index=None), "end_index"),
    ],
)
def test_sentences_that_do_not_belong_together_are_a_problem(
    change: Callable[[list[Document]], list[Document]], problem: str
) -> None:
    found = SentenceSplitter().split_documents([Document(id="a", page_content=TEXT)])
    assert len(found) == 6
    (listed,) = checked(change(found)).problems
    assert listed.startswith("document 'a': ")
    assert problem in listed


def test_the_first_problems_are_listed_and_the_others_counted(folder: Path) -> None:
    with FaissStore.open(folder, WordEmbeddings()) as store:
        store.delete(filter={"sentence_index": 3, "doc_id": {"$in": [f"d{number}" for number in range(25)]}})
        result = store.check()
    assert len(result.problems) == 21
    assert result.problems[0] == "document 'd0': it lacks sentence 3; add the document again"
    assert result.problems[-1] == "5 other documents have problems like these"
    assert str(result).startswith("21 problems:\n- document 'd0'")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("settings", "{"),
        ("settings", "[1]"),
        ("settings", '{"index": "fast"}'),
        ("settings", '{"weights": ["a"]}'),
        ("embedder", "{}"),
        ("embedder", "[1, 2, 3, 4]"),
        ("dimension", '"a"'),
    ],
)
def test_a_damaged_fact_is_reported(folder: Path, name: str, value: str) -> None:
    with closing(sqlite3.connect(folder / "sentences.sqlite3", isolation_level=None)) as connection:
        connection.execute("UPDATE facts SET value = ? WHERE name = ?", [value, name])
    with pytest.raises(StoreError, match="so it is damaged; restore it"):
        FaissStore.open(folder, WordEmbeddings()).similarity_search("card")
