"""Words of texts: by hand, and the scripts without spaces between words by the names of their characters."""

import pytest

from langchain_sentence_window.ranking.words import in_other_number, indexed, separated


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
