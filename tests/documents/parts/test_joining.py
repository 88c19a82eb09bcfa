"""Parts of a source become one document, which holds each part verbatim."""

import json
import warnings
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_sentence_window import SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.documents.part_blocks import write_layout
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.splitting import Block
from tests.toys import WordEmbeddings

TEXT = (
    "The fee is due on Monday. It is payable by the party that signs first, in dollars. No refund is made.\n\n"
    "# Term\n\nThis Agreement ends after two years. Either party may end it before, by notice. It takes a month."
)


PLAIN = '["", [0, 3, "prose", 0, null, null]]'
HEADED = '["+", [0, 2, "prose", 0, null, null], [3, 5, "heading", 1, null, null]]'


def part(text: str, **metadata: Any) -> Document:
    return Document(page_content=text, metadata={"source": "a.pdf", **metadata})


def joined(documents: list[Document]) -> Document:
    """The joined document as a retriever returns it, from its first sentence to its last."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SentenceWindowWarning)  # parts may be missing, or come in another order
        retriever = SentenceWindowRetriever.from_documents(documents, WordEmbeddings())
    [document] = retriever.get(["a.pdf"]) or [Document("", metadata={"start_index": 0})]
    return document


def check_places(documents: list[Document], document: Document) -> None:
    """Each stretch of a part is in the part character for character, and only white space is between stretches."""
    text, start, at = document.page_content, document.metadata["start_index"], 0
    for each in document.metadata.get("parts", []):
        low, high = (edge - start for edge in each["span"])
        texts = {part.page_content[each["start_index"] :][: high - low] for part in documents}
        assert text[low:high] in texts
        assert not text[at:low].strip()
        at = high
    assert at == len(text) or "parts" not in document.metadata


def cut(documents: list[Document], **settings: Any) -> list[str]:
    return [each.page_content for each in SentenceSplitter(**settings).split_documents(documents)]


def described(documents: list[Document]) -> list[tuple[str, str, str]]:
    """The text, the heading and the kind of each sentence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SentenceWindowWarning)
        made = SentenceSplitter().split_documents(documents)
    return [(m.page_content, m.metadata.get("heading", ""), m.metadata.get("kind", "prose")) for m in made]


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(0, len(TEXT)), max_size=12), st.data())
def test_chunks_with_offsets_give_the_text_that_they_were_cut_from(cuts: list[int], data: st.DataObject) -> None:
    edges = sorted({0, *cuts, len(TEXT)})
    chunks = [
        part(TEXT[max(0, start - overlap) : end], start_index=max(0, start - overlap))
        for start, end in pairwise(edges)
        for overlap in [data.draw(st.integers(0, 30))]
    ]
    document = joined(data.draw(st.permutations(chunks)))
    assert document.page_content == TEXT
    for each in document.metadata.get("parts", []):
        assert TEXT[slice(each["start_index"], each["end_index"])] == TEXT[slice(*each["span"])]
    assert described(chunks) == described([part(TEXT)])


@settings(deadline=None, max_examples=20)
@given(st.sets(st.sampled_from([at for at, each in enumerate(TEXT) if each == " "]), max_size=8))
def test_pages_cut_at_spaces_have_the_sentences_of_the_whole_text(cuts: set[int]) -> None:
    edges = [0, *sorted(cuts), len(TEXT)]
    pages = [part(TEXT[start:end], page=n) for n, (start, end) in enumerate(pairwise(edges))]
    document = joined(pages)
    check_places(pages, document)
    assert "".join(document.page_content.split()) == "".join(TEXT.split())
    if not any(TEXT[at - 1] == "#" for at in cuts):
        assert [each.split() for each in cut(pages)] == [each.split() for each in cut([part(TEXT)])]


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.text(st.sampled_from("ab. \n#-|1A"), max_size=40),
            st.fixed_dictionaries(
                {},
                optional={
                    "page": st.integers(0, 3),
                    "start_index": st.integers(-1, 60),
                    "row": st.integers(0, 2),
                    "category": st.sampled_from(["Title", "NarrativeText", "ListItem", "Footer", "Text", "own"]),
                    "element_id": st.sampled_from("abc"),
                    "layout": st.sampled_from(["", PLAIN, HEADED, "nonsense"]),
                },
            ),
        ),
        min_size=1,
        max_size=7,
    )
)
def test_each_piece_is_verbatim_for_any_metadata_of_loaders(given_parts: list[tuple[str, dict[str, Any]]]) -> None:
    documents = [part(text, **metadata) for text, metadata in given_parts]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SentenceWindowWarning)
        made = SentenceSplitter().split_documents(documents)
    written = [(each.page_content, json.loads(each.metadata.get("part_spans", "[]"))) for each in made]
    for text, spans in written:
        stretches = [text[low:high] for _, low, high, *_ in spans]
        assert "".join("".join(stretches).split()) in ("", "".join(text.split()))
        assert all(any(each in document.page_content for document in documents) for each in stretches)


