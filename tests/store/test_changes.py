"""Whatever was added, replaced and deleted: a store finds what one finds that was made of the final documents."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from tests.properties import examples
from tests.store.searching import candidates_of
from tests.torture import limits
from tests.torture.corpus import TextEmbeddings

NO_TEXT = -1
NAMES = ("a", "b", "c", "d")
SENTENCES = 12
"""The number of sentences of a whole document."""

names = st.sampled_from(NAMES)
indexes = st.sets(st.integers(0, SENTENCES - 1), min_size=1, max_size=5)
QUERIES = ("card of a", "seat 3 of b")


def sentence(name: str, index: int, version: int, section: int) -> Document:
    start = index // section * section
    return Document(
        page_content=f"{('card', 'seat')[index % 2]} {index} of {name} in version {version}",
        id=f"{name}{index}",
        metadata={
            "doc_id": name,
            "sentence_index": index,
            "section_start": start,
            "section_end": min(start + section, SENTENCES),
            "heading": f"part {start}",
            "version": version,
        },
    )


class Changes(RuleBasedStateMachine):
    """A store, and the Documents that it should hold."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        limits.lower(self.patch.setattr, exact=40)
        self.folder = tempfile.TemporaryDirectory()
        self.held: dict[str, Document] = {}
        self.sections: dict[str, int] = {}
        self.version = 0

    @initialize(index=st.sampled_from(["auto", "exact", "codes"]), on_disk=st.booleans())
    def open(self, index: str, on_disk: bool) -> None:
        self.path = Path(self.folder.name) if on_disk else None
        self.store = FaissStore(TextEmbeddings(), self.path, index)
        for name in NAMES:
            self.replace(name, 4)

    def added(self, documents: list[Document]) -> list[Document]:
        self.held |= {str(each.id): each for each in documents}
        return documents

    @rule(name=names, section=st.sampled_from([1, 4, SENTENCES]))
    def replace(self, name: str, section: int) -> None:
        self.version += 1
        self.sections[name] = section
        self.held = {id_: each for id_, each in self.held.items() if each.metadata.get("doc_id") != name}
        made = [sentence(name, index, self.version, section) for index in range(SENTENCES)]
        self.store.replace_documents(self.added(made), [name])

    @rule(name=names, some=indexes)
    def add_part(self, name: str, some: set[int]) -> None:
        self.version += 1
        made = [sentence(name, index, self.version, self.sections[name]) for index in some]
        self.store.add_documents(self.added(made))

    @rule(number=st.integers(0, 3), name=st.none() | names)
    def add_another(self, number: int, name: str | None) -> None:
        self.version += 1
        text = f"card alone {number} in version {self.version}"
        metadata = {"version": self.version} | ({} if name is None else {"doc_id": name})
        self.store.add_documents(self.added([Document(page_content=text, id=f"alone {number}", metadata=metadata)]))

    @rule(name=names, some=indexes)
    def delete_part(self, name: str, some: set[int]) -> None:
        ids = [f"{name}{index}" for index in some]
        self.held = {id_: each for id_, each in self.held.items() if id_ not in ids}
        self.store.delete(ids)

    @rule(name=names)
    def delete_document(self, name: str) -> None:
        self.held = {id_: each for id_, each in self.held.items() if each.metadata.get("doc_id") != name}
        self.store.delete_documents([name])

    @rule(least=st.integers(1, 30))
    def delete_by_filter(self, least: int) -> None:
        self.held = {id_: each for id_, each in self.held.items() if each.metadata["version"] >= least}
        self.store.delete(filter={"version": {"$lt": least}})

    @rule(name=names)
    def search(self, name: str) -> None:
        """Let the caches follow what was written so far."""
        for of_name in (None, {"doc_id": name}):
            self.store.hybrid_search("query", 3, filter=of_name)

    @precondition(lambda self: self.path is not None)
    @rule(is_saved=st.booleans())
    def reopen(self, is_saved: bool) -> None:
        if is_saved:
            self.store.save()
        self.store.close()
        self.store = FaissStore.open(Path(self.folder.name), TextEmbeddings())

    @rule()
    def compare(self) -> None:
        with FaissStore(TextEmbeddings(), index="exact") as rebuilt:
            rebuilt.add_documents(list(self.held.values()))
            for query in QUERIES:
                assert found(self.store, query) == approximately(found(rebuilt, query))
            assert neighbors(self.store) == neighbors(rebuilt)
            assert {each.doc_id: each.sentences for each in self.store.list_documents()} == {
                each.doc_id: each.sentences for each in rebuilt.list_documents()
            }
            assert [each.model_dump() for each in self.store.get_by_ids(sorted(self.held))] == [
                self.held[id_].model_dump() for id_ in sorted(self.held)
            ]
            (kept, of_kept), (whole, of_whole) = exported(self.store), exported(rebuilt)
            assert kept == whole
            np.testing.assert_array_equal(of_kept, of_whole)
        # A document of which a part was deleted has a problem, and the database none.
        assert not any("damaged" in each for each in self.store.check().problems)

    def teardown(self) -> None:
        try:
            if hasattr(self, "store"):
                self.compare()
        finally:
            if hasattr(self, "store"):
                self.store.close()
            self.folder.cleanup()
            self.patch.undo()


def found(store: FaissStore, query: str) -> dict[str, list[Any]]:
    """Return what searches of each kind find, with scores."""
    filters: list[dict[str, Any] | None] = [None, {"doc_id": "a"}, {"sentence_index": {"$lt": 3}}]
    return {
        f"{call} {k} {each_filter}": [
            each if isinstance(each, str) else (each[0].id, each[1])
            for each in getattr(store, call)(query, k, filter=each_filter)
        ]
        for call in ("similarity_search_with_score", "lexical_search")
        for k in (3, 99)
        for each_filter in filters
    }


def approximately(expected: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: [(id_, pytest.approx(score, abs=1e-5)) for id_, score in each] for name, each in expected.items()}


def neighbors(store: FaissStore) -> dict[Any, Any]:
    """Return the texts before and after each sentence that ranking reads."""
    found = candidates_of(store, "card seat alone", 99)
    return {
        key: [found.texts[at] if at != NO_TEXT else None for at in places]
        for key, *places in zip(found.keys, found.before.tolist(), found.after.tolist(), strict=True)
    }


def exported(store: FaissStore) -> tuple[list[str], Any]:
    parts = [zip(documents, vectors.tolist(), strict=True) for documents, vectors in store.export()]
    pairs = sorted((str(each.id), vector) for part in parts for each, vector in part)
    return [id_ for id_, _ in pairs], np.array([vector for _, vector in pairs])


@pytest.mark.parametrize("at", range(9))
def test_another_document_amid_sentences_changes_nothing(at: int) -> None:
    sentences = [sentence(name, index, 1, 4) for name, count in (("a", 3), ("b", 5)) for index in range(count)]
    other = Document(page_content="card alone", id="alone")
    with FaissStore(TextEmbeddings()) as store, FaissStore(TextEmbeddings()) as apart:
        store.add_documents([*sentences[:at], other, *sentences[at:]])
        for part in (sentences, [other]):
            apart.add_documents(part)
        for query in QUERIES:
            assert found(store, query) == approximately(found(apart, query))
        assert neighbors(store) == neighbors(apart)


@pytest.mark.filterwarnings("ignore:nothing was found, as no document has")
class TestChanges(Changes.TestCase):  # type: ignore[valid-type, misc] # hypothesis makes it
    settings = settings(examples(30), stateful_step_count=12)
