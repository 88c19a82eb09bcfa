"""The place of a quotation: its span, sentences and pages."""

import copy
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import find_citations, verify_quote, verify_quotes
from langchain_sentence_window.citations import QuotedPlace
from tests.answering.quotes.sources import window

TEXT = "One fee is due. Two cats begin and go on. Three dogs are here."
PARTS: dict[str, Any] = {
    "sentences": [4, 6],
    "parts": [
        {"page": 6, "page_label": "vii", "start_index": 50, "end_index": 80, "span": [100, 130]},
        {"page": 7, "page_label": "8", "start_index": 0, "end_index": 31, "span": [131, 162]},
    ],
    "pages": [6, 7],
    "page_labels": ["vii", "8"],
    "sentence_spans": [[100, 115], [116, 141], [142, 162]],
    "heading": "Terms",
}


def place_of(quote: str, *windows: Document) -> QuotedPlace:
    ((place,),) = (each.places for each in verify_quotes(f"“{quote}”", windows))
    return place


def test_the_span_counts_in_the_document() -> None:
    place = place_of("two  CATS begin", window("b", "b"), window(TEXT, start=100))
    assert (place.number, place.doc_id, place.start, place.end, place.text) == (2, "a", 116, 130, "Two cats begin")
    assert (place.pages, place.location) == ((), "a.md:116-130")


def test_a_document_without_a_start_has_places_without_a_range() -> None:
    place = place_of("Two cats", Document(TEXT))
    assert (place.doc_id, place.start, place.end, place.location) == (None, None, None, "source")
    assert (place.first_sentence, place.last_sentence) == (None, None)
    assert (place.own, place.window().page_content) == ((16, 24), "Two cats")
    (paged,) = [place_of("Two cats", Document(TEXT, metadata={"source": "a.pdf", "page": 3}))]
    assert (paged.start, paged.pages, paged.location) == (None, (3,), "a.pdf, p. 4")


@pytest.mark.parametrize(
    ("quote", "sentences", "pages", "location"),
    [
        ("One fee", (4, 4), (6,), "a.md, p. vii (Terms)"),
        ("begin and go on", (5, 5), (6, 7), "a.md, pp. vii–8 (Terms)"),
        ("fee is due. Two", (4, 5), (6,), "a.md, p. vii (Terms)"),
        ("go on. Three dogs are here.", (5, 6), (7,), "a.md, p. 8 (Terms)"),
        ("ONE fee is due. Two cats begin and go on. Three dogs are here", (4, 6), (6, 7), "a.md, pp. vii–8 (Terms)"),
    ],
)
def test_sentences_and_pages_are_those_of_the_place(
    quote: str, sentences: tuple[int, int], pages: tuple[int, ...], location: str
) -> None:
    given = window(TEXT, start=100, **copy.deepcopy(PARTS))
    before = given.model_copy(deep=True)
    place = place_of(quote, given)
    assert (place.first_sentence, place.last_sentence) == sentences
    assert (place.pages, place.location) == (pages, location)
    narrowed = place.window()
    assert narrowed.page_content == place.text
    assert narrowed.metadata["pages"] == list(pages)
    assert (narrowed.metadata["start_index"], narrowed.metadata["end_index"]) == (place.start, place.end)
    assert "sentences" not in narrowed.metadata
    assert given == before
    assert place.document is given


def test_sentences_are_known_only_if_the_window_has_their_spans() -> None:
    spans = PARTS["sentence_spans"]
    place = place_of("due. Two cats", window(TEXT, start=100, sentences=[4, 6], sentence_spans=spans))
    assert (place.first_sentence, place.last_sentence) == (4, 5)
    wrong: list[dict[str, Any]] = [
        {"sentences": [4, 6]},
        {"sentences": [4, 8], "sentence_spans": spans},
        {"sentence_spans": spans},
    ]
    for given in wrong:
        assert place_of("cats begin", window(TEXT, start=100, **given)).first_sentence is None


