"""Lexical search: BM25 computed by hand, filters, changes, damage."""

import json
import math
import os
import re
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import FilterError, StoreError
from langchain_sentence_window.ranking.words import indexed
from langchain_sentence_window.store import words as cache
from langchain_sentence_window.store.records import with_heading
from tests.store.folders import DATABASE, WORDS, files_of
from tests.toys import WordEmbeddings

TEXTS = ["A refund for the annual plan.", "The refund is paid to the card.", "A card, a CARD!", "Nothing at all."]


@pytest.fixture(params=["memory", "disk"])
def store(request: pytest.FixtureRequest, words: WordEmbeddings, tmp_path: Path) -> FaissStore:
    path = tmp_path / "index" if request.param == "disk" else None
    return FaissStore.from_texts(TEXTS, words, [{"n": n} for n in range(4)], ids=list("abcd"), path=path)


def bm25(texts: list[str], query: str) -> list[float]:
    """Robertson's BM25 with k1 = 1.2 and b = 0.75, and the logarithm that Lucene takes."""
    split = [re.findall(r"[^\W_]+", text.lower()) for text in texts]
    average, scores = sum(map(len, split)) / len(texts), [0.0] * len(texts)
    for word in dict.fromkeys(re.findall(r"[^\W_]+", query.lower())):
        having = sum(word in words for words in split)
        idf_weights = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        for i, words in enumerate(split):
            count = Counter(words)[word]
            scores[i] += idf_weights * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(words) / average))
    return scores


def test_scores_are_bm25_best_first(store: FaissStore) -> None:
    found = store.lexical_search("the refund, card?")
    expected = sorted(zip(bm25(TEXTS, "the refund card"), "abcd", strict=True), reverse=True)
    assert [each.id for each, _ in found] == [id_ for score, id_ in expected if score]
    assert [score for _, score in found] == pytest.approx([score for score, _ in expected if score], rel=1e-4)


def test_a_filter_is_applied_before_k(store: FaissStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for few in (10_000, 1):  # as tantivy's own filter, and as a sieve for its hits
        monkeypatch.setattr("langchain_sentence_window.store.words._MAX_ROWS_IN_QUERY", few)
        found = store.lexical_search("the card", k=1, filter={"n": {"$lt": 2}})
        assert [each.id for each, _ in found] == ["b"]
        found = store.lexical_search("refund card", k=9, filter={"n": {"$in": [1, 2, 3]}})
        assert [each.id for each, _ in found] == ["b", "c"]
    assert store.lexical_search("card", filter={"n": 99}) == []
    with pytest.raises(FilterError):
        store.lexical_search("card", filter={"n": {"$like": 1}})


def test_changes_are_found_at_once(store: FaissStore) -> None:
    def ids(query: str) -> list[str]:
        return sorted(str(each.id) for each, _ in store.lexical_search(query))

    assert ids("card") == ["b", "c"]
    store.add_texts(["A card from the backup"], ids=["e"])
    store.add_texts(["Only a trial"], ids=["c"])
    assert ids("card") == ["b", "e"]
    store.delete(["b"])
    assert ids("card") == ["e"]
    assert ids("trial") == ["c"]
    store.delete(filter={})
    assert ids("card trial") == []


@pytest.mark.parametrize(
    "query", ["", " ", "?!", "unknown", "\x00", "\ud800", 'card" AND (', "card:*~^[", "a" * 1_000_000]
)
def test_a_query_has_no_syntax(store: FaissStore, query: str) -> None:
    expected = {"b", "c"} if "card" in query else {"a", "c"} if query.startswith("a b") else set()
    assert {each.id for each, _ in store.lexical_search(query)} == expected


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("cafes", ["the café"]),
        ("signoff", ["a sign-off", "the signoff"]),
        ("sign-off", ["a sign-off", "the signoff"]),
        ("Straße", ["Strasse"]),
        ("policy", ["two policies"]),
        ("fees", ["all fees"]),  # not "the fee", as another text has the word itself
    ],
)
def test_words_are_found_as_others_write_them(words: WordEmbeddings, query: str, found: list[str]) -> None:
    texts = ["the café", "a sign-off", "the signoff", "Strasse", "two policies", "all fees", "the fee"]
    with FaissStore.from_texts(texts, words) as store:
        assert sorted(each.page_content for each, _ in store.lexical_search(query)) == found


def test_what_is_indexed_belongs_to_its_format() -> None:
    """Whoever changes what is indexed for a text, or the index's field, must increase the format."""
    assert (cache.FORMAT, cache._TEXT, indexed(with_heading("Fees", "The Re-audits of Élodie's 退款政策"))) == (
        5,
        "heading_and_text_separated",
        "fees the re audits reaudits of elodie s  退款 款政 政策 ",
    )


