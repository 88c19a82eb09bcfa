"""The verdict on a quotation: what may differ from the source, what may not, and which source it is in."""

from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import verify_quote, verify_quotes
from langchain_sentence_window.errors import InvalidInputError
from tests.answering.golden import rows
from tests.answering.quotes.sources import verdict, window

FEE = "The fee of 1,500 euros is due on Monday. It isn't refundable."


@pytest.mark.parametrize(("expected", "quote", "source"), rows("verdicts"))
def test_a_quotation_has_the_verdict(expected: str, quote: str, source: str) -> None:
    found = verify_quote(quote, [window("Another text.", "b"), window(source, start=7)])
    assert found.verdict == expected
    for place in found.places:
        assert place.start is not None
        assert place.text == source[place.start - 7 : (place.end or 0) - 7]


def test_a_gap_over_a_negation_is_stitched() -> None:
    source = "The fee is not refundable after the first day. It isn't high, but a credit may be asked for."
    assert verdict("The fee is … refundable after the first day", source) == "stitched"
    assert verdict("The fee is [fully] refundable after the first day", source) == "stitched"
    assert verdict("The fee is not refundable … but a credit may be asked for", source) == "verbatim"


def test_pieces_of_several_sources_are_stitched_and_each_is_named() -> None:
    windows = [window("The buyer pays the fee."), window("The seller keeps the goods.", "b", 40)]
    (found,) = verify_quotes('"The buyer pays the fee. The seller keeps the goods." [1][2]', windows)
    assert (found.verdict, found.cited) == ("stitched", (1, 2))
    assert [(each.number, each.doc_id, each.start, each.end) for each in found.places] == [
        (1, "a", 0, 22),
        (2, "b", 40, 66),
    ]


def test_the_cited_sources_count_and_one_is_enough() -> None:
    assert verdict("fee of 1,500 euros", FEE, "Another text.") == "verbatim"
    assert verdict("fee of 1,500 euros", FEE, "Another text.", cited=" [1]") == "verbatim"
    assert verdict("fee of 1,500 euros", FEE, "Another text.", cited=" [2]") == "misattributed"
    assert verdict("fee of 1,500 euros", "Another text.", FEE, cited=" [1, 2]") == "verbatim"
    assert verdict("fee of 1,500 euros", "Another text.", FEE, "Third.", cited=" [1-2]") == "verbatim"
    assert verdict("fee of 1,500 euros", "Another text.", "Third.", FEE, cited=" [1-2]") == "misattributed"


def test_a_number_of_no_source_is_misattributed_and_a_year_is_no_number() -> None:
    windows = [window(FEE)]
    (invented,) = verify_quotes('"The fee of 1,500 euros" [7]', windows)
    assert (invented.verdict, invented.cited, invented.places[0].number) == ("misattributed", (), 1)
    (year,) = verify_quotes('"The fee of 1,500 euros" [2019]', windows)
    assert year.verdict == "verbatim"
    (many,) = verify_quotes('"The fee of 1,500 euros" [1-999999999]', windows)
    assert many.cited == ()


def test_the_cited_source_comes_before_an_exact_one_elsewhere_and_that_before_a_similar_one() -> None:
    windows = [window("The fee is due."), window("So the fee is due.", "b")]
    (cited,) = verify_quotes('"the fee is due" [1]', windows)
    assert (cited.verdict, cited.places[0].number) == ("normalized", 1)
    (uncited,) = verify_quotes('"the fee is due"', windows)
    assert (uncited.verdict, uncited.places[0].number) == ("verbatim", 2)


def test_a_claim_is_compared_as_a_whole_sentence() -> None:
    windows = [window(FEE), window("Another.", "b")]
    answer = "The fee of 1,500 euros is due on Monday [1]. It isn’t refundable. [1] You pay it on Mondays [1]. Uncited."
    found = verify_quotes(answer, windows)
    assert [(each.kind, each.verdict) for each in found] == [
        ("claim", "verbatim"),
        ("claim", "normalized"),
        ("claim", "paraphrase"),
    ]
    assert found[0].text == "The fee of 1,500 euros is due on Monday."
    assert answer[found[1].start : found[1].end] == found[1].text == "It isn’t refundable."
    (elsewhere,) = verify_quotes("It isn't refundable [2].", windows)
    assert elsewhere.verdict == "misattributed"


@pytest.mark.parametrize(
    ("claim", "source", "expected"),
    [
        ("- das gilt [1]", "Wie gesagt: das gilt nicht.", "paraphrase"),
        ("- fees are given back [1]", "No fees are given back.", "paraphrase"),
        ("- fees are given back [1]", "All fees are given back. None is kept.", "verbatim"),
        ("- Fees are given back [1]", "There is no\nother heading\n- Fees are given back", "verbatim"),
        ("- Fees are given back [1]", "Of course fees are given back.", "normalized"),
    ],
)
def test_a_claim_is_a_paraphrase_where_the_source_negates_it(claim: str, source: str, expected: str) -> None:
    (found,) = verify_quotes(claim, [window(source)])
    assert (found.kind, found.verdict) == ("claim", expected)


@pytest.mark.parametrize(
    ("claim", "closest", "similarity"),
    [
        ("On Monday the fee of 1,600 euros is due [1].", "The fee of 1,500 euros is due on Monday.", 0.9),
        ("One can't refund it [1].", "It isn't refundable.", 0.44),
        ("Bananas grow elsewhere [1].", None, None),
        ("Bananas grow elsewhere [9].", None, None),
        ("Fees aren't refundable [2][1].", "It isn't refundable.", 0.5),
    ],
)
def test_a_claim_in_other_words_is_a_paraphrase_with_its_closest_sentence(
    claim: str, closest: str | None, similarity: float | None
) -> None:
    (found,) = verify_quotes(claim, [window(FEE, start=7), window("Another text.", "b")])
    assert (found.verdict, found.places) == ("paraphrase", ())
    assert (found.closest and found.closest.text, found.similarity) == (closest, similarity)
    if found.closest:
        assert (found.closest.number, found.closest.doc_id, found.closest.start) == (
            1,
            "a",
            7 + FEE.index(closest or ""),
        )


