"""Words of texts: by hand, and the scripts without spaces between words by the names of their characters."""

import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.ranking.words import runs_of, separated, words_of

NAMES = re.compile(
    r"(?:CJK (?:UNIFIED|COMPATIBILITY) IDEOGRAPH|HIRAGANA|KATAKANA|HANGUL|HALFWIDTH KATAKANA|HALFWIDTH HANGUL"
    r"|IDEOGRAPHIC (?:ITERATION|CLOSING|NUMBER ZERO))\b"
)
UNICODE_14 = (14, 0, 0)


def is_unspaced(character: str) -> bool:
    is_letter = re.fullmatch(r"[^\W_]", character) is not None
    return is_letter and NAMES.match(unicodedata.name(character, "")) is not None


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
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert list(words_of(text)) == words


def test_every_letter_of_these_scripts_is_known() -> None:
    known = {character for character in map(chr, range(sys.maxunicode + 1)) if is_unspaced(character)}
    found = {
        character
        for character in map(chr, range(sys.maxunicode + 1))
        for run in runs_of(character)
        if run["unspaced"] is not None
    }
    version = tuple(map(int, unicodedata.unidata_version.split(".")))
    assert found <= known
    # Later versions of Unicode add rare ideographs, which are words of their own.
    assert found == known or version > UNICODE_14


@given(st.text(st.sampled_from("ab1é 退款の환.·_")))
def test_separated_texts_have_the_same_words_between_spaces(text: str) -> None:
    assert re.findall(r"[^\W_]+", separated(text)) == list(words_of(text))


def test_other_texts_stay_as_they_are() -> None:
    assert separated("Die Gebühr beträgt 5 €, naïve") == "Die Gebühr beträgt 5 €, naïve"
