"""Stores that were filled elsewhere: chunks become whole documents again, and sentences keep their vectors."""

import random
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_text_splitters import MarkdownHeaderTextSplitter, RecursiveCharacterTextSplitter

from langchain_sentence_window import (
    ChunkSurvey,
    FaissStore,
    NeighborMixedEmbeddings,
    SentenceSplitter,
    SentenceWindowRetriever,
    acopy_index,
    aread_chunks,
    asurvey_chunks,
    copy_index,
    read_chunks,
    survey_chunks,
)
from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.local_stores import InMemoryAdapter
from langchain_sentence_window.adapters.registry import register
from langchain_sentence_window.errors import (
    IndexMismatchError,
    InvalidInputError,
    SentenceWindowWarning,
    StoreChangedError,
)
from tests.conftest import Invoke
from tests.toys import WordEmbeddings


def text_of(name: str, clauses: int = 24) -> str:
    """A text no two sentences of which are equal, with headings, paragraphs and a list."""
    sections = []
    for section in range(clauses // 6):
        numbers = [10 * section + n for n in range(5)]
        said = [f"Clause {n} of {name}: guest {n} may return card {n} in {n} days." for n in numbers]
        sections.append(
            f"## Section {section}\n\n{' '.join(said)}\n\n- item {section} of {name}\n- a seat in row {section}"
        )
    return f"# Rules of {name}\n\n" + "\n\n".join(sections)


SOURCES = {f"{name}.md": text_of(name) for name in ("hotel", "ferry", "library")}


def chunks_of(sources: dict[str, str] = SOURCES, **settings: Any) -> list[Document]:
    splitter = RecursiveCharacterTextSplitter(**{"chunk_size": 200, "chunk_overlap": 80, **settings})
    return splitter.split_documents([Document(text, metadata={"source": name}) for name, text in sources.items()])


MakeStore = Callable[[WordEmbeddings], VectorStore]


def filled(chunks: Sequence[Document], make: MakeStore = InMemoryVectorStore) -> VectorStore:
    store = make(WordEmbeddings())
    store.add_documents(list(chunks))
    return store


def shuffled(chunks: Sequence[Document]) -> list[Document]:
    mixed = list(chunks)
    random.Random(3).shuffle(mixed)
    return mixed


def texts_in(retriever: SentenceWindowRetriever) -> dict[str, str]:
    return {str(each.id): each.page_content for each in retriever.get(list(SOURCES))}


class Moving:
    survey_chunks, asurvey_chunks = staticmethod(survey_chunks), staticmethod(asurvey_chunks)
    copy_index, acopy_index = staticmethod(copy_index), staticmethod(acopy_index)

    @staticmethod
    def read(store: VectorStore, **settings: Any) -> list[Document]:
        return list(read_chunks(store, **settings))

    @staticmethod
    async def aread(store: VectorStore, **settings: Any) -> list[Document]:
        return [each async for each in aread_chunks(store, **settings)]


@pytest.mark.parametrize("make", [InMemoryVectorStore, FaissStore])
async def test_chunks_with_positions_become_the_documents_that_they_were_cut_from(make: MakeStore, way: Invoke) -> None:
    store = filled(shuffled(chunks_of(add_start_index=True)), make)
    survey: ChunkSurvey = await way(Moving, "survey_chunks", store)
    assert (survey.documents, survey.chunks) == (3, len(chunks_of()))
    assert survey.characters == sum(map(len, SOURCES.values()))
    assert survey.repeated > 0
    assert not survey.remarks
    retriever = SentenceWindowRetriever.from_documents(await way(Moving, "read", store), WordEmbeddings())
    assert texts_in(retriever) == SOURCES
    whole = SentenceWindowRetriever.from_documents(
        [Document(text, metadata={"source": name}) for name, text in SOURCES.items()], WordEmbeddings()
    )
    (found,), (expected,) = (each.invoke("card 11 of the ferry", k=1, window=1) for each in (retriever, whole))
    assert (found.page_content, found.metadata["heading"]) == (expected.page_content, expected.metadata["heading"])


async def test_a_stream_of_chunks_is_indexed_as_it_is_read() -> None:
    store = filled(chunks_of(add_start_index=True))
    retriever = await SentenceWindowRetriever.afrom_documents(aread_chunks(store), WordEmbeddings())
    assert texts_in(retriever) == SOURCES


async def test_chunks_without_positions_are_joined_where_they_overlap_and_the_others_are_told(way: Invoke) -> None:
    chunks = chunks_of()
    store = filled(chunks)
    survey: ChunkSurvey = await way(Moving, "survey_chunks", store)
    assert set(survey.unplaced) == set(SOURCES)
    told = rf"no overlap places: {sum(survey.unplaced.values())}, of 'hotel.md', 'ferry.md', 'library.md'\."
    with pytest.warns(SentenceWindowWarning, match=told):
        read = await way(Moving, "read", store)
    assert [each.page_content for each in read] == [each.page_content for each in chunks]
    retriever = SentenceWindowRetriever.from_documents(read, WordEmbeddings())
    assert {name: text.split() for name, text in texts_in(retriever).items()} == {
        name: text.split() for name, text in SOURCES.items()
    }


class Unordered(InMemoryVectorStore):
    """Lists its documents in no order."""


class UnorderedAdapter(InMemoryAdapter):
    lists_in_order = False


register(Unordered, UnorderedAdapter)


def test_where_a_store_keeps_no_order_overlaps_say_it() -> None:
    text = " ".join(f"Clause {n} lets guest {n} return card {n}." for n in range(60))
    chunks = chunks_of({"a.md": text}, chunk_size=120, chunk_overlap=60)
    store = filled(shuffled(chunks), Unordered)
    assert not survey_chunks(store).remarks
    assert [each.page_content for each in read_chunks(store)] == [each.page_content for each in chunks]
    retriever = SentenceWindowRetriever.from_documents(read_chunks(store), WordEmbeddings())
    assert retriever.get(["a.md"])[0].page_content == text


async def test_where_a_store_keeps_no_order_and_nothing_says_it_chunks_are_refused(way: Invoke) -> None:
    plain = [each.model_copy(update={"id": None}) for each in chunks_of({"a.md": SOURCES["hotel.md"]}, chunk_overlap=0)]
    store = filled(shuffled(plain), Unordered)
    survey: ChunkSurvey = await way(Moving, "survey_chunks", store)
    assert (survey.is_ordered, list(survey.unplaced)) == (False, ["a.md"])
    assert "The store keeps no order, so they can't be joined. If a key of their metadata numbers" in str(survey)
    refused = "Unordered keeps no order, .* chunks of 'a.md' follow, .*give it as join_parts, else index the files"
    with pytest.raises(InvalidInputError, match=refused):
        await way(Moving, "read", store)
    with pytest.raises(InvalidInputError, match=refused):
        await way(Moving, "copy_index", store, FaissStore(WordEmbeddings()))
    for number, each in enumerate(plain):
        each.metadata["n"] = number
    numbered = filled(shuffled(plain), Unordered)
    read = await way(Moving, "read", numbered, join_parts="n")
    assert [each.page_content for each in read] == [each.page_content for each in plain]
    single = filled(plain[:1], Unordered)
    assert len(await way(Moving, "read", single)) == 1


@given(st.integers(40, 300), st.integers(0, 200), st.booleans(), st.randoms(use_true_random=False))
def test_no_word_is_lost_however_chunks_were_cut(size: int, overlap: int, is_placed: bool, by: random.Random) -> None:
    chunks = chunks_of(chunk_size=size, chunk_overlap=min(overlap, size - 1), add_start_index=is_placed)
    if is_placed:
        by.shuffle(chunks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SentenceWindowWarning)
        read = list(read_chunks(filled(chunks)))
        sentences = SentenceSplitter().split_documents(read)
    assert len(read) == len(chunks)
    for name, text in SOURCES.items():
        found = " ".join(each.page_content for each in sentences if each.metadata["doc_id"] == name).split()
        left = iter(found)
        assert all(word in left for word in text.split()), "each word comes after the one before"
        if is_placed:
            assert found == text.split()


def test_a_key_of_the_users_own_numbers_chunks_and_another_names_their_document() -> None:
    chunks = [
        Document(each.page_content, metadata={"url": each.metadata["source"], "source": "crawler", "chunk": n})
        for n, each in enumerate(chunks_of())
    ]
    store = filled(shuffled(chunks), Unordered)
    keys: dict[str, Any] = {"source_key": "url", "join_parts": "chunk"}
    assert not survey_chunks(store, **keys).remarks
    read = list(read_chunks(store, **keys))
    assert [each.metadata["chunk"] for each in read] == list(range(len(chunks)))
    assert read[0].metadata["source_source"] == "crawler"
    splitter = SentenceSplitter(join_parts="chunk")
    retriever = SentenceWindowRetriever.from_documents(read, WordEmbeddings(), splitter=splitter)
    assert {name: text.split() for name, text in texts_in(retriever).items()} == {
        name: text.split() for name, text in SOURCES.items()
    }


def test_a_doc_id_alone_names_the_document_too() -> None:
    chunks = [Document(each.page_content, metadata={"doc_id": each.metadata["source"]}) for each in chunks_of()]
    with pytest.warns(SentenceWindowWarning, match="no number and no overlap"):
        retriever = SentenceWindowRetriever.from_documents(read_chunks(filled(chunks)), WordEmbeddings())
    assert set(texts_in(retriever)) == set(SOURCES)


def test_pages_stay_known_and_positions_count_in_them() -> None:
    pages = [
        Document(f"Page {n} says one. It is long enough to be cut in two. Seat {n} is free.", metadata={"page": n})
        for n in range(3)
    ]
    for page in pages:
        page.metadata["source"] = "a.pdf"
    splitter = RecursiveCharacterTextSplitter(chunk_size=50, chunk_overlap=20, add_start_index=True)
    store = filled(shuffled(splitter.split_documents(pages)))
    assert not survey_chunks(store).remarks
    retriever = SentenceWindowRetriever.from_documents(read_chunks(store), WordEmbeddings())
    (window,) = retriever.invoke("seat 1", k=1, fetch_k=1, window=0, filter={"page": 1})
    assert (window.page_content, window.metadata["page"]) == ("Seat 1 is free.", 1)
    assert pages[1].page_content[window.metadata["parts"][0]["start_index"] :] == "Seat 1 is free."


def test_what_cant_be_told_is_told() -> None:
    chunks = chunks_of({"a.md": SOURCES["hotel.md"]}, add_start_index=True, chunk_overlap=0)
    del chunks[3]
    chunks[0].metadata["author"] = "one"
    store = filled([*chunks, Document("A card without a source."), Document("Another one.")])
    survey = survey_chunks(store)
    assert (survey.documents, survey.chunks, survey.unnamed) == (3, len(chunks) + 2, 2)
    assert survey.differing == {"author": 1}
    lines = str(survey).splitlines()
    assert lines[:2] == [f"chunks: {len(chunks) + 2}", "documents: 3"]
    assert "documents in which 'author' differs: 1" in lines
    assert any(line.startswith("chunks without a source, each a document of its own: 2.") for line in lines)
    assert any("of 'a.md': " in line and "characters are missing before start_index" in line for line in lines)
    with pytest.warns(SentenceWindowWarning, match="chunks without a source, each a document of its own: 2"):
        read = list(read_chunks(store))
    with pytest.warns(SentenceWindowWarning, match="characters are missing"):
        retriever = SentenceWindowRetriever.from_documents(read, WordEmbeddings())
    assert len(retriever) == 3
    (window,) = retriever.invoke("hotel", k=1, filter={"author": "one"})
    assert window.metadata["author"] == "one"


def test_chunks_that_were_added_twice_are_there_once_if_numbered_and_told() -> None:
    numbered = chunks_of(add_start_index=True)
    store = filled([*numbered, *(each.model_copy(update={"id": None}) for each in numbered)])
    told = {name: (f"{sum(each.metadata['source'] == name for each in numbered)} came twice",) for name in SOURCES}
    assert survey_chunks(store).odd == told
    with pytest.warns(SentenceWindowWarning, match="came twice"):
        assert texts_in(SentenceWindowRetriever.from_documents(read_chunks(store), WordEmbeddings())) == SOURCES
    plain = chunks_of({"a.md": SOURCES["hotel.md"]})
    store = filled([*plain, plain[0].model_copy(update={"id": None})])
    with pytest.warns(SentenceWindowWarning, match="of 'a.md': 1 have the text of another, as if they were added tw"):
        assert len(list(read_chunks(store))) == len(plain) + 1
    assert survey_chunks(store).odd == {"a.md": ("1 have the text of another, as if they were added twice",)}


def test_positions_that_count_from_headings_dont_sort_chunks() -> None:
    splitter = MarkdownHeaderTextSplitter([("#", "Header 1"), ("##", "Header 2")], strip_headers=False)
    parts = splitter.split_text(SOURCES["hotel.md"])
    for part in parts:
        part.metadata["source"] = "a.md"
    cut = RecursiveCharacterTextSplitter(chunk_size=120, chunk_overlap=40, add_start_index=True).split_documents(parts)
    with pytest.warns(SentenceWindowWarning, match="no overlap places: 3, of 'a.md'"):  # a section that begins
        read = list(read_chunks(filled(cut)))
    assert [each.page_content for each in read] == [each.page_content for each in cut]


def test_an_end_index_is_no_window_where_it_only_ends_the_chunk() -> None:
    chunks = chunks_of(add_start_index=True)
    for chunk in chunks:
        chunk.metadata["end_index"] = chunk.metadata["start_index"] + len(chunk.page_content)
    store = filled(shuffled(chunks))
    assert not survey_chunks(store).remarks
    assert texts_in(SentenceWindowRetriever.from_documents(read_chunks(store), WordEmbeddings())) == SOURCES


def test_nothing_is_read_of_a_store_of_sentences_or_that_lists_nothing() -> None:
    store = InMemoryVectorStore(WordEmbeddings())
    assert list(read_chunks(store)) == []
    assert str(survey_chunks(store)).startswith("chunks: 0\ndocuments: 0")
    SentenceWindowRetriever(vectorstore=store).add_documents([Document("A card.", metadata={"source": "a"})])
    with pytest.raises(InvalidInputError, match="holds sentences of this package, not chunks"):
        survey_chunks(store)
    with pytest.raises(InvalidInputError, match="store is 'chroma'"):
        read_chunks("chroma")  # type: ignore[arg-type]
    for name in ("source_key", "join_parts"):
        with pytest.raises(InvalidInputError, match=f"{name} is ''; give a metadata key"):
            read_chunks(store, **{name: ""})


def test_a_chunk_that_goes_away_meanwhile_is_no_gap() -> None:
    class Losing(InMemoryVectorStore):
        pass

    class LosingAdapter(InMemoryAdapter):
        async def select(self, io: IO, ids: Sequence[str] | None, filter: Any) -> list[Document] | None:
            if ids is not None:
                self.store.delete([ids[0]])
            return await super().select(io, ids, filter)

    register(Losing, LosingAdapter)
    with pytest.raises(StoreChangedError, match="was deleted while the store was read; read it again"):
        list(read_chunks(filled(chunks_of(), Losing)))


def test_no_more_than_some_documents_are_read_at_a_time() -> None:
    fetched: list[int] = []

    class Counting(InMemoryVectorStore):
        pass

    class CountingAdapter(InMemoryAdapter):
        async def select(self, io: IO, ids: Sequence[str] | None, filter: Any) -> list[Document] | None:
            fetched.extend([] if ids is None else [len(ids)])
            return await super().select(io, ids, filter)

    register(Counting, CountingAdapter)
    store = filled([Document(f"Card {n}.", metadata={"source": f"{n // 2}"}) for n in range(3_000)], Counting)
    chunks = read_chunks(store)
    assert [next(chunks).page_content for _ in range(500)] == [f"Card {n}." for n in range(500)]
    assert fetched == [500]
    with pytest.warns(SentenceWindowWarning, match="no number and no overlap"):
        assert len(list(chunks)) == 2_500
    assert fetched == [500] * 6


SENTENCES = ["Ask for a refund. ", "It takes a week.", "The card was refused.", "An annual seat costs more."]


def sentences(**metadata: Any) -> list[Document]:
    return [
        Document(text, metadata={"source": source, "n": n, **metadata})
        for source in ("a.md", "b.md")
        for n, text in enumerate(SENTENCES)
    ]


async def test_sentences_keep_their_vectors_and_get_neighbors(way: Invoke) -> None:
    words = WordEmbeddings()
    source = InMemoryVectorStore(words)
    source.add_documents(shuffled(sentences()))
    for each in source.store.values():  # vectors that nobody would embed again: of the same direction, twice as long
        each["vector"] = [2 * number for number in each["vector"]]
    before = len(words.embedded)
    target = FaissStore(words)
    assert await way(Moving, "copy_index", source, target, join_parts="n") == len(target) == 8
    assert len(words.embedded) - before <= 5, "no more than the sample"
    for documents, vectors in target.export():
        expected = np.array([words.vector(each.page_content) for each in documents])
        assert vectors == pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True), abs=1e-3)
    retriever = SentenceWindowRetriever(vectorstore=target, window=1)
    assert [each.page_content for each in retriever.get(["a.md"])] == [" ".join(map(str.strip, SENTENCES))]
    (window,) = retriever.invoke("card", k=1, fetch_k=1)
    assert window.page_content == " ".join(SENTENCES[1:])
    retriever.add_documents([Document("A new seat.", id="new")])  # the guard finds its embedder in the vectors


