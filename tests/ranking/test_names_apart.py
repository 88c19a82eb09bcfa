"""Documents that are nearly alike, told apart by their names: rules worked out by hand."""

from collections.abc import Mapping

import pytest

from langchain_sentence_window.ranking.names import DocumentNames, Evidence, hear, query_words
from langchain_sentence_window.ranking.names_apart import closest, common_words, keys_of, keys_of_name, telling_keys
from langchain_sentence_window.ranking.words import tokens_of

DEAR = "Dear friend, we offer you work in security. Welcome!"
LETTERS = {
    "no": ("Letters", "Norland.md", "Norland"),
    "so": ("Letters", "South Sudland.md", "South Sudland"),
    "so-c": ("Letters", "South Sudland - Contractor.md", "South Sudland - Contractor"),
    "se": ("Letters", "Security.md", "Security"),
    "long": ("Letters", "Westland rules of travel and rest.md", "Westland rules of travel and rest"),
}
REPORTS = {
    "22": ("reports", "PINEGROVE_2022_10K.pdf", "PINEGROVE_2022_10K"),
    "23": ("reports", "PINEGROVE_2023_10K.pdf", "PINEGROVE_2023_10K"),
    "q2": ("reports", "PINEGROVE_2024Q2_10Q.pdf", "PINEGROVE_2024Q2_10Q"),
    "hh": ("reports", "HART_HOLM_2023_8K.pdf", "HART_HOLM_2023_8K"),
}


def heard(query: str, names: Mapping[str, tuple[str, ...]], common: frozenset[str] | None = frozenset()) -> list[str]:
    documents = {doc_id: DocumentNames(DEAR, of_it, common) for doc_id, of_it in names.items()}
    found = hear(query, Evidence({}, documents))
    return sorted(each.doc_id for each in found.documents) if found else []


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("an Australian employee", "Australia.md"),
        ("a Canadian one", "Canada"),
        ("who is Italian", "Italy"),
        ("made in Japan", "Japanese rules"),
        ("die kanadische Firma", "Kanada.md"),
        ("of HnH", "HART_HOLM_2023.pdf"),
        ("of H&H", "Hart & Holm, annual report"),
        ("in the UK", "United Kingdom.md"),
        ("of the U.K. office", "United Kingdom - Contractor.md"),
        ("at Pine Grove", "PINEGROVE_2023.pdf"),
        ("at PineGrove", "Pine Grove 2023"),
        ("in FY2022", "report_2022"),
        ("the 10-K", "PINEGROVE_2023_10K"),
        ("the 10K", "Form 10-K"),
        ("in the second quarter", "2024Q2"),
        ("in Q2", "Second quarter of 2024"),
    ],
)
def test_ways_to_write_a_name_share_a_key(asked: str, name: str) -> None:
    assert {each.key for each in keys_of(asked)} & keys_of_name(name)


@pytest.mark.parametrize(
    ("asked", "name"),
    [("in Norway", "Northumbria"), ("in 2022", "2023Q2"), ("of us", "United States"), ("a K", "10-K"), ("?", "")],
)
def test_other_names_share_none(asked: str, name: str) -> None:
    assert not {each.key for each in keys_of(asked)} & keys_of_name(name)


def test_only_what_is_written_as_a_name_tells_documents_apart() -> None:
    query = "May a clerk in South Sudland read the 10-K of us?"
    telling = telling_keys(query, tokens_of(query))
    assert {key for key in telling if key in {"may", "clerk", "read", "us"}} == set()
    assert telling["south"] == "south"
    assert telling["10k"] == ""  # of two words
    assert query_words(query).keys == tuple(telling.items())
    assert query_words("may a clerk read this?").keys == ()


def test_the_documents_with_the_most_keys_are_closest() -> None:
    assert closest({"south": {1, 2}, "sudland": {1}, "norland": {3}}) == {1, 3}
    assert closest({"pinegrov": {1, 2, 3, 4}, "2022": {4, 5}}) == {4}  # of too many, those of the period
    assert closest({"pinegrov": {1, 2, 3, 4}}) == set()
    # Numbers tell nothing alone.
    assert closest({"2022": {1}}) == set()
    assert closest({"2024": {1, 2}, "q2": {2, 3}}) == {2}
    assert closest({}) == set()


def test_words_in_many_names_are_common() -> None:
    assert common_words({"letter": 3, "norland": 2}, 9) == {"letter"}
    assert common_words({"letter": 10, "norland": 9}, 100) == {"letter"}


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("How long is the notice of a clerk in Norland?", ["no"]),
        ("How long is the notice of a Norlandish clerk here?", ["no"]),
        ("How long is the notice of a clerk in South Sudland?", ["so"]),  # it is a whole name
        ("How long is the notice of a contractor in South Sudland?", ["so-c"]),
        ("Does a clerk in Norland have less rest than one in South Sudland?", ["no", "so"]),
        # No document is told apart.
        ("How long is the notice of a clerk in Ostland?", []),
        ("How long is the notice of a clerk in norland?", []),
        ("Who is the Security Officer of the house?", []),  # the letters write it small, so it is a topic
        ("How long is the notice of a clerk in Westland?", []),  # a small part of a name
        ("How long is the notice of a clerk in the South?", []),
    ],
)
def test_letters_are_told_apart_by_country(query: str, named: list[str]) -> None:
    assert heard(query, LETTERS) == named
    assert not heard(query, LETTERS, common=None) or "South Sudland" in query  # which is a whole name


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("What was the margin of Pine Grove in its FY2022 10-K, at least?", ["22"]),
        ("Did sales of Pinegrove grow in Q2 of FY2024?", ["q2"]),
        ("Did sales fall between FY 2023 and Q2 of FY2024?", ["q2"]),
        ("What did HnH sell at last?", ["hh"]),
        # A report of another year may answer too, so a year alone doesn't rule others out.
        ("Will sales of Pinegrove grow in FY2023?", ["22", "23", "q2"]),
        ("Do sales of Pinegrove grow?", ["22", "23", "q2"]),
        ("Will sales grow in FY2023?", []),
    ],
)
def test_reports_are_told_apart_by_company_and_period(query: str, named: list[str]) -> None:
    assert heard(query, REPORTS) == named


def test_among_many_reports_the_year_decides() -> None:
    many = {str(year): ("reports", f"PINEGROVE_{year}.pdf") for year in range(2018, 2024)}
    assert heard("Will sales of Pinegrove grow in FY2021?", many) == ["2021"]
    assert heard("Will sales of Pinegrove grow?", many) == []


def test_common_words_of_a_name_need_not_be_in_the_question() -> None:
    names = {"a": ("offer_letter_Norland_final.md",), "b": ("offer_letter_Sudland_final.md",)}
    query = "How long is the notice of a clerk in Norland?"
    assert heard(query, names, frozenset({"offer", "letter", "final", "md"})) == ["a"]
    assert heard(query, names) == []


@pytest.mark.parametrize(
    ("query", "without"),
    [
        ("How long is the notice of a clerk in Norland?", "How long is the notice of a clerk?"),
        ("How long can a Norlandish clerk be ill and paid?", "How long can a Norlandish clerk be ill and paid?"),
        ("If I work in Norland, how long can I be ill and paid?", "If I work how long can I be ill and paid?"),
        ("How long did Norland pay a clerk who is ill?", "How long did Norland pay a clerk who is ill?"),
    ],
)
def test_a_name_that_only_says_where_is_left_out(query: str, without: str) -> None:
    found = hear(query, Evidence({}, {"no": DocumentNames(DEAR, LETTERS["no"], frozenset())}))
    assert found is not None
    assert found.question == without