def test_a_sentence_runs_across_pages_and_names_both() -> None:
    pages = [
        part("The fee is payable by the", page=0, page_label="i"),
        part("party. It is due.", page=1, page_label="ii"),
    ]
    first, second = SentenceSplitter().split_documents(pages)
    assert first.page_content == "The fee is payable by the party."
    assert (first.metadata["page"], second.metadata["page"]) == (0, 1)
    assert joined(pages).metadata["parts"] == [
        {"page": 0, "page_label": "i", "start_index": 0, "end_index": 25, "span": [0, 25]},
        {"page": 1, "page_label": "ii", "start_index": 0, "end_index": 17, "span": [26, 43]},
    ]


def test_pages_are_put_in_order_and_come_once() -> None:
    pages = [part("Two ends here.", page=1), part("One ends here.", page=0), part("Two ends here.", page=1)]
    with pytest.warns(SentenceWindowWarning, match="'a.pdf': 1 came twice; 'a.pdf': they came in another order"):
        assert cut(pages) == ["One ends here.", "Two ends here."]


def test_a_missing_page_is_reported_and_no_sentence_runs_across_it() -> None:
    with pytest.warns(SentenceWindowWarning, match="a page is missing before page 3"):
        assert cut([part("It is payable by the", page=1), part("party that signs.", page=3)]) == [
            "It is payable by the",
            "party that signs.",
        ]


def test_running_heads_are_left_out_and_offsets_hold() -> None:
    pages = [part(f"ACME AGREEMENT\nPart {name} says something.\n{n}", page=n - 1) for n, name in enumerate("abcd", 1)]
    assert cut(pages) == [f"Part {name} says something." for name in "abcd"]
    assert [each["start_index"] for each in joined(pages).metadata["parts"]] == [len("ACME AGREEMENT\n")] * 4


def test_elements_become_blocks_and_titles_headings() -> None:
    elements = [
        part("Terms", category="Title", element_id="1", page_number=1, category_depth=0),
        part("Acme, page 1", category="Header", element_id="2", page_number=1),
        part("Fees", category="Title", element_id="3", page_number=1, category_depth=1),
        part("The fee is payable by the", category="NarrativeText", element_id="4", page_number=1),
        part("1", category="PageNumber", element_id="5", page_number=1),
        part("party that signs. It is due.", category="NarrativeText", element_id="6", page_number=2),
        part("a card", category="ListItem", element_id="7", page_number=2),
    ]
    assert described(elements) == [
        ("Terms", "Terms", "heading"),
        ("Fees", "Terms > Fees", "heading"),
        ("The fee is payable by the party that signs.", "Terms > Fees", "prose"),
        ("It is due.", "Terms > Fees", "prose"),
        ("a card", "Terms > Fees", "list_item"),
    ]


@pytest.mark.parametrize("category", ["Footer", "Form", "Text"])
def test_a_users_own_category_changes_nothing(category: str) -> None:
    [heading, text] = SentenceSplitter().split_documents([part("# Fees\n\nA fee is due.", category=category)])
    assert (heading.metadata["kind"], text.page_content) == ("heading", "A fee is due.")


def test_each_row_is_a_section() -> None:
    rows = [part(f"Name: Seat {n}.\nPrice: {n}0.", row=n) for n in range(3)]
    made = SentenceSplitter().split_documents(rows)
    assert [(each.page_content, each.metadata["section_start"], each.metadata["row"]) for each in made] == [
        (text, 2 * n, n) for n in range(3) for text in (f"Name: Seat {n}.", f"Price: {n}0.")
    ]


def test_a_layout_gives_the_blocks_of_pages() -> None:
    pages = [
        part("Fees\n\nThe fee is pay", page=0, layout=write_layout([Block(0, 4, "heading", 2), Block(6, 20)])),
        part(
            "able by card.\n\nTerm\n\nTwo years.",
            page=1,
            layout=write_layout([Block(0, 13), Block(15, 19, "heading", 2), Block(21, 31)], "~"),
        ),
    ]
    assert [each[:2] for each in described(pages)] == [
        ("Fees", "Fees"),
        ("The fee is payable by card.", "Fees"),
        ("Term", "Term"),
        ("Two years.", "Term"),
    ]


