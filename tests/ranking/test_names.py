"""Names of documents in questions: rules worked out by hand, and what holds for any question."""

from collections.abc import Mapping, Sequence

import pytest

from langchain_sentence_window.ranking.names import (
    MAX_NAMED,
    DocumentNames,
    Naming,
    find_names,
    keys_in,
    name_keys,
    read_question,
)

DOCUMENTS = {
    "zebra": ("Zebra Lease", "zebra_2020.md", "zebra_2020", "contracts"),
    "motorola": ("Motorola Terms of Supply", "motorola.md", "motorola", "contracts"),
    "tools": ("tool-use.md", "tool-use", "guides"),
    "kenny": ("Kenny - Awards",),
    "acme": ("Acme Market Seller Agreement",),
}
LETTERS = {
    "no": ("Norland.md", "Norland", "Letters"),
    "so": ("South Sudland.md", "South Sudland", "Letters"),
    "so-c": ("South Sudland - Contractor.md", "South Sudland - Contractor", "Letters"),
    "au": ("Australia.md", "Australia", "Letters"),
    "we": ("Offer letter - Westland.md", "Offer letter - Westland", "Letters"),
}
REPORTS = {str(year): ("reports", f"PINEGROVE_{year}_10K.pdf", f"PINEGROVE_{year}_10K") for year in range(2018, 2024)}


def naming(query: str, documents: Mapping[str, Sequence[str]] = DOCUMENTS) -> Naming | None:
    return find_names(read_question(query), DocumentNames(documents, {}))


def named(query: str, documents: Mapping[str, Sequence[str]] = DOCUMENTS) -> list[str]:
    found = naming(query, documents)
    return [] if found is None else [each.doc_id for each in found.documents]


# What names a document


@pytest.mark.parametrize(
    ("query", "doc_id", "words", "name"),
    [
        ("What does the Zebra Lease say?", "zebra", ("zebra", "lease"), "Zebra Lease"),
        ("Who pays by zebra_2020.md now?", "zebra", ("zebra", "2020", "md"), "zebra_2020.md"),
        ("Who pays by zebra_2020 now?", "zebra", ("zebra", "2020"), "zebra_2020"),
        ("Who pays by the rules of Zebra?", "zebra", ("zebra",), "zebra_2020.md"),  # what stands before a year
        ("what is due by motorola.md?", "motorola", ("motorola", "md"), "motorola.md"),
        ("what is due by the motorola terms of supply?", "motorola", ("motorola", "terms", "of", "supply"), None),
        ("How many prizes did Kenny win?", "kenny", ("kenny",), "Kenny - Awards"),
        ("What is in the Market Seller Agreement?", "acme", ("market", "seller", "agreement"), None),
        ("What is in the Acme Market Seller rules?", "acme", ("acme", "market", "seller"), None),
        ("What does Tool Use cost?", "tools", ("tool", "use"), "tool-use"),
    ],
)
def test_a_whole_name_or_a_part_of_it_names_its_document(
    query: str, doc_id: str, words: tuple[str, ...], name: str | None
) -> None:
    found = naming(query)
    assert found is not None
    assert [(each.doc_id, each.words) for each in found.documents] == [(doc_id, words)]
    assert name is None or found.documents[0].name == name


@pytest.mark.parametrize(
    "query",
    [
        "what does a zebra lease?",  # a topic
        "what do zebra and motorola owe?",
        "What do Contracts say of it?",  # a folder, of several
        "When is tool_use sent?",  # another way to write it, as programs do
        "How many prizes did Kenny Rogers win?",
        "How many prizes did Little Kenny win?",
        "How many prizes did Kenny-Rogers win?",
        "What is a Seller Agreement for?",
        "What was due in 2020?",
        "",
        "?",
    ],
)
def test_questions_that_name_no_document(query: str) -> None:
    documents = DOCUMENTS | {str(number): ("contracts",) for number in range(MAX_NAMED)}
    assert not named(query, documents)


def test_the_longest_name_counts() -> None:
    documents = {"a": ("Travel Policy",), "b": ("Travel Policy Annex",), "c": ("Annex",)}
    assert named("What does our Travel Policy Annex say?", documents) == ["b"]


def test_several_documents_are_named_in_the_order_of_the_question() -> None:
    assert named("Compare the Motorola and the Zebra rules") == ["motorola", "zebra"]
    documents = {name: (name.title(),) for name in ("anna", "bob", "cid", "dan")}
    assert named("Compare Anna, Bob and Cid", documents) == ["anna", "bob", "cid"]
    assert not named("Compare Anna, Bob, Cid and Dan", documents)


def test_a_name_that_many_documents_share_names_none() -> None:
    shared = {str(number): ("Terms of Service",) for number in range(MAX_NAMED + 1)}
    assert not named("What do the Terms of Service say?", shared)
    del shared["0"]
    assert len(named("What do the Terms of Service say?", shared)) == MAX_NAMED


@pytest.mark.parametrize(
    ("query", "doc_ids"),
    [
        ("How long is the notice of a clerk in Norland?", ["no"]),
        ("How long is the notice of an Australian clerk?", ["au"]),
        ("How long is the notice of a clerk in South Sudland?", ["so"]),  # the name without other words
        ("How long is the notice of a contractor in South Sudland?", ["so-c"]),
        ("How long is the notice of a clerk in Westland?", ["we"]),
        ("Does a clerk in Norland have less rest than one in South Sudland?", ["no", "so"]),
        ("How long is the notice of a clerk in Ostland?", []),
        ("How long is the notice of a clerk in norland?", []),
        ("How long is the notice of a clerk in the South?", []),
    ],
)
def test_letters_are_distinguished_by_country(query: str, doc_ids: list[str]) -> None:
    assert named(query, LETTERS) == doc_ids


