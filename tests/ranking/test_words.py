"""Words of texts: by hand, and the scripts without spaces between words by the names of their characters."""

import re
import sys
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.ranking.word_matches import find_words, query_terms
from langchain_sentence_window.ranking.words import in_other_number, indexed, separated, word_runs

NAMES = re.compile(
    r"(?:CJK|HENTAIGANA|IDEOGRAPHIC (?!ANNOTATION|TALLY)\w+|HANGZHOU|VERTICAL (?:IDEOGRAPHIC|KANA)|MASU"
    r"|COMBINING KATAKANA|(?:HALFWIDTH )?(?:HIRAGANA|KATAKANA|HANGUL)|THAI|LAO|MYANMAR|KHMER)\b"
)


def is_of_word(character: str) -> bool:
    is_mark = unicodedata.category(character) in {"Mn", "Mc"}
    return character.isalnum() or (is_mark and not unicodedata.name(character).startswith("VARIATION SELECTOR-"))


def is_unspaced(character: str) -> bool:
    named = NAMES.match(unicodedata.name(character, "")) is not None
    return named and is_of_word(character) and unicodedata.category(character) != "Nd"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("The fee, 2.5 %", ["The", "fee", "2", "5"]),
        ("退款政策", ["退款", "款政", "政策"]),
        ("税。", ["税"]),
        ("第1条", ["第", "1", "条"]),
        ("在Tribune合同中", ["在", "Tribune", "合同", "同中"]),
        ("料金はいくらですか？", ["料金", "金は", "はい", "いく", "くら", "らで", "です", "すか"]),
        ("テスト・データ", ["テス", "スト", "デー", "ータ"]),
        ("환불을 받다", ["환불", "불을", "받다"]),
        ("𠀀𠀁𠀂", ["𠀀𠀁", "𠀁𠀂"]),
        ("คืนเงิน 7 วัน", ["คื", "ืน", "นเ", "เง", "งิ", "ิน", "7", "วั", "ัน"]),
        ("๑๒ บาท", ["๑๒", "บา", "าท"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("cafe\u0301 ❤\ufe0f", ["cafe\u0301"]),
        ("a\ud800b_c", ["a", "b", "c"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert separated(text).split() == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The fees", ["the", "fees"]),
        ("Crème Brûlée, cafe\u0301s, łódź, ΑΘΉΝΑ", ["creme", "brulee", "cafes", "lodz", "αθηνα"]),
        ("Straße Ærø œuvre", ["strasse", "aero", "oeuvre"]),
        ("йод и ёлка", ["йод", "и", "ёлка"]),
        ("re-entry of non‑profits", ["re", "entry", "reentry", "of", "non", "profits", "nonprofits"]),
        ("1-2, a--b, state-of-the-art", ["1", "2", "a", "b", "state", "of", "the", "art"]),
    ],
)
def test_words_of_an_index(text: str, words: list[str]) -> None:
    """Small letters without accents, and both ways to write a compound."""
    assert indexed(text).split() == words


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("fee", "fees"),
        ("policy", "policies"),
        ("day", "days"),
        ("bus", "buss"),
        ("gas", "gass"),  # a word of three letters has no ending
        ("fees", "fee"),
        ("this", "thiss"),
        ("y", "ys"),
    ],
)
def test_a_word_in_the_other_number(word: str, other: str) -> None:
    assert in_other_number(word) == other
    if len(word) > 2 and not word.endswith("s"):
        assert in_other_number(other) == word


@given(st.text(st.sampled_from("aeishxyé ъΆ退.-")))
def test_a_text_holds_the_words_that_an_index_finds_it_by(text: str) -> None:
    terms = query_terms(text)
    assert set(terms.words) <= set(indexed(text).split())
    assert find_words(terms, [text]).words.all()


@pytest.mark.slow
def test_every_character_of_words_is_known() -> None:
    for character in map(chr, range(sys.maxunicode + 1)):
        runs = list(word_runs(character))
        assert bool(runs) == is_of_word(character)
        if runs:
            assert runs[0].is_unspaced == is_unspaced(character)


@given(st.text(st.sampled_from("ab1é 退款の환.·_คื๑\ud800")))
def test_runs_hold_the_words_and_stand_where_they_say(text: str) -> None:
    words = list[str]()
    for run in word_runs(text):
        assert text[run.start : run.end] == run.text
        words += map("".join, pairwise(run.text)) if run.is_unspaced and len(run.text) > 1 else [run.text]
    assert words == separated(text).split()