def test_sentences_with_positions_have_the_white_space_between_them() -> None:
    text = "A card.A seat. Two pages.\n\nOne page."
    placed = [
        Document(part, metadata={"source": "a.md", "start_index": text.index(part)})
        for part in ("A card.", "A seat.", "Two pages.", "One page.")
    ]
    source, target = filled(shuffled(placed), Unordered), FaissStore(WordEmbeddings())
    assert copy_index(source, target) == 4
    assert SentenceWindowRetriever(vectorstore=target).get(["a.md"])[0].page_content == text


def test_sentences_that_nothing_numbers_stay_in_their_order_and_are_told() -> None:
    target = FaissStore(WordEmbeddings())
    with pytest.warns(SentenceWindowWarning, match="no overlap places: 6, of 'a.md', 'b.md'"):
        assert copy_index(filled([*sentences(), Document("  ", metadata={"source": "c.md"})]), target) == 8
    found = SentenceWindowRetriever(vectorstore=target).get(["b.md", "c.md"])
    assert [each.page_content for each in found] == [" ".join(map(str.strip, SENTENCES))]


def test_sentences_of_this_package_come_home_with_plain_vectors_alone() -> None:
    words = WordEmbeddings()
    document = Document("# Cards\n\nA card. It is refused.\n\n# Seats\n\nA seat. It is free.", id="a")
    plain, mixed = InMemoryVectorStore(words), InMemoryVectorStore(NeighborMixedEmbeddings(words))
    for store in (plain, mixed):
        SentenceWindowRetriever(vectorstore=store).add_documents([document])
    target = FaissStore(words)
    assert copy_index(plain, target) == 6
    home, away = (SentenceWindowRetriever(vectorstore=each) for each in (target, plain))
    assert [each.model_dump() for each in home.get(["a"])] == [each.model_dump() for each in away.get(["a"])]
    with pytest.raises(InvalidInputError, match="with the headings and neighbors of sentences.*Nothing was copied"):
        copy_index(mixed, FaissStore(words))