@pytest.mark.parametrize(
    ("query", "doc_ids"),
    [
        ("What was the margin of Pine Grove in its 2022 10-K?", ["2022"]),
        ("Did sales of Pinegrove grow in 2021?", ["2021"]),
        ("Did sales of Pinegrove grow in FY2021?", ["2021"]),
        ("Did sales of PineGrove grow from 2020 to 2021?", ["2020", "2021"]),
        ("Did sales of Pinegrove grow?", []),  # too many
        ("Did sales grow in 2021?", []),
    ],
)
def test_reports_are_distinguished_by_year(query: str, doc_ids: list[str]) -> None:
    assert named(query, REPORTS) == doc_ids


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("a Canadian", "Canada.md"),
        ("Italian", "Italy"),
        ("Pine Grove", "PINEGROVE_2023.pdf"),
        ("the 10-K", "10K"),
        ("Best Buy", "BESTBUY_2023.pdf"),
        ("The Exies", "The Exies"),
        ("Exies", "The Exies"),
        ("Élan", "élan (band)"),
    ],
)
def test_ways_to_write_a_name_share_a_key(asked: str, name: str) -> None:
    keys = {key for part in (name, name.rpartition(".")[0]) for key in name_keys(part)}
    assert keys.intersection(read_question(f"Who knows {asked}?").keys)


# Names in first lines

LINES = {
    "a": "AGREEMENT BETWEEN ZEBRA TECHNOLOGIES CORP. AND GLOBEX (HOLDINGS) LTD. The agreement is made in May.",
    "b": "This Lease Agreement is between Zebra Technologies Corp., of Westport, and Acme Travel, Inc.",
    "c": "The Bank of Norland writes to Anna Miller. Ms. Miller works for Acme Travel.",
}


def by_first_lines(query: str, lines: Mapping[str, str] = LINES) -> Naming | None:
    titles = {"t": ("Anna Miller",)} if "Letter" in query else {}
    return find_names(read_question(query), DocumentNames(titles, {name: keys_in(lines[name]) for name in lines}))


@pytest.mark.parametrize(
    ("query", "doc_ids"),
    [
        ("In the contract of Globex Holdings, who pays for the audit?", ["a"]),
        ("In the contract between Zebra Technologies and Acme Travel, who pays for the audit?", ["b"]),
        ("Consider the Lease Agreement between Zebra Technologies Corp, and Acme Travel, Inc; who pays?", ["b"]),
        ("According to the contracts of Zebra Technologies, who pays for the audit?", ["a", "b"]),
        ("According to the Bank of Norland, who pays for the audit?", ["c"]),
        ("According to Anna Miller's Letter, who pays for the audit?", ["t"]),  # a title is better
        # A text mentions many names.
        ("Does Anna Miller pay for the audit?", []),
        ("Under the law, does Anna Miller pay for the audit?", []),
        # A single word is no name, and neither are words that only a text in capitals writes as one.
        ("In the contract of Zebra, who pays for the audit?", []),
        ("In the Agreement between them, who pays for the audit?", []),
        ("In the contract of Globex Travel, who pays for the audit?", []),
    ],
)
def test_a_clause_that_says_where_names_documents_by_their_first_lines(query: str, doc_ids: list[str]) -> None:
    found = by_first_lines(query)
    assert ([] if found is None else [each.doc_id for each in found.documents]) == doc_ids
    assert found is None or found.is_limited


# The question without the name


@pytest.mark.parametrize(
    ("query", "is_limited", "searched"),
    [
        ("Consider the Zebra Lease between A and B; who pays for the audit?", True, "who pays for the audit?"),
        ("Under the Zebra contract, who pays for the audit?", True, "who pays for the audit?"),
        ("zebra_2020.md: who pays for the audit? If nobody, why?", True, "who pays for the audit? If nobody, why?"),
        ("Who pays for the audit, according to the lease of Zebra?", True, "Who pays for the audit?"),
        ("I work at Zebra. Who pays for the audit?", True, "I work. Who pays for the audit?"),
        ("If I work in Zebra, who pays for it?", True, "If I work, who pays for it?"),
        # The name may be a part of what is asked.
        ("Who pays for the audit of Zebra?", False, None),
        ("By when does Zebra pay, and what are the penalties?", False, None),
        ("The fee of Zebra, when is it due at last?", False, None),
        ("In zebra_2020.md, is the fee higher than of Motorola?", False, "is the fee higher than of Motorola?"),
        ("How long is the notice of a clerk in Zebra?", False, "How long is the notice of a clerk?"),
        ("How long is the notice in the Zebra Lease?", False, "How long is the notice?"),
        # Too little would be left.
        ("Under the Zebra contract, who pays?", True, None),
    ],
)  # fmt: skip
def test_a_question_is_limited_to_a_document_or_mentions_it(query: str, is_limited: bool, searched: str | None) -> None:
    found = naming(query)
    assert found is not None
    assert (found.is_limited, found.question) == (is_limited, query if searched is None else searched)


@pytest.mark.parametrize(
    ("query", "asks_twice"),
    [
        ("Under the Zebra contract, who pays, and what does the law of audits say?", True),
        ("In the Zebra contract, who pays for it? What does the law say of audits?", True),
        ("Zebra Lease: who pays for the audit? If nobody, why?", False),
        ("Is the deadline at Zebra 30 days, or 40 days?", False),
    ],
)
def test_a_question_may_have_two_parts(query: str, asks_twice: bool) -> None:
    found = naming(query)
    assert found is not None
    assert found.asks_twice == asks_twice


# Whatever comes