def test_the_body_of_a_list_item_is_its_sentence() -> None:
    item = write_layout([Block(0, 8, "list_item", body=4)])
    pages = [part(f"(*) {text}", page=number, layout=item) for number, text in enumerate(["Card", "Seat"])]
    assert cut(pages) == ["Card", "Seat"]


def test_chunks_of_docling_share_their_headings() -> None:
    def chunk(text: str, page: int) -> Document:
        item = {"self_ref": "#/texts/1", "label": "text", "prov": [{"page_no": page, "bbox": {}}]}
        return part(text, dl_meta={"headings": ["Terms", "Fees"], "doc_items": [item]})

    chunks = [chunk("Terms\nFees\nThe fee is due.", 1), chunk("Terms\nFees\nIt is payable.", 1)]
    made = described(chunks)
    assert [each[:2] for each in made] == [
        ("Terms", "Terms"),
        ("Fees", "Terms > Fees"),
        ("The fee is due.", "Terms > Fees"),
        ("It is payable.", "Terms > Fees"),
    ]


def test_chunks_without_offsets_are_stitched_where_they_overlap() -> None:
    text = " ".join(f"Clause number {n} binds party {n * 7} to pay {n * 13} dollars." for n in range(40))
    splitter = RecursiveCharacterTextSplitter(chunk_size=200, chunk_overlap=80)
    chunks = splitter.split_documents([part(text)])
    assert len(chunks) > 10
    assert joined(chunks).page_content == text
    assert cut(chunks) == cut([part(text)])


def test_chunks_that_share_nothing_are_sections_of_their_own() -> None:
    chunks = [part("The fee is payable by the"), part("Kenyan law applies.")]
    made = SentenceSplitter().split_documents(chunks)
    assert [(each.page_content, each.metadata["section_start"]) for each in made] == [
        ("The fee is payable by the", 0),
        ("Kenyan law applies.", 1),
    ]


def test_joining_is_switched_off_and_forced_by_a_key() -> None:
    pages = [part("Payable by the", chapter=2), part("The fee is", chapter=1)]
    assert cut(pages, join_parts=False) == ["Payable by the", "The fee is"]
    assert len({each.metadata["doc_id"] for each in SentenceSplitter(join_parts=False).split_documents(pages)}) == 2
    with pytest.warns(SentenceWindowWarning, match="another order"):
        made = SentenceSplitter(join_parts="chapter").split_documents(pages)
    assert [each.page_content for each in made] == ["The fee is Payable by the"]


def test_parts_that_the_user_numbers_are_joined_where_they_overlap() -> None:
    chunks = [
        part("that signs first. No refund", chapter=3),
        part("It is payable by the party that signs", chapter=2),
        part("The fee is due on Monday. It is payable by the party", chapter=1),
        part("is made to another.", chapter=4),
    ]
    with pytest.warns(SentenceWindowWarning, match="another order"):
        made = cut(chunks, join_parts="chapter")
    assert made == [
        "The fee is due on Monday.",
        "It is payable by the party that signs that signs first.",  # ten characters are too few for an overlap
        "No refund is made to another.",
    ]


@pytest.mark.parametrize("key", ["source", "file_path", "filename"])
def test_loaders_name_the_source_by_several_keys(key: str) -> None:
    pages = [Document(page_content=f"Page {n}.", metadata={key: "b.pdf", "page": n}) for n in range(2)]
    assert {each.metadata["doc_id"] for each in SentenceSplitter().split_documents(pages)} == {"b.pdf"}


def test_two_documents_of_one_doc_id_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="two documents of this call have the doc_id 'a'"):
        cut([Document(page_content=text, metadata={"doc_id": "a"}) for text in ("One.", "Two.")])
    with pytest.raises(InvalidInputError, match="two documents of this call have the doc_id 'a'"):
        cut([Document(page_content=text, id="a", metadata={"source": "b"}) for text in ("One.", "Two.")])


def test_arguments_are_not_modified() -> None:
    pages = [part("The fee is payable by the", page=0, tags=["x"]), part("party.", page=1, tags=["x"])]
    copies = [each.model_copy(deep=True) for each in pages]
    with pytest.warns(SentenceWindowWarning, match="'tags'"):
        cut(pages)
    assert pages == copies


@pytest.mark.slow
def test_many_parts_take_time_linear_in_their_number() -> None:
    elements = [part("A fee.", category="ListItem", element_id=str(n), page_number=n // 50 + 1) for n in range(30_000)]
    assert len(SentenceSplitter().split_documents(elements)) == 30_000
