"""Words of queries in texts."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.ranking.word_matches import MAX_QUERY_WORDS, MAX_WORDS_READ, find_words, query_terms
from langchain_sentence_window.ranking.words import plain_words

PIECES = st.sampled_from(["ab", "Ab", "B", "É", "ß", "字文", "7", " ", "  ", "-", "_", "\n", "\ud800", "😀"])
TEXTS = st.lists(PIECES, max_size=12).map("".join)


@given(TEXTS, st.lists(TEXTS, max_size=6))
def test_words_and_pairs_are_those_of_each_text(query: str, texts: list[str]) -> None:
    read, held = plain_words(query).split(), [plain_words(text).split() for text in texts]
    terms = query_terms(query)
    assert terms.words == tuple(dict.fromkeys(read))
    pairs = [(terms.words[a], terms.words[b]) for a, b in terms.pairs]
    assert pairs == list(dict.fromkeys(pairwise(read)))
    matches = find_words(terms, texts)
    assert matches.words.tolist() == [[word in words for word in terms.words] for words in held]
    assert matches.pairs.tolist() == [[pair in set(pairwise(words)) for pair in pairs] for words in held]


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
