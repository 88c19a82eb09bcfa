"""The context that is embedded before a sentence, and appears nowhere else."""

import asyncio
import threading
from pathlib import Path

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.errors import InvalidInputError
from tests.forms import Invoke
from tests.patience import PATIENCE
from tests.toys import WordEmbeddings, document

TEXT = "# Refunds\n\nA seat. A card.\n\n## Annual\n\nA card.\n"


def about(source: Document, sentence: Document) -> str:
    is_card = "card" in sentence.page_content
    return f"{source.metadata['doc_id']} {sentence.metadata['sentence_index']}" if is_card else ""


async def test_headings_and_own_lines_are_embedded_and_appear_nowhere_else(words: WordEmbeddings, way: Invoke) -> None:
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
    assert found[0].metadata["sentences"] == [4, 4]  # the one under "Annual"
    by_words = store.lexical_search("annual", k=9)  # the words of a heading find the sentences under it
    assert {each.page_content for each, _ in by_words} == {"## Annual", "A card."}
    assert store.lexical_search("2", k=9) == []
    assert not any("a 2" in str(each) for each in store.similarity_search("card", k=9))


async def test_headings_can_be_left_out(words: WordEmbeddings, way: Invoke) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words), embed_headings=False)
    await way(retriever, "add_documents", [document(TEXT)])
    assert words.embedded == ["# Refunds", "A seat.", "A card.", "## Annual"]


TALK = "Anna B: Hello there. A card is lost.\nBob: Which one? It had a seat.\nAnna B: A card. A seat."


async def test_later_sentences_of_a_message_are_embedded_with_the_speaker(words: WordEmbeddings, way: Invoke) -> None:
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


async def test_a_long_name_is_shortened_to_leave_room_for_a_line(words: WordEmbeddings, way: Invoke) -> None:
    name = "亜" * 30  # each counts as three characters of ASCII
    text = f"# {'標' * 50}\n\n{name}: Hello. A card.\nBob: Yes. No.\n{name}: Well. Good."
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words), situate=lambda *_: "card " * 99)
    await way(retriever, "add_documents", [document(text)])
    (embedded,) = [each for each in words.embedded if each.endswith("A card.")]
    line, said = embedded.splitlines()[1:]
    assert line.startswith("card card")
    assert said.partition(":")[0] == f"{name[:18]}…"


async def test_only_sentences_under_a_changed_heading_are_embedded_again(
    words: WordEmbeddings, way: Invoke, tmp_path: Path
) -> None:
    SentenceWindowRetriever.from_documents([document(TEXT)], words, path=tmp_path)
    retriever = SentenceWindowRetriever.open(tmp_path, words)
    words.embedded.clear()
    await way(retriever, "add_documents", [document(TEXT)])
    assert words.embedded == []
    await way(retriever, "add_documents", [document(TEXT.replace("Annual", "Monthly"))])
    assert words.embedded == ["Refunds > Monthly\n## Monthly", "Refunds > Monthly\nA card."]


async def test_a_line_that_is_not_a_string_is_refused_and_nothing_is_stored(words: WordEmbeddings, way: Invoke) -> None:
    def nothing(source: Document, sentence: Document) -> str:
        return None  # type: ignore[return-value]

    store = FaissStore(words)
    retriever = SentenceWindowRetriever(vectorstore=store, situate=nothing)
    with pytest.raises(InvalidInputError, match=r"situate returned None for '# Refunds'; it must return a string"):
        await way(retriever, "add_documents", [document(TEXT)])
    assert (len(store), words.embedded) == (0, [])


async def test_situating_does_not_block_the_loop(words: WordEmbeddings) -> None:
    loop, ticked = asyncio.get_running_loop(), threading.Event()

    def situate(source: Document, sentence: Document) -> str:
        loop.call_soon_threadsafe(ticked.set)
        assert ticked.wait(PATIENCE)  # in the loop's own thread, it would never be set
        return ""

    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words), situate=situate)
    await retriever.aadd_documents([document(TEXT)])
