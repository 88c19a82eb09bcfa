"""`verify_quote`: quotations checked against an index."""

import pytest
from langchain_core.documents import Document

from app.tests.mcp.conftest import TEXT, Call, called, text_of
from langchain_sentence_window import SentenceWindowRetriever
from sentence_window.mcp import create_mcp_server
from tests.toys import WordEmbeddings, document

LONG = " ".join(f"This is clause {number} of many." for number in range(300))


@pytest.mark.parametrize(
    ("quote", "verdict", "texts"),
    [
        ("A refund is quick.", "verbatim", ["A refund is quick."]),
        ("refund is", "verbatim", ["refund is"]),
        ("“A refund is quick.”", "verbatim", ["A refund is quick."]),
        ("We pay. A refund is quick. It takes days.", "verbatim", ["We pay. A refund is quick. It takes days."]),
        ("a  refund\nis quick", "normalized", ["A refund is quick"]),
        ("A refund is slow.", "not_found", []),
        ("A card has no limit.", "not_found", []),
        ("We pay. A card has a limit.", "stitched", ["We pay.", "A card has a limit."]),
    ],
)
@pytest.mark.parametrize("doc_id", [None, '"terms"'])
async def test_the_verdict_comes_with_its_places(
    call: Call, quote: str, verdict: str, texts: list[str], doc_id: str | None
) -> None:
    found = (await call("verify_quote", quote=quote, **({"doc_id": doc_id} if doc_id else {}))).structured_content
    assert found["verdict"] == verdict
    assert found["quote"] == quote
    assert [place["text"].rstrip(".") for place in found["places"]] == [text.rstrip(".") for text in texts]
    for place in found["places"]:
        assert TEXT[place["start"] : place["end"]] == place["text"]
        assert place["doc_id"] == "terms"
        first, last = place["lines"]
        assert place["text"] in "\n".join(TEXT.splitlines()[first - 1 : last])
        assert place["location"].startswith(f"terms.md, line {first}")
        assert place["score"] is None
        first, last = place["sentences"]
        assert place["id"] == f"terms#{first}-{last}"
        assert place["text"] in (await call("fetch", id=place["id"])).structured_content["text"]


async def test_sentences_are_those_that_the_quote_touches(call: Call) -> None:
    (place,) = (await call("verify_quote", quote="is quick. It takes")).structured_content["places"]
    assert place["sentences"] == [2, 3]


async def test_a_quote_of_another_document_is_misattributed(call: Call) -> None:
    found = (await call("verify_quote", quote="A seat is free.", doc_id="terms")).structured_content
    assert found["verdict"] == "misattributed"
    assert [(place["doc_id"], place["text"]) for place in found["places"]] == [("other", "A seat is free.")]
    assert "Cite these instead" in found["explanation"]


async def test_a_named_document_is_read_to_its_end(words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever.from_documents([document(LONG, "long"), document("A card.", "b")], words)
    server = create_mcp_server(retriever)
    for first, last in ((0, 0), (150, 150), (299, 299), (99, 100)):
        quote = " ".join(f"This is clause {number} of many." for number in range(first, last + 1))
        found = (await called(server, "verify_quote", {"quote": quote, "doc_id": "long"})).structured_content
        (place,) = found["places"]
        assert (found["verdict"], place["sentences"]) == ("verbatim", [first, last])
        assert LONG[place["start"] : place["end"]] == quote
    altered = {"quote": "This is clause 300 of many.", "doc_id": "long"}
    found = (await called(server, "verify_quote", altered)).structured_content
    assert found["verdict"] == "not_found"
    assert found["explanation"].startswith("The quote is neither in that document nor")


async def test_sentences_of_a_long_quote_are_searched_one_by_one(words: WordEmbeddings) -> None:
    filler = " ".join(f"Nothing of {letter * 5} here." for letter in "abcdefghijklmnopqrstuvwxyz")
    text = f"{filler} A refund is quick. A seat is free. A card has a limit. A trial ends. {filler}"
    retriever = SentenceWindowRetriever.from_documents(
        [document(text, "a"), document(filler, "b")], words, k=1, window=0
    )
    quote = "A refund is quick. A seat is free. A card has a limit. A trial ends."
    found = (await called(create_mcp_server(retriever), "verify_quote", {"quote": quote})).structured_content
    assert found["verdict"] == "verbatim"
    (place,) = found["places"]
    assert text[place["start"] : place["end"]] == quote
    assert place["sentences"] == [26, 29]


async def test_the_settings_of_the_retriever_do_not_hide_a_quote(words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever.from_documents(
        [document(TEXT, "terms")], words, k=1, window=0, max_tokens=5, min_score=0.99, min_relevance="auto"
    )
    found = await called(create_mcp_server(retriever), "verify_quote", {"quote": "Not in May."})
    assert found.structured_content["verdict"] == "verbatim"


async def test_pages_of_a_place_are_its_own(words: WordEmbeddings) -> None:
    pages = [
        Document(page_content=text, metadata={"source": "a.pdf", "page": number, "page_label": label})
        for number, (text, label) in enumerate([("A card. It ends.", "ii"), ("A refund. A seat.", "iii")])
    ]
    server = create_mcp_server(SentenceWindowRetriever.from_documents(pages, words))
    for arguments in ({}, {"doc_id": "a.pdf"}):
        found = (await called(server, "verify_quote", {"quote": "A seat.", **arguments})).structured_content
        (place,) = found["places"]
        assert (place["pages"], place["page_labels"], place["location"]) == ([1], ["iii"], "a.pdf, p. iii")
        assert place["sentences"] == [3, 3]


async def test_it_can_be_shown_as_sources(retriever: SentenceWindowRetriever) -> None:
    server = create_mcp_server(retriever, text="sources")
    verbatim = text_of(await called(server, "verify_quote", {"quote": "A refund is quick."}))
    assert verbatim.startswith("verbatim: The quote is there word for word.\n\n<source>\n[1] terms.md, line 1 · doc_id")
    missing = text_of(await called(server, "verify_quote", {"quote": "A refund is slow."}))
    assert missing.startswith("not_found: The quote is in none of the passages")
