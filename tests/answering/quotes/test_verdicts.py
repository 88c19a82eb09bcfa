"""The verdict on a quotation: what may differ from the source, what may not, and which source it is in."""

from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window.answering.quotes.verification import verify_quote, verify_quotes
from langchain_sentence_window.errors import InvalidInputError
from tests.answering.quotes.sources import verdict, window

FEE = "The fee of 1,500 euros is due on Monday. It isn't refundable."


@pytest.mark.parametrize(
    ("quote", "source"),
    [
        ("The fee of 1,500 euros is due on Monday.", FEE),
        ("is due on Monday. It isn't refundable", FEE),
        ("1,500 euros", FEE),
        ("Kosten von 3 % im Jahr", "Es fallen Kosten von 3 % im Jahr an."),
        ("a « b » c", "Il dit a « b » c."),
        ("费用到期", "他说费用到期。"),
        ("料金は月曜日", "料金は月曜日に払う。"),
        ("수수료", "수수료는 월요일에 내야 한다."),
        ("Плата не возвращается", "Плата не возвращается."),
        ("London", "Paris–London is open—it costs 5 pounds."),
        ("it costs 5 pounds", "Paris–London is open—it costs 5 pounds."),
        ("the text [...] goes on", "Here the text [...] goes on."),
        ("nach dem Jahr 2019", "„nach dem Jahr 2019“ steht da"),
        ("a\ud800b", "x a\ud800b y"),
    ],
)
def test_what_stands_there_is_verbatim(quote: str, source: str) -> None:
    assert verdict(quote, source) == "verbatim"


@pytest.mark.parametrize(
    ("quote", "source"),
    [
        ("The  fee\nof 1,500\u00a0euros", FEE),
        ("the fee OF 1,500 Euros", FEE),
        ("It isn’t refundable", FEE),
        ("is due on Monday,", FEE),
        ("The fee of 1,500 euros.", FEE),
        ("The fee\u200b of\u202e 1,500 eu\u00adros", FEE),
        ("state‑of‑the‑art", "a state-of-the-art device"),
        ("open - it costs", "is open—it costs 5 pounds"),
        ("from 5–10 days", "takes from 5-10 days"),
        ("cooperation is well-known", "co-\noperation is well-\nknown there"),
        ("wellknown cooperation", "a well-\nknown cooper-\n  ation"),
        ("co-operation", "the cooperation and the co-\noperation"),
        ("the un-\nlawful act", "the unlawful act"),
        ("the final office", "the ﬁnal oﬃce"),
        ("ABC 12%", "the ＡＢＣ　１２％ rate"),
        ("cafe\u0301 au lait", "un café au lait"),
        ('he said "no" twice', "he said ‘no’ twice"),
        ("it goes on... and on", "it goes on… and on"),
        ("the ΟΔΟΣ here", "the οδος here"),
        ("İstanbul", "in istanbul now"),
        ("at −5 degrees", "at -5 degrees"),
        ("use the fee field now", "use the `fee` field **now**"),
        ("Die „Gebühr“ ist fällig", "Die »Gebühr« ist fällig"),
        ("「费用」到期", "“费用”到期了"),
        ("ロボット", "ﾛﾎﾞｯﾄです"),
        ("a NUL here", "a N\0UL here"),
        ("the mid-\nand late stages", "the mid- and late stages"),
        ("a well-\nknown fact", "a well-known fact"),
        ("costs 400\tm of rope", "costs 400 m of rope"),
        ("He said so \u2014", "He said so\u2014and went"),
    ],
)
def test_what_differs_in_form_alone_is_normalized(quote: str, source: str) -> None:
    assert verdict(quote, source) == "normalized"


