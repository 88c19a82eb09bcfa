"""Test what is put before a sentence when it is embedded, and that it goes nowhere else."""

import asyncio
import threading
from pathlib import Path

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.errors import InvalidInputError
from tests.conftest import Invoke
from tests.patience import PATIENCE
from tests.toys import WordEmbeddings, document

TEXT = "# Refunds\n\nA seat. A card.\n\n## Annual\n\nA card.\n"


def about(source: Document, sentence: Document) -> str:
    is_card = "card" in sentence.page_content
    return f"{source.metadata['doc_id']} {sentence.metadata['sentence_index']}" if is_card else ""


async def test_headings_and_a_line_of_ones_own_are_embedded_and_go_nowhere_else(
    words: WordEmbeddings, way: Invoke
) -> None:
    given, store = document(TEXT), FaissStore(words, neighbor_weights=(1,))
    retriever = SentenceWindowRetriever(vectorstore=store, situate=about, lexical_weight=0, ranking=None)
    await way(retriever, "add_documents", [given])
    assert words.embedded == [
        "Refunds\n# Refunds",
        "Refunds\nA seat.",
        "Refunds\na 2\nA card.",
        "Refunds > Annual\n## Annual",
        "Refunds > Annual\na 4\nA card.",
    ]
    assert given == document(TEXT)
    found = await way(retriever, "invoke", "annual card", k=30, window=0)  # so many aren't joined
    assert {(*each.metadata["sentences"], each.page_content) for each in found} <= {
        (0, 0, "# Refunds"),
        (1, 1, "A seat."),
        (2, 2, "A card."),
        (3, 3, "## Annual"),
        (4, 4, "A card."),
    }
    assert found[0].metadata["sentences"] == [4, 4]  # under "Annual", though both say the same
    by_words = store.lexical_search("annual", k=9)  # headings lead by words to what stands under them
    assert {each.page_content for each, _ in by_words} == {"## Annual", "A card."}
    assert store.lexical_search("2", k=9) == []  # a line of one's own doesn't
    assert not any("a 2" in str(each) for each in store.similarity_search("card", k=9))


async def test_headings_can_be_left_out(words: WordEmbeddings, way: Invoke) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words), embed_headings=False)
    await way(retriever, "add_documents", [document(TEXT)])
    assert words.embedded == ["# Refunds", "A seat.", "A card.", "## Annual"]


TALK = "Anna B: Hello there. A card is lost.\nBob: Which one? It had a seat.\nAnna B: A card. A seat."


async def test_what_a_speaker_goes_on_to_say_is_embedded_with_the_name(words: WordEmbeddings, way: Invoke) -> None:
    store = FaissStore(words, neighbor_weights=(1,))
    retriever = SentenceWindowRetriever(vectorstore=store, lexical_weight=0, ranking=None)
    await way(retriever, "add_documents", [document(TALK)])
    assert words.embedded == [
        "Anna B: Hello there.",
        "Anna B: A card is lost.",
        "Bob: Which one?",
        "Bob: It had a seat.",
        "Anna B: A card.",
        "Anna B: A seat.",
    ]
    (found,) = await way(retriever, "invoke", "seat", k=1, window=0)
    assert found.page_content == "It had a seat."
    assert found.metadata["lead_ins"][0]["text"] == "Bob:"


async def test_a_long_name_is_cut_and_leaves_room_for_a_line(words: WordEmbeddings, way: Invoke) -> None:
    name = "亜" * 30  # each counts as three characters of ASCII
    text = f"# {'標' * 50}\n\n{name}: Hello. A card.\nBob: Yes. No.\n{name}: Well. Good."
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words), situate=lambda *_: "card " * 99)
    await way(retriever, "add_documents", [document(text)])
    (embedded,) = [each for each in words.embedded if each.endswith("A card.")]
    line, said = embedded.splitlines()[1:]
    assert line.startswith("card card")
    assert said.partition(":")[0] == f"{name[:18]}…"


async def test_only_what_is_under_a_changed_heading_is_embedded_again(
    words: WordEmbeddings, way: Invoke, tmp_path: Path
) -> None:
    SentenceWindowRetriever.from_documents([document(TEXT)], words, path=tmp_path)
    retriever = SentenceWindowRetriever.open(tmp_path, words)
    words.embedded.clear()
    await way(retriever, "add_documents", [document(TEXT)])
    assert words.embedded == []
    await way(retriever, "add_documents", [document(TEXT.replace("Annual", "Monthly"))])
    assert words.embedded == ["Refunds > Monthly\n## Monthly", "Refunds > Monthly\nA card."]


async def test_a_line_that_is_no_string_is_an_error_and_nothing_is_stored(words: WordEmbeddings, way: Invoke) -> None:
    def nothing(source: Document, sentence: Document) -> str:
        return None  # type: ignore[return-value]

    store = FaissStore(words)
    retriever = SentenceWindowRetriever(vectorstore=store, situate=nothing)
    with pytest.raises(InvalidInputError, match=r"situate returned None for '# Refunds'; it must return a string"):
        await way(retriever, "add_documents", [document(TEXT)])
    assert (len(store), words.embedded) == (0, [])


async def test_situating_does_not_block_the_loop(words: WordEmbeddings) -> None:
    ticks, asked = 0, threading.Event()

    def slow(source: Document, sentence: Document) -> str:
        assert asked.wait(PATIENCE)
        return ""

    async def tick() -> None:
        nonlocal ticks
        while ticks < 20:
            await asyncio.sleep(0)
            ticks += 1
        asked.set()

    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words), situate=slow)
    await asyncio.gather(retriever.aadd_documents([document(TEXT)]), tick())
    assert ticks == 20


def test_a_store_takes_a_context_for_each_sentence(words: WordEmbeddings) -> None:
    store = FaissStore(words)
    with pytest.raises(InvalidInputError, match="got 1 contexts for 2 documents"):
        store.replace_documents([document("A card.", "a"), document("A seat.", "b")], [], contexts=["refund "])
    assert len(store) == 0