class OtherWords(WordEmbeddings):
    def vector(self, text: str) -> list[float]:
        return super().vector(text)[::-1]


async def test_vectors_of_another_embedder_are_refused(way: Invoke) -> None:
    target = FaissStore(OtherWords())
    with pytest.raises(IndexMismatchError, match="from another embedder, and the target embeds with .*Nothing was cop"):
        await way(Moving, "copy_index", filled(sentences()), target, join_parts="n")
    assert len(target) == 0


def test_a_store_that_gives_no_vectors_is_told_so() -> None:
    class Silent(InMemoryVectorStore):
        pass

    class SilentAdapter(InMemoryAdapter):
        vectors_of = InMemoryAdapter.__mro__[1].vectors_of  # type: ignore[attr-defined]

    register(Silent, SilentAdapter)
    with pytest.raises(InvalidInputError, match="Silent doesn't give the vectors that it holds; read its texts with"):
        copy_index(filled(sentences(), Silent), FaissStore(WordEmbeddings()), join_parts="n")
    with pytest.raises(InvalidInputError, match="leave out source_key and join_parts"):
        copy_index(FaissStore(WordEmbeddings()), FaissStore(WordEmbeddings()), join_parts="n")


async def test_texts_are_documents_named_by_ids_metadata_or_a_hash(way: Invoke, tmp_path: Any) -> None:
    texts, words = ["A card. It is refused.", "A seat."], WordEmbeddings()
    named = await way(
        SentenceWindowRetriever, "from_texts", texts, words, [{"n": 1}, {"n": 2}], ids=["x", "y"], path=tmp_path, k=1
    )
    assert [each.doc_id for each in named.documents()] == ["x", "y"]
    (window,) = named.invoke("seat")
    assert (window.page_content, window.metadata["n"], named.k) == ("A seat.", 2, 1)
    named.close()
    assert len(SentenceWindowRetriever.open(tmp_path, words)) == 2
    hashed = await way(SentenceWindowRetriever, "from_texts", iter(texts), words)
    assert sorted(len(each.doc_id) for each in hashed.documents()) == [32, 32]
    sourced = await way(SentenceWindowRetriever, "from_texts", texts, words, [{"source": "a"}, {"source": "b"}])
    assert [each.doc_id for each in sourced.documents()] == ["a", "b"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"texts": "A card."}, "texts is 'A card.'; give a list of strings"),
        ({"texts": [1]}, r"texts\[0\] is 1; give strings"),
        ({"metadatas": [{}, {}]}, "got 2 metadatas for 1 texts; give one for each"),
        ({"ids": ["a", "b"]}, "got 2 ids for 1 texts; give one for each"),
        ({"ids": "a"}, "documents are named by a list of ids"),
        ({"texts": [" "]}, "there is nothing to index"),
    ],
)
def test_wrong_texts_are_refused_and_nothing_is_made(arguments: dict[str, Any], told: str, tmp_path: Any) -> None:
    path = tmp_path / "index"
    given: dict[str, Any] = {"texts": ["A card."], "embedding": WordEmbeddings(), "path": path, **arguments}
    with pytest.raises(InvalidInputError, match=told):
        SentenceWindowRetriever.from_texts(**given)
    assert not path.exists()
