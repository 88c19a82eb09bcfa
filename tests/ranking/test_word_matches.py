"""Words of queries in texts, by hand, and compared with a plain implementation on any text."""

import unicodedata
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.ranking.word_matches import MAX_QUERY_WORDS, MAX_WORDS_READ, find_words, query_terms
from tests.ranking.test_words import is_of_word, is_unspaced

# Letters of all widths and lengths of their lower case, what stands between words, and any character at all.
LETTERS = list("aBéÉİiЖжǅ𝐀𐐀𐐨字7٣²")
WORDS = ["ab", "Ab", "i̇", "ΣΑΣ", "σας", "हिन्दी", "文字", "文字の", "字a", "한국어", "คืน๑", "e\u0301", "𠀀𠀁"]
BETWEEN = [" ", "  ", "_", "-", "'", "\n", "\0", ".", "\ud800", "\udc00", "😀", "\u2028", ""]
PIECES = st.sampled_from([*LETTERS, *WORDS, *BETWEEN])
TEXTS = st.lists(PIECES | st.characters(categories=None), max_size=12).map("".join)


def words_of(text: str) -> list[str]:
    words = list[str]()
    for run in "".join(character if is_of_word(character) else " " for character in text).split(" "):
        for unspaced, characters in groupby(run, is_unspaced):
            lower = [plain(character) for character in characters]
            words += map("".join, pairwise(lower)) if unspaced and len(lower) > 1 else ["".join(lower)]
    return words


def plain(character: str) -> str:
    small = character.lower()[0]
    letter = unicodedata.normalize("NFD", small)[0]
    return {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i"}.get(small) or (
        letter if letter.isascii() or "\u0370" <= letter < "\u0400" else small
    )


@given(TEXTS, st.lists(TEXTS, max_size=6))
def test_words_and_pairs_are_those_of_a_plain_implementation(query: str, texts: list[str]) -> None:
    read = words_of(query)
    found = query_terms(query)
    assert found.words == tuple(dict.fromkeys(read))
    pairs = [(found.words[a], found.words[b]) for a, b in found.pairs]
    assert pairs == list(dict.fromkeys(pairwise(read)))
    matches = find_words(found, texts)
    held = [words_of(text) for text in texts]
    assert matches.words.tolist() == [[word in words for word in found.words] for words in held]
    paired = [set(pairwise(words)) for words in held]
    assert matches.pairs.tolist() == [[pair in known for pair in pairs] for known in paired]


@pytest.mark.parametrize("beyond", ["", "é", "字", "😀"])
def test_words_are_whole_and_in_any_letter_case(beyond: str) -> None:
    query = query_terms("Fees of a LOAN, fees")
    assert query.words == ("fees", "of", "a", "loan")
    assert query.pairs == ((0, 1), (1, 2), (2, 3), (3, 0))
    texts = ["The fees of loans.", "LOAN fees", "loan", "fees", "", f"a\nloan_fees {beyond}"]
    matches = find_words(query, texts)
    assert matches.words.astype(int).tolist() == [
        [1, 1, 0, 0],
        [1, 0, 0, 1],
        [0, 0, 0, 1],
        [1, 0, 0, 0],
        [0, 0, 0, 0],
        [1, 0, 1, 1],
    ]
    # No pair crosses the end of a text: "loan" and "fees" are texts that follow each other.
    assert matches.pairs.astype(int).tolist() == [
        [1, 0, 0, 0],
        [0, 0, 0, 1],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 1, 1],
    ]


def test_letters_whose_lower_case_is_longer_or_depends_on_its_place() -> None:
    query = query_terms("İstanbul ΛΟΓΟΣ")
    assert query.words == ("istanbul", "λογοσ")
    matches = find_words(query, ["istanbul", "ΛΟΓΟΣ.", "İİ İSTANBUL"])
    assert matches.words.tolist() == [[True, False], [False, True], [True, False]]


def test_no_words_and_no_texts() -> None:
    for query in ("", " ?! ", "\ud800\0_"):
        assert query_terms(query).words == ()
        assert find_words(query_terms(query), ["a", ""]).words.shape == (2, 0)
    nothing = find_words(query_terms("two words"), [])
    assert nothing.words.shape == (0, 2)
    assert nothing.pairs.shape == (0, 1)


def test_of_a_long_query_the_first_words_count() -> None:
    many = [f"w{number}" for number in range(10_000)]
    query = query_terms(" ".join(many))
    assert query.words == tuple(many[:MAX_QUERY_WORDS])
    assert query.pairs == tuple((number, number + 1) for number in range(MAX_QUERY_WORDS - 1))
    repeated = query_terms("a b " * 16_000 + "c")
    assert repeated.words == ("a", "b")
    assert repeated.pairs == ((0, 1), (1, 0))
    assert query_terms("a " * (MAX_WORDS_READ - 1) + "b c").words == ("a", "b")
    # A word that doesn't count stands between those that do.
    assert query_terms(" ".join([*many[:MAX_QUERY_WORDS], "x", many[0]])).pairs == query.pairs


@pytest.mark.slow
def test_long_words_and_many_texts() -> None:
    long = "x" * 40_000
    matches = find_words(query_terms(f"{long} end"), [long, long + "x", f"the {long} end"] * 1_000)
    assert matches.words.tolist()[-3:] == [[True, False], [False, False], [True, True]]
    assert matches.pairs.sum() == 1_000


@pytest.mark.parametrize("beyond", ["", "字", "😀"])
def test_words_that_begin_or_end_alike_are_distinguished(beyond: str) -> None:
    words = ["abcdefgh", "abcdefghi", "abcdefghij", "abcxefgh", "ab", "abc"]
    matches = find_words(query_terms(" ".join(words)), [*words, "abcdefg", "abcyefgh", beyond])
    assert matches.words.astype(int).tolist() == [*np.eye(6, dtype=int).tolist(), [0] * 6, [0] * 6, [0] * 6]