@pytest.mark.parametrize(
    ("quote", "source"),
    [
        # digits, signs, points, units
        ("The fee of 1,600 euros", FEE),
        ("500 euros is due", FEE),
        ("The fee of 1", FEE),
        ("The fee of 1.", FEE),
        ("The fee of 1.500 euros", FEE),
        ("the rate is 15 percent", "the rate is 1.5 percent"),
        ("the rate is 1", "the rate is 1.5 percent"),
        ("5 percent", "the rate is 1.5 percent"),
        ("5 percent", "the rate is .5 percent"),
        ("at 5 degrees", "at −5 degrees"),
        ("at −5 degrees", "at 5 degrees"),
        ("5 degrees", "at −5 degrees"),
        ("5 degrees", "at ±5 degrees"),
        ("10 days", "5–10 days"),
        ("takes 5", "takes 5-10 days"),
        ("costs 5", "costs 5 %"),
        ("costs 5 %", "costs 5 people"),
        ("costs 5", "costs 5€ now"),
        ("5 million", "costs $5 million"),
        ("€5 million", "costs $5 million"),
        ("500 euros", "costs 1 500 euros"),
        ("costs 1", "costs 1 500 euros"),
        ("at 30 sharp", "at 12:30 sharp"),
        ("2 of it", "1/2 of it"),
        ("m2 of land", "m² of land"),
        ("5 m of land", "5 m² of land"),
        ("12 of it", "1½ of it"),
        ("H2O", "H₂O"),
        ("x is 3", "x is 3′ long"),
        ("a 5' pipe", 'a 5" pipe'),
        ("5 MW of power", "5 mW of power"),
        ("5 MB of data", "5 Mb of data"),
        ("五日", "十五日"),
        ("a 1-2 vote", "a 1 2 vote"),
        ("p < 5", "p > 5"),
        # words and negations
        ("lawful acts", "unlawful acts"),
        ("refundable fees", "non-refundable fees"),
        ("refundable fees", "non-\nrefundable fees"),
        ("lawful acts", "un\u00adlawful acts"),
        ("lawful acts", "un-\nlawful acts"),
        ("It is", "It isn't"),
        ("You can", "You can't go"),
        ("You can", "You can’t go"),
        ("You can", "You cannot go"),
        ("est payé", "Il n'est payé"),
        ("is n't due", "is due"),
        ("It isn't refundable", "It is refundable"),
        ("It is not refundable", "It is refundable"),
        ("the fee is not due on the first Monday", "Yes, the fee is due on the first Monday. It is not the end."),
        ("the fee is payable on the first Monday", "Yes, the fee is due on the first Monday. It is payable on time."),
        ("resign the form", "re-sign the form"),
        ("re-sign the form", "resign the form"),
        ("die Masse", "die Maße"),
        ("Das gilt.", "Das gilt nicht."),
        ("Das gilt für Kinder.", "Das gilt für Kinder leider nicht."),
        ("It lasted until.", "It lasted until 1919."),
        ("Refunds are given.", "No refunds are given."),
        ("Open the valve", "Do not open the valve"),
        ("The fee is due.", "The fee is due?"),
        ("Is the fee due?", "Is the fee due."),
        ("a equals b", "a ≠ b"),
        ("a = b", "a =\u0338 b"),
        ("e", "e\u0301"),
        ("cafe au lait", "café au lait"),
        ("The moon is made of green cheese.", FEE),
        ("合格であった", "合格でなかった"),
    ],
)
def test_what_differs_in_meaning_is_not_found(quote: str, source: str) -> None:
    assert verdict(quote, source) == "not_found"


LONG = (
    "The buyer pays the fee on Monday. The seller keeps the goods. All of it is lost on Friday. "
    "Notices are sent by mail. Or see [the red page] for the fee of the seller [on the red page]."
)


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        ("The buyer pays the fee on Monday. The seller keeps the goods.", "verbatim"),
        ("The buyer pays the fee on Monday. All of it is lost on Friday.", "stitched"),
        ("Notices are sent by mail. The buyer pays the fee on Monday.", "stitched"),
        ("The buyer the fee on Friday.", "not_found"),  # the pieces are too small
        ("The buyer pays the goods. All of it is lost", "stitched"),
        ("The buyer never pays the fee on Monday. The seller keeps the goods.", "not_found"),
        ("The buyer pays the fee on Tuesday. The seller keeps the goods.", "not_found"),
        ("The buyer pays the … goods. All of it", "verbatim"),
        ("the buyer PAYS the [...] goods", "normalized"),
        ("All of it is lost … the fee on Monday", "stitched"),
        ("[T]he fee on Monday", "normalized"),
        ("[T]he seller keeps the goods", "verbatim"),
        ("the buyer pays the fee [later]. The seller keeps the goods", "normalized"),
        ("[The merchant] keeps the goods", "verbatim"),
        ("The buyer pays the fee [not] on Monday", "stitched"),
        ("The buyer pays the fee [5 days] on Monday", "stitched"),
        ("The buyer … moon … goods", "not_found"),
        ("see [the blue page] for the fee of the seller", "not_found"),
        ("see [the red page] for the fee of the seller", "verbatim"),
        ("for the fee of the seller [on the red moon]", "not_found"),
        ("[on a pink page] All of it is lost on Friday", "verbatim"),
        ("…the fee on Monday…", "verbatim"),
    ],
)
def test_pieces(quote: str, expected: str) -> None:
    assert verdict(quote, LONG) == expected


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