def be_damaged(folder: Path, damage: str) -> None:
    if damage.endswith(" instead"):
        folder.rename(folder.with_name("elsewhere"))
    file = max(folder.iterdir(), key=lambda file: file.stat().st_size) if folder.exists() else folder
    if damage == "missing":
        shutil.rmtree(folder)
    elif damage == "a file missing":
        file.unlink()
    elif damage == "flipped":
        content = file.read_bytes()
        file.write_bytes(content[:9] + bytes([content[9] ^ 255]) + content[10:])
    elif damage == "a link instead":
        folder.symlink_to("elsewhere", target_is_directory=True)
    elif damage.startswith("a file"):
        (folder / "more" if damage.endswith(" more") else folder).write_text("x")
    elif damage.startswith("a pipe"):
        os.mkfifo(folder / "more" if damage.endswith(" more") else folder)


@pytest.mark.parametrize(
    "damage",
    ["missing", "a file missing", "flipped", "a file more", "a file instead", "behind", "a link instead"]
    + ["a pipe more", "a pipe instead"] * hasattr(os, "mkfifo"),
)
def test_the_lexical_index_is_a_cache(words: WordEmbeddings, tmp_path: Path, damage: str) -> None:
    with FaissStore.from_texts(TEXTS, words, ids=list("abcd"), path=tmp_path) as store:
        store.save()
        assert (tmp_path / WORDS).is_dir()
        if damage == "behind":
            store.delete(["a"])
            store.add_texts(["A refund."], ids=["e"])
        expected = ["b", "e"] if damage == "behind" else ["a", "b"]
    be_damaged(tmp_path / WORDS, damage)
    before = files_of(tmp_path / "elsewhere")
    with FaissStore.open(tmp_path, words) as store:
        assert sorted(str(each.id) for each, _ in store.lexical_search("refund")) == expected
    assert not (tmp_path / WORDS).is_symlink()
    assert files_of(tmp_path / "elsewhere") == before


