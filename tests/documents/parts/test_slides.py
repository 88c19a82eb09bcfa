"""Slides as parts of a document: each is a section, and windows name it."""

from langchain_core.documents import Document

from langchain_sentence_window import SentenceWindowRetriever, describe_location, format_context
from langchain_sentence_window.documents.part_blocks import write_layout
from langchain_sentence_window.splitting import Block
from tests.toys import WordEmbeddings


def slide(number: int, text: str, **metadata: object) -> Document:
    layout = write_layout([Block(0, len(text))])
    return Document(text, metadata={"source": "deck.pptx", "slide": number, "layout": layout, **metadata})


def indexed(documents: list[Document]) -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents(
        documents, WordEmbeddings(), k=1, fetch_k=1, window=2, lexical_weight=0
    )


def test_windows_stay_on_their_slide_and_name_it() -> None:
    slides = [slide(2, "A card is sent."), slide(4, "A seat is booked. It is yours."), slide(5, "A refund is paid.")]
    retriever = indexed(slides)
    [seat] = retriever.invoke("seat")
    assert seat.page_content == "A seat is booked. It is yours."
    assert describe_location(seat) == "deck.pptx, slide 4"
    assert "[1] deck.pptx, slide 4\n" in format_context([seat])
    assert seat.metadata["pages"] == [3]
    [refund] = retriever.invoke("refund", filter={"slide": 5})
    assert describe_location(refund) == "deck.pptx, slide 5"
    [document] = retriever.get(["deck.pptx"])
    assert document.page_content == "A card is sent.\n\nA seat is booked. It is yours.\n\nA refund is paid."


def test_slides_come_in_the_order_of_their_numbers_and_replace_their_deck() -> None:
    retriever = indexed([slide(1, "A card is sent.", total_pages=2), slide(2, "A seat is booked.", total_pages=2)])
    retriever.add_documents([slide(1, "A trial ends.", total_pages=1)])
    [document] = retriever.get(["deck.pptx"])
    assert document.page_content == "A trial ends."