def test_pieces_with_an_ellipsis_in_several_sources_are_stitched() -> None:
    windows = [window("The buyer pays the fee."), window("The seller keeps the goods.", "b")]
    (found,) = verify_quotes('"The buyer pays … keeps the goods" [1]', windows)
    assert (found.verdict, [each.number for each in found.places]) == ("stitched", [1, 2])


def test_stitched_sentences_without_spaces() -> None:
    source = "买方在星期一支付费用。卖方保留货物。所有通知均以邮件发送。"
    assert verdict("买方在星期一支付费用。所有通知均以邮件发送。", source) == "stitched"
    assert verdict("买方在星期二支付费用。", source) == "not_found"


@pytest.mark.parametrize(("cited", "expected"), [("", "verbatim"), (" [1]", "verbatim"), (" [2]", "misattributed")])
def test_the_source_that_is_cited_counts(cited: str, expected: str) -> None:
    assert verdict("fee of 1,500 euros", FEE, "Another text.", cited=cited) == expected


def test_one_of_several_cited_sources_is_enough() -> None:
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


def test_the_cited_source_comes_before_an_exact_one_elsewhere() -> None:
    (found,) = verify_quotes('"the fee is due" [2]', [window("So the fee is due."), window("The fee is due.", "b")])
    assert (found.verdict, found.places[0].number) == ("normalized", 2)


def test_an_exact_source_comes_before_a_similar_one() -> None:
    (found,) = verify_quotes('"the fee is due"', [window("The fee is due."), window("So the fee is due.", "b")])
    assert (found.verdict, found.places[0].number) == ("verbatim", 2)


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


@pytest.mark.parametrize("bad", [None, 5, b"x", ["x"], object()])
def test_bad_input_says_what_to_give(bad: Any) -> None:
    with pytest.raises(InvalidInputError, match="the answer is"):
        verify_quotes(bad, [])
    with pytest.raises(InvalidInputError, match="the quote is"):
        verify_quote(bad, [])
    with pytest.raises(InvalidInputError, match="documents"):
        verify_quotes("x", bad if bad != ["x"] else [bad])
    with pytest.raises(InvalidInputError, match="cited is"):
        verify_quote("x", [window(FEE)], [bad])


@pytest.mark.parametrize("number", [0, -1, 2, True, 1.0])
def test_a_number_of_no_source_is_refused(number: Any) -> None:
    with pytest.raises(InvalidInputError, match="from 1 to 1"):
        verify_quote("fee", [window(FEE)], [number])


def test_a_quote_without_a_word_is_refused() -> None:
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
def test_letters_that_scans_confuse_are_alike_only_if_asked_for(quote: str, source: str, expected: str) -> None:
    assert verify_quote(quote, [window(source)], scanned=True).verdict == expected
    assert verify_quote(quote, [window(source)]).verdict == "not_found"
    (found,) = verify_quotes(f"It says “{quote}” [1].", [window(source)], scanned=True)
    assert found.verdict == expected
    if found.places:
        place = found.places[0]
        assert source[place.start : place.end] == place.text
    with pytest.raises(InvalidInputError, match="scanned"):
        verify_quote(quote, [], scanned="yes")  # type: ignore[arg-type]