def record_changed(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change what the database says of the index of words, as a stranger may who passes it on."""
    with closing(sqlite3.connect(path / DATABASE)) as database, database:
        (record,) = database.execute("SELECT value FROM facts WHERE name = 'words'").fetchone()
        changed = json.dumps(change(json.loads(record)))
        database.execute("UPDATE facts SET value = ? WHERE name = 'words'", [changed])


def with_file(name: str, checksum: object) -> Callable[[dict[str, Any]], Any]:
    return lambda record: {**record, "files": {**record["files"], name: checksum}}


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        lambda record: [record],
        lambda record: {"format": record["format"]},
        lambda record: {**record, "version": record["version"][:3]},
        lambda record: {**record, "files": [*record["files"]]},
        with_file("meta.json", None),
        with_file("../other", [1, 2]),
        with_file("a\0b", [1, 2]),
    ],
)
def test_a_malformed_record_is_ignored(words: WordEmbeddings, tmp_path: Path, change: Any, read_only: bool) -> None:
    path, temporary = tmp_path / "index", tmp_path / "temporary"
    with FaissStore.from_texts(TEXTS, words, path=path) as store:
        store.save()
    (path / "other").write_text("x")
    temporary.mkdir()
    record_changed(path, change)
    with pytest.MonkeyPatch.context() as patch, FaissStore.open(path, words, read_only=read_only) as store:
        patch.setattr(tempfile, "tempdir", str(temporary))
        assert store.check().notes == ("the index of words is damaged; the next search builds it again",)
        assert len(store.lexical_search("refund")) == 2
    assert not (temporary / "other").exists()


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / WORDS).iterdir()}


def test_it_is_opened_not_built_when_it_is_current(words: WordEmbeddings, tmp_path: Path) -> None:
    with FaissStore.from_texts(TEXTS, words, path=tmp_path) as store:
        store.save()
    before = files(tmp_path)
    with FaissStore.open(tmp_path, words) as store:
        assert len(store.lexical_search("refund")) == 2
    assert files(tmp_path) == before


def test_a_file_that_is_damaged_while_it_is_open_is_not_taken_for_what_was_written(
    words: WordEmbeddings, tmp_path: Path
) -> None:
    with FaissStore.from_texts(TEXTS, words, ids=list("abcd"), path=tmp_path) as store:
        store.save()
        damaged = max((tmp_path / WORDS).glob("*.term"))
        content = damaged.read_bytes()
        with damaged.open("rb+") as file:
            file.seek(3)
            file.write(bytes([content[3] ^ 255]))
        store.add_texts(["A refund at last."], ids=["e"])
        store.save()
    with FaissStore.open(tmp_path, words) as store:
        assert sorted(str(each.id) for each, _ in store.lexical_search("refund")) == ["a", "b", "e"]


def test_damage_found_while_writing_is_reported_and_repaired_by_the_next_search(
    words: WordEmbeddings, tmp_path: Path
) -> None:
    with FaissStore.from_texts(TEXTS, words, ids=list("abcd"), path=tmp_path) as store:
        store.save()
        damaged = max((tmp_path / WORDS).glob("*.term"))
        damaged.write_bytes(bytes(damaged.stat().st_size))
        store.add_texts(["A refund at last."], ids=["e"])
        with pytest.raises(StoreError, match="search again, which rebuilds the index"):
            store.lexical_search("refund")
        assert sorted(str(each.id) for each, _ in store.lexical_search("refund")) == ["a", "b", "e"]


# Headings


def sentence(index: int, text: str, heading: object, section: int = 0, doc_id: str = "x") -> Document:
    place: dict[str, Any] = {"doc_id": doc_id, "sentence_index": index, "section_start": section}
    return Document(id=f"{doc_id}{index}", page_content=text, metadata={**place, "heading": heading})


SENTENCES = [
    sentence(0, "It is paid to the card.", "Fees > Refund"),
    sentence(1, "It is late.", "Fees > Refund"),
    sentence(2, "It is late, too.", "Fees > Trial", 2),
    sentence(3, "Nothing at all.", None, 3),
]


@pytest.mark.parametrize("read_only", [False, True])
def test_the_words_of_a_heading_path_are_words_of_its_sentences(
    words: WordEmbeddings, tmp_path: Path, read_only: bool
) -> None:
    with FaissStore(words, tmp_path) as store:
        store.add_documents(SENTENCES)
        store.save()
    with FaissStore.open(tmp_path, words, read_only=read_only) as store:
        found = store.lexical_search("the refund fees", k=9)
    indexed = ["Fees Refund It is paid to the card.", "Fees Refund It is late.", "Fees Trial It is late, too."]
    expected = sorted(zip(bm25([*indexed, "Nothing at all."], "the refund fees"), range(4), strict=True))[:0:-1]
    assert [each.id for each, _ in found] == [f"x{number}" for _, number in expected]
    assert [score for _, score in found] == pytest.approx([score for score, _ in expected], rel=1e-3)


def test_headings_follow_what_is_replaced_and_deleted(words: WordEmbeddings) -> None:
    store = FaissStore(words)

    def ids(query: str) -> list[str]:
        return sorted(str(each.id) for each, _ in store.lexical_search(query))

    store.add_documents(SENTENCES)
    assert ids("fees") == ["x0", "x1", "x2"]
    store.replace_documents([sentence(0, "It is late.", "Seats"), sentence(0, "A card.", "Fees", doc_id="y")], ["x"])
    assert (ids("fees"), ids("seats"), ids("trial")) == (["y0"], ["x0"], [])
    store.delete(["y0"])
    assert ids("fees") == []


@pytest.mark.parametrize(
    ("heading", "query", "is_found"),
    [
        ("\x00 Fees \ue000", "fees", True),
        ("\ud800 fees", "FEES", True),
        ("", "heading", False),
        (["fees"], "fees", False),
        (7, "7", False),
        (f"Outer > {'inner ' * 40} > Fees", "outer", False),  # cut as when it is embedded
        (f"Outer > {'inner ' * 40} > Fees", "fees", True),
    ],
)
def test_odd_headings_are_indexed_or_left_out(
    words: WordEmbeddings, heading: object, query: str, is_found: bool
) -> None:
    store = FaissStore(words)
    store.add_documents([sentence(0, "A card.", heading)])
    assert len(store.lexical_search(query)) == is_found
    assert len(store.lexical_search("card")) == 1


@pytest.mark.parametrize("read_only", [False, True])
def test_an_index_of_an_earlier_format_is_built_again(
    words: WordEmbeddings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_only: bool
) -> None:
    with monkeypatch.context() as patch:  # as it was before headings were indexed, in another field
        patch.setattr(cache, "FORMAT", cache.FORMAT - 1)
        patch.setattr(cache, "_TEXT", "text")
        patch.setattr(cache, "with_heading", lambda heading, text: text)
        with FaissStore(words, tmp_path) as before:
            before.add_documents(SENTENCES)
            assert before.lexical_search("fees") == []
            before.save()
    for _ in range(2):
        with FaissStore.open(tmp_path, words, read_only=read_only) as store:
            found = store.lexical_search("refund")
            assert {each.id for each, _ in found} == {"x0", "x1"}
            assert len(store.hybrid_search("refund", k=9)) == 4