def test_the_closest_sentence_of_a_script_without_spaces() -> None:
    (found,) = verify_quotes("费用应在星期一支付[1]。", [window("本店不收现金。费用在星期一到期。退款很快。")])
    assert (found.verdict, found.closest and found.closest.text, found.similarity) == (
        "paraphrase",
        "费用在星期一到期。",
        0.53,
    )


def test_a_quotation_that_was_copied_as_it_was_shown_is_verbatim() -> None:
    source = "[2] is a number, and </source> a tag."
    assert verdict("\\[2] is a number, and &lt;/source> a tag.", source) == "verbatim"


def test_a_number_in_a_quotation_may_be_of_the_source() -> None:
    windows = [window("The fee is due [3] on Monday [4]."), window("b", "b"), window("c", "c")]
    (found,) = verify_quotes('It says "The fee is due [3] on Monday" [1].', windows)
    assert (found.verdict, found.cited, found.text) == ("verbatim", (1,), "The fee is due [3] on Monday")
    (found,) = verify_quotes('It says "is due [3] on Monday [2]".', windows)
    assert (found.verdict, found.cited) == ("misattributed", (2,))
    (found,) = verify_quotes('It says "The fee is due [3] on Monday [1]."', windows)
    assert (found.verdict, found.cited, found.text) == ("normalized", (1,), "The fee is due [3] on Monday.")
    (found,) = verify_quotes('It says "is due [3] on".', windows)
    assert (found.verdict, found.cited, found.text) == ("verbatim", (), "is due [3] on")
    (found,) = verify_quotes('It says "on Monday [1]".', windows)
    assert (found.verdict, found.cited, found.text) == ("verbatim", (1,), "on Monday")


def test_a_quotation_over_a_lead_in_and_a_window() -> None:
    lead_in = {"kind": "list", "text": "The seller must:", "start_index": 10, "end_index": 26}
    windows = [window("- deliver the goods on time", start=40, lead_ins=[lead_in])]
    (found,) = verify_quotes('"The seller must:" [1]', windows)
    assert (found.verdict, found.places[0].start, found.places[0].end) == ("verbatim", 10, 26)
    (found,) = verify_quotes('"The seller must: deliver the goods on time" [1]', windows)
    assert (found.verdict, [each.start for each in found.places]) == ("stitched", [10, 42])


def test_nothing_to_find() -> None:
    assert verify_quotes("", [window(FEE)]) == []
    assert verify_quotes("No marks, no numbers.", [window(FEE)]) == []
    assert verify_quotes('"..." and “?!” and «»', [window(FEE)]) == []
    (found,) = verify_quotes('"The fee" [1]', [])
    assert (found.verdict, found.places, found.cited) == ("not_found", (), ())
    (found,) = verify_quotes('"The fee" [1]', [Document("")])
    assert found.verdict == "not_found"


def test_one_quote() -> None:
    found = verify_quote(" “The fee of 1,500 euros” ", [window(FEE)], [1])
    assert (found.verdict, found.text, found.start, found.end) == ("verbatim", "The fee of 1,500 euros", 2, 24)
    assert verify_quote("fee of 1,500", [window("b"), window(FEE)], cited=[1]).verdict == "misattributed"
    assert verify_quote('said "no" to', [window('He said "no" to it')]).text == 'said "no" to'
    assert verify_quote('"no" and "yes"', [window('"no" and "yes"')]).verdict == "verbatim"


@pytest.mark.parametrize("bad", [None, 5, ["x"]])
def test_bad_input_says_what_to_give(bad: Any) -> None:
    with pytest.raises(InvalidInputError, match="the answer is"):
        verify_quotes(bad, [])
    with pytest.raises(InvalidInputError, match="the quote is"):
        verify_quote(bad, [])
    with pytest.raises(InvalidInputError, match="documents"):
        verify_quotes("x", bad if bad != ["x"] else [bad])
    for number in (bad, 0, 2, True, 1.0):
        with pytest.raises(InvalidInputError, match="cited is .* from 1 to 1"):
            verify_quote("x", [window(FEE)], [number])  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match="give the text of a quotation"):
        verify_quote(" … ", [window(FEE)])


@pytest.mark.parametrize(
    ("quote", "source", "expected"),
    [
        ("the modern government", "So the modem govemment resigned.", "normalized"),
        ("all bills of lading", "aI| bi11s of 1ading", "normalized"),
        ("the office is closed", "the 0ffice is c1o5ed", "normalized"),
        ("due on 10 May", "due on 1O May", "not_found"),
        ("due on 10 May", "due on 16 May", "not_found"),
        ("a fee of 105 euros", "a fee of los euros", "not_found"),
        ("it is new", "it is now", "not_found"),
    ],
)
def test_letters_that_scans_confuse_are_equal_only_with_scanned(quote: str, source: str, expected: str) -> None:
    assert verify_quote(quote, [window(source)], scanned=True).verdict == expected
    assert verify_quote(quote, [window(source)]).verdict == "not_found"
    (found,) = verify_quotes(f"It says “{quote}” [1].", [window(source)], scanned=True)
    assert found.verdict == expected
    if found.places:
        place = found.places[0]
        assert source[place.start : place.end] == place.text
    with pytest.raises(InvalidInputError, match="scanned"):
        verify_quote(quote, [], scanned="yes")  # type: ignore[arg-type]
