"""Plain text, and where its characters stand in the text that it was made of."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from langchain_sentence_window.answering.quotes.inline_markup import markup
from langchain_sentence_window.answering.quotes.normalized_text import PLAIN, broken_words, compounds_of, plain_text
from tests.properties import examples

ODD = "aA1 \n\t.-—“”'\"’\u00ad\u200b\u202e\0ﬁ²½…ß\u0301é\u1100\u1161ﾎﾞ*`Σςİ㎡％，\ud800\U0001d54f"
TEXTS = st.text(st.sampled_from(ODD) | st.characters(), max_size=60)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The “ﬁnal”  fee", 'the "final" fee'),
        ("a\r\n b\u2028c\u3000d", "a b c d"),
        ("m² x₂ ½ ㎡ 5₀", "m² x₂ ½ m² 5₀"),
        ("cooper-\nation", "cooperation"),
        ("5-\n6 and a -\nb", "5- 6 and a-b"),
        ("pre- and post—war", "pre-and post-war"),
        ("5 -6 and a - 5", "5 -6 and a - 5"),
        ("… ... . . . ", "… … … "),
        ("5' 6\" o'clock", '5′ 6″ o"clock'),
        ("**a** 2**3 2 ** 3", "a 2**3 2 ** 3"),
        ("№ 5 ℃ Ⅳ", "no 5 °c iv"),
        ("ﷺ ① ™", "ﷺ ① ™"),
        ("一〜二", "一-二"),
        ("図書館は、\n毎日 \r\n開く。\n「はい」\n\n次", '図書館は、毎日開く。"はい" 次'),
        ("ห้องสมุด\nเปิด", "ห้องสมุดเปิด"),
        ("도서관은\n매일 a\n字 字\na", "도서관은 매일 a 字 字 a"),
        ("二〇二四年\n5月 10 日 a 5", "二〇二四年5月10日 a 5"),
        ("« a » et »b« c »d« «e»", '"a" et "b" c "d" "e"'),
        ("œuvre Æther Straße STRASSE", "oeuvre aether strasse strasse"),
        ("a >= 5, b ≧5, c +/- 5, d ± 5, e != 5", "a ≥5, b ≥5, c ±5, d ±5, e ≠5"),
        ("*a* &amp; [b](c)\n> d", "a & b d"),
        ("1--㎡ and one --㎡", "1-m² and one-m²"),
    ],
)
def test_plain(text: str, plain: str) -> None:
    assert plain_text(text).text == plain


def test_a_hyphen_at_a_line_end_stays_if_the_word_has_one() -> None:
    text = "a well-\nknown cooper-\nation"
    assert plain_text(text, compounds_of("well-known fact")).text == "a well-known cooperation"
    assert plain_text(text).text == "a wellknown cooperation"
    assert plain_text("well-\nﬁt", compounds_of("well-fit")).text == "well-fit"
    assert broken_words("well-\nﬁt") == {"well-fit"}


@pytest.mark.parametrize("piece", ["a-\n", "a", "ab ", "-", "a\u00ad\n", "ß-\n"])
def test_words_with_hyphens_are_found_in_one_pass(piece: str) -> None:
    # 200,000 pieces: with anything worse than linear work this doesn't end.
    text = plain_text(piece * 200_000).text
    assert compounds_of(f"{text} a-b- {text}") == compounds_of(f"a-b- {text[:2]}")


@given(TEXTS)
@examples(300)
def test_each_plain_character_stands_for_a_stretch_of_the_text_in_order(text: str) -> None:
    plain = plain_text(text)
    spans = [plain.span(at, at + 1) for at in range(len(plain.text))]
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)
    assert all(low[1] <= high[0] or low == high for low, high in pairwise(spans))


@given(TEXTS)
@examples(300)
def test_what_is_plain_stays(text: str) -> None:
    plain = plain_text(text).text
    # Markup may be left where markup was, as in **\\*a**.
    assume(not markup(plain))
    assert plain_text(plain).text.replace("″", '"').replace("′", '"') == plain.replace("″", '"').replace("′", '"')


@given(TEXTS)
def test_composed_and_decomposed_text_is_alike(text: str) -> None:
    assert plain_text(unicodedata.normalize("NFD", text)).text == plain_text(unicodedata.normalize("NFC", text)).text


@pytest.mark.slow
def test_a_small_letter_is_as_plain_as_its_capital() -> None:
    for code in range(0x110000):
        lower = chr(code).lower()
        assert len(lower) > 1 or PLAIN[ord(lower)] == PLAIN[code]


@pytest.mark.parametrize("text", ["ΟΔΟΣ ΟΔΟΣ.", "İI", "ÄÖ “x”\t\x00\u2028y", "ＡＢ", "ß ẞ ﬁ"])
def test_few_odd_characters_are_plain_in_the_same_way(text: str) -> None:
    many = "".join(chr(0x4E00 + number) for number in range(100))
    assert plain_text(f"{text} {many}").text == f"{plain_text(text).text} {many}"


@pytest.mark.slow
def test_digits_stay_and_become_no_others() -> None:
    for code in range(0x110000):
        character = chr(code)
        if character.isnumeric():
            plain = plain_text(character).text
            assert [unicodedata.numeric(each, None) for each in plain if each.isnumeric()] in (
                [unicodedata.numeric(character)],
                [],
            )
            assert plain or not character.isdigit()
        elif not 0xD800 <= code <= 0xDFFF:
            assert not any(each.isdigit() for each in PLAIN[code])