@pytest.mark.parametrize("wrong", [None, "x", [[1, 2, 3]], [5, 4]])
@pytest.mark.parametrize("key", ["sentences", "parts", "pages", "page_labels", "sentence_spans", "lead_ins", "hits"])
def test_odd_metadata_hides_no_quotation(key: str, wrong: Any) -> None:
    place = place_of("Two cats", window(TEXT, start=100, **{**PARTS, key: wrong}))
    assert (place.start, place.end, place.text) == (116, 124, "Two cats")
    assert place.first_sentence in (None, 5)
    assert place.window().page_content == "Two cats"


SHORT = "Two cats begin and go on."


def test_a_shortened_window_has_pages_but_no_range() -> None:
    whole = window(TEXT, start=100, **copy.deepcopy(PARTS))
    given = whole.model_copy(update={"page_content": SHORT})
    place = place_of("Two cats", given)
    assert (place.start, place.end, place.first_sentence) == (None, None, None)
    assert (place.pages, place.location) == ((6, 7), "a.md, pp. vii–8 (Terms)")
    narrowed = place.window().metadata
    assert "start_index" not in narrowed
    assert narrowed["parts"] == PARTS["parts"]
    (citation,) = find_citations("So it is [1].", [given])
    assert citation.location == "a.md, pp. vii–8 (Terms)"


def test_a_shortened_window_is_looked_up_in_a_source_that_holds_all_of_it() -> None:
    whole = window(f"Here. {TEXT} Two dogs.", start=94)
    given = window(TEXT, start=100).model_copy(update={"page_content": SHORT})
    found = place_of("TWO cats", given, whole)
    assert (found.number, found.start, found.end, found.location) == (1, 116, 124, "a.md:116-124")
    # a text that is there twice, one of another document, and one that has only a part of what the window was
    twice = window(f"{TEXT[:16]}{SHORT}  {SHORT}", start=100)
    (one,) = verify_quote("Two cats", [given, twice], [1]).places
    assert one.start is None
    for other in (window(TEXT, "b", 100), window(TEXT[:40], start=100)):
        (one,) = verify_quote("Two cats", [given, other], [1]).places
        assert one.start is None


def test_a_quotation_over_windows_that_touch_has_a_place_in_each() -> None:
    one, two = window(TEXT[:41], start=100), window(TEXT[42:], start=142)
    (found,) = verify_quotes('It says "begin and go on. Three dogs" [1].', [two, window("b", "b"), one])
    assert found.verdict == "normalized"
    assert [(each.number, each.start, each.text) for each in found.places] == [
        (3, 125, "begin and go on."),
        (1, 142, "Three dogs"),
    ]
    (wrong,) = verify_quotes('It says "Three dogs are here" [2].', [two, one])
    assert (wrong.verdict, [each.number for each in wrong.places]) == ("misattributed", [1])
    (other,) = verify_quotes('It says "begin and go on. Three dogs" [2].', [two, window("b", "b"), one])
    assert (other.verdict, [each.number for each in other.places]) == ("misattributed", [3, 1])
    overlapping = [window(TEXT[:41], start=100), window(TEXT[16:], start=116)]
    found = verify_quote("due. Two cats begin and go on. Three dogs", overlapping)
    assert (found.verdict, [each.text for each in found.places]) == (
        "verbatim",
        ["due. Two cats begin and go on.", " Three dogs"],
    )
    split = [window("Der Preis ist", separator="\n\n"), window("fällig … am Montag.", start=15)]
    assert verify_quote("Preis ist fällig", split).verdict == "normalized"


@pytest.mark.parametrize(
    "windows",
    [
        [window(TEXT[:41], start=100), window(TEXT[42:], start=145)],
        [window(TEXT[:41], start=100), window(TEXT[42:], "b", start=142)],
        [window(TEXT[:41], start=100), window("y! Three dogs are here.", start=139)],
        [window("买方在星期一支付费用。"), window("退货由卖方承担。", start=12)],
    ],
)
def test_windows_that_do_not_touch_make_no_quotation(windows: list[Document]) -> None:
    quote = "begin and go on. Three dogs are here" if "Two" in windows[0].page_content else "支付费用。退货由卖方承担"
    assert verify_quote(quote, windows).verdict in ("stitched", "not_found")
