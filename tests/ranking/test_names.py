"""Names of documents in questions: rules worked out by hand, and what holds for any question."""

from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.ranking.names import (
    MAX_WORDS,
    DocumentNames,
    Evidence,
    QueryWords,
    WordUse,
    hear,
    query_words,
)
from langchain_sentence_window.ranking.words import tokens_of

LEASE = "Lease Agreement between Zebra Holdings Inc. and Motorola Solutions Ltd., the landlord."
SUPPLY = "Supply Agreement between Tribune Broadcasting Company and Tube Music Network, the supplier."
HEADS = {"lease": DocumentNames(LEASE), "supply": DocumentNames(SUPPLY)}

texts = st.text(max_size=200) | st.lists(
    st.sampled_from(["Zebra", "the", "pays", "Motorola,", "in", "Tribune;", "?", "2020", "lease.md"]), max_size=30
).map(" ".join)


def use(inside: int, doc_id: str, outside: int = 0) -> WordUse:
    return WordUse(inside + outside, {doc_id: inside, "other": outside} if outside else {doc_id: inside})


def evidence(documents: Mapping[str, DocumentNames] = HEADS, /, **words: WordUse) -> Evidence:
    return Evidence(words, documents)


def heard(query: str, known: Evidence) -> list[tuple[str, tuple[str, ...]]]:
    found = hear(query, known)
    return [] if found is None else [(each.doc_id, each.words) for each in found.documents]


# Words


def test_words_written_as_names_are_told_from_others() -> None:
    # The first of a sentence begins with a capital anyway.
    words = query_words("Who pays Zebra? The agreement of 2020 with IBM and e4711 says: Nobody, x.")
    assert words.written == ("zebra", "2020", "ibm", "e4711")
    assert words.others == ("who", "pays", "the", "agreement", "of", "with", "and", "says", "nobody")


@pytest.mark.parametrize(
    ("query", "written"),
    [
        ("IBM pays", ("ibm",)),  # all in capitals, at the start too
        ("MusclePharm pays", ("musclepharm",)),  # a capital inside
        ("iBio pays what eBay owes", ("ibio", "ebay")),  # one inside alone
        ("WHO PAYS ZEBRA IN 2020", ("2020",)),  # capitals tell nothing
        ("who pays zebra", ()),
        ("من يدفع", ("من", "يدفع")),  # a script without capitals
        ("", ()),
        ("\x00 \ud800 ?", ()),
    ],
)
def test_writing_of_names(query: str, written: tuple[str, ...]) -> None:
    assert query_words(query).written == written


def test_a_text_is_no_question() -> None:
    words = " ".join(f"W{number}" for number in range(MAX_WORDS))
    assert len(query_words(words).all) == MAX_WORDS
    assert query_words(words + " Zebra") == QueryWords((), ())


# Named by words


def test_two_words_that_only_one_document_has_name_it() -> None:
    known = evidence(zebra=use(4, "lease", 1), motorola=use(2, "lease"))
    assert heard("What does Zebra owe to Motorola?", known) == [("lease", ("zebra", "motorola"))]


@pytest.mark.parametrize(
    ("zebra", "motorola"),
    [
        (use(3, "lease", 1), use(2, "lease")),  # 75 % in it
        (use(1, "lease"), use(2, "lease")),  # once
        (use(4, "supply"), use(2, "lease")),  # not in that head
    ],
)
def test_words_that_are_no_name_words_name_nothing(zebra: WordUse, motorola: WordUse) -> None:
    assert not heard("What does Zebra owe to Motorola?", evidence(zebra=zebra, motorola=motorola))


def test_a_topic_names_nothing() -> None:
    # Both stand in one head, but the question doesn't write them as names.
    known = evidence(lease=use(9, "lease"), landlord=use(9, "lease"))
    assert not heard("What does Anna pay if the landlord ends the lease?", known)


def test_singular_and_plural_are_one_word() -> None:
    both = {"a": DocumentNames("Tools and a Tool")}
    known = evidence(both, tools=use(4, "a"), tool=use(4, "a"))
    assert not heard("Which Tools does a Tool need?", known)


def test_a_rival_makes_a_name_unsure() -> None:
    known = evidence(zebra=use(4, "lease"), motorola=use(4, "lease"), tribune=use(4, "supply"))
    assert not heard("Does Zebra owe Motorola what Tribune paid?", known)
    # A rival's word that isn't written as a name is a topic.
    known = evidence(zebra=use(4, "lease"), motorola=use(4, "lease"), supplier=use(4, "supply"))
    assert heard("Does Zebra owe Motorola what the supplier paid?", known) == [("lease", ("zebra", "motorola"))]
    # So is one that stands in the head of the named document too.
    known = evidence(zebra=use(4, "lease"), motorola=use(4, "lease"), agreement=use(9, "supply", 1))
    assert heard("Under the Agreement of Zebra and Motorola?", known) == [("lease", ("zebra", "motorola"))]


def test_one_word_names_alone_only_if_it_is_nowhere_else() -> None:
    assert heard("What does the Zebra contract say?", evidence(zebra=use(5, "lease"))) == [("lease", ("zebra",))]
    assert not heard("What does the Zebra contract say?", evidence(zebra=use(4, "lease")))
    assert not heard("What does the Zebra contract say?", evidence(zebra=use(9, "lease", 1)))
    assert not heard("what does the zebra contract say?", evidence(zebra=use(5, "lease")))
    only_found = Evidence({"zebra": use(5, "lease")}, HEADS, is_complete=False)
    assert not heard("What does the Zebra contract say?", only_found)


def test_a_name_may_have_its_capital_inside() -> None:
    documents = {"a": DocumentNames("Agreement between iBio Inc. and others"), "b": DocumentNames("Lease")}
    assert heard("How long does iBio have?", evidence(documents, ibio=use(5, "a"))) == [("a", ("ibio",))]
    assert not heard("How long does ibio have?", evidence(documents, ibio=use(5, "a")))


def test_among_what_was_found_two_words_must_be_written_as_names() -> None:
    uses = {word: use(5, "lease") for word in ("zebra", "motorola", "landlord")}
    only_found = Evidence(uses, HEADS, is_complete=False)
    assert not heard("What does the landlord owe to Motorola?", only_found)
    assert heard("What does the landlord owe to Motorola?", evidence(**uses))
    assert heard("What does Zebra owe to Motorola?", only_found) == [("lease", ("zebra", "motorola"))]


def test_two_documents_are_compared() -> None:
    known = evidence(zebra=use(5, "lease"), tribune=use(5, "supply"))
    assert heard("Compare the Zebra and the Tribune contract", known) == [
        ("lease", ("zebra",)),
        ("supply", ("tribune",)),
    ]


def test_too_many_documents_are_none() -> None:
    documents = {name: DocumentNames(f"About {name.title()}") for name in ("ann", "bob", "cid", "dan")}
    uses = {name: use(9, name) for name in documents}
    assert len(heard("Compare Ann, Bob and Cid", evidence(documents, **uses))) == 3
    assert not heard("Compare them: Ann, Bob, Cid and Dan", evidence(documents, **uses))


def test_versions_share_their_name() -> None:
    versions = {"v1": DocumentNames(LEASE), "v2": DocumentNames(LEASE + " Amended."), "other": HEADS["supply"]}
    uses = {word: WordUse(8, {"v1": 4, "v2": 4}) for word in ("zebra", "motorola")}
    assert [doc_id for doc_id, _ in heard("What does Zebra owe to Motorola?", evidence(versions, **uses))] == [
        "v1",
        "v2",
    ]
    # What several share says nothing of one of them.
    uses = {"agreement": WordUse(8, {"v1": 4, "v2": 4}), "amended": use(1, "v2"), "zebra": WordUse(8, {"v1": 8})}
    assert not heard("What does the amended Agreement say?", evidence(versions, **uses))
    # Documents that only have words in common are no versions.
    uses = {word: WordUse(8, {"v1": 4, "v2": 4}) for word in ("zebra", "motorola")}
    unlike = {"v1": DocumentNames("Zebra and Motorola and the lease"), "v2": DocumentNames("Motorola: zebra feed")}
    assert not heard("What does Zebra owe to Motorola?", evidence(unlike, **uses))


def test_a_question_without_capitals_takes_those_of_the_documents() -> None:
    known = evidence(zebra=use(4, "lease"), motorola=use(4, "lease"))
    assert heard("what does zebra owe to motorola?", known) == [("lease", ("zebra", "motorola"))]
    assert heard("WHAT DOES ZEBRA OWE TO MOTOROLA?", known) == [("lease", ("zebra", "motorola"))]
    lower = {"lease": DocumentNames("the landlord and his tenant")}
    assert not heard(
        "does the landlord pay the tenant?", evidence(lower, landlord=use(9, "lease"), tenant=use(9, "lease"))
    )
    topics = {"lease": DocumentNames("Landlord and Tenant\n\nThe landlord pays. So does the tenant.")}
    assert not heard(
        "does the landlord pay the tenant?", evidence(topics, landlord=use(9, "lease"), tenant=use(9, "lease"))
    )
    elsewhere = {**lower, "deed": DocumentNames("Landlord. Tenant.")}
    assert not heard(
        "does the landlord pay the tenant?", evidence(elsewhere, landlord=use(9, "lease"), tenant=use(9, "lease"))
    )


# Whole names


def test_a_file_name_or_a_title_names_its_document() -> None:
    documents = {
        "a": DocumentNames("", ("Employee Handbook", "handbook_2020.pdf", "handbook_2020")),
        "b": DocumentNames("", ("Handbook", "billing.md", "billing")),
    }
    for query, doc_id, name in [
        ("In handbook_2020.pdf, how many days off are there?", "a", "handbook_2020.pdf"),
        ("According to the Employee Handbook, how many days off are there?", "a", "Employee Handbook"),
        ("what is due by billing.md?", "b", "billing.md"),
    ]:
        found = hear(query, evidence(documents))
        assert found is not None
        assert [(each.doc_id, each.name) for each in found.documents] == [(doc_id, name)]
    assert not heard("what should an employee handbook say?", evidence(documents))


def test_the_longest_name_counts() -> None:
    documents = {"a": DocumentNames("", ("Travel Policy",)), "b": DocumentNames("", ("Travel Policy Annex",))}
    assert [doc_id for doc_id, _ in heard("What does our Travel Policy Annex say?", evidence(documents))] == ["b"]


def test_a_name_of_many_documents_names_none() -> None:
    documents = {str(number): DocumentNames("", ("Terms of Service",)) for number in range(4)}
    assert not heard("What do the Terms of Service say?", evidence(documents))


def test_a_word_of_names_alone() -> None:
    documents = {"a": DocumentNames("", ("AppliedUV_2020.pdf",)), "b": DocumentNames("", ("other.pdf",))}
    known = evidence(documents, applieduv=WordUse(0, {"a": 0}))
    assert heard("In the AppliedUV contract, who pays?", known) == [("a", ("applieduv",))]
    assert not heard("in the applieduv contract, who pays?", known)


def test_a_word_of_a_name_needs_fewer_of_the_sentences() -> None:
    documents = {"a": DocumentNames("Zebra", ("Zebra Terms",)), "b": DocumentNames("Lease")}
    assert heard("What do the Zebra rules say?", evidence(documents, zebra=use(8, "a", 2))) == [("a", ("zebra",))]
    assert not heard("What do the Zebra rules say?", evidence(documents, zebra=use(7, "a", 3)))
    assert not heard("What do the Zebra rules say?", evidence(documents, zebra=use(4, "a", 1)))


def test_an_abbreviation_of_two_letters_is_a_topic() -> None:
    documents = {"a": DocumentNames("IP and fees"), "b": DocumentNames("Lease", ("HP.md", "HP"))}
    assert not heard("Who owns the IP at last?", evidence(documents, ip=use(9, "a")))
    assert heard("Who pays by the HP rules?", evidence(documents, hp=use(9, "b"))) == [("b", ("hp",))]


OFFICES = {
    "es": DocumentNames("Dear friend", ("Spain.md", "Spain", "Offer Letters")),
    "ie": DocumentNames("Dear friend", ("Ireland.md", "Ireland", "Offer Letters")),
    "tax": DocumentNames("Taxes", ("index.md", "index", "taxes")),
}


@pytest.mark.parametrize(
    ("query", "spain", "named"),
    [
        ("How many days off are there in Spain?", use(4, "es", 4), ["es"]),
        ("How many days off are there in Spain?", use(4, "es", 5), []),
        ("How many days off are there in Spain?", use(1, "es"), []),
        ("how many days off are there in spain?", use(4, "es"), []),
        # Its folder is named, too.
        ("How many days off are in the offer letter for Spain?", use(1, "es", 9), ["es"]),
        # Beside a name, another one is no topic.
        ("Compare the days off in Spain and Ireland", use(4, "es", 4), ["es", "ie"]),
        ("Compare the days off in Spain and Ireland", use(4, "es", 5), []),
        # Of two that are compared, both must be known.
        ("Compare the days off in Spain and Iceland", use(4, "es", 4), []),
        ("Are days off in Spain paid by Visa?", use(4, "es", 4), ["es"]),
    ],
)
def test_a_name_of_a_single_word(query: str, spain: WordUse, named: list[str]) -> None:
    found = hear(query, evidence(OFFICES, spain=spain))
    assert sorted(each.doc_id for each in found.documents) == named if found else not named


def test_a_folder_of_all_documents_says_nothing() -> None:
    names = {name: DocumentNames("", (f"{name.title()}.md", name.title(), "guides")) for name in ("git", "tox")}
    assert not heard("Which guides use Git at last?", evidence(names, git=use(3, "git", 9)))


def test_a_word_that_is_the_name_of_several_names_none() -> None:
    several = {**OFFICES, "es-tax": DocumentNames("Taxes", ("Spain.pdf", "Spain"))}
    assert not heard("How many days off are there in Spain?", evidence(several, spain=use(4, "es", 4)))


def test_a_name_may_lack_its_first_or_last_word() -> None:
    documents = {"a": DocumentNames("", ("Acme Market Seller Agreement",)), "b": DocumentNames("", ("Lease",))}
    for query in ("What does the Market Seller Agreement say?", "Who pays under Acme Market Seller rules?"):
        assert [doc_id for doc_id, _ in heard(query, evidence(documents))] == ["a"]
    for query in ("Who pays under Seller Agreement rules?", "What should a market Seller agreement say?"):
        assert not heard(query, evidence(documents))
    two = {**documents, "c": DocumentNames("", ("Globex Market Seller Agreement",))}
    assert len(heard("What does the Market Seller Agreement say?", evidence(two))) == 2
    # It is another document's name as a whole.
    two = {**documents, "c": DocumentNames("", ("Market Seller Agreement",))}
    assert [doc_id for doc_id, _ in heard("What does the Market Seller Agreement say?", evidence(two))] == ["c"]


def test_a_whole_name_and_a_word_name_two_documents() -> None:
    documents = {
        "a": DocumentNames("Zebra", ("zebra.md", "zebra")),
        "b": DocumentNames("Terms", ("terms.md", "terms", "Acme.com")),
    }
    found = hear("What differs between the Zebra and the Acme.com terms?", evidence(documents, zebra=use(9, "a")))
    assert found is not None
    assert [each.doc_id for each in found.documents] == ["b", "a"]
    assert not found.is_limited
    assert found.question == "What differs between the Zebra and the Acme.com terms?"


# The question without the name


@pytest.mark.parametrize(
    ("query", "without"),
    [
        ("Consider the Lease between Zebra and Motorola; who pays for the audit?", "who pays for the audit?"),
        ("Under the Zebra contract with Motorola, who pays for the audit?", "who pays for the audit?"),
        ("Zebra and Motorola lease: who pays for the audit?", "who pays for the audit?"),
        (
            "Who pays for the audit in the Lease Agreement between Zebra Holdings and Motorola Solutions Ltd?",
            "Who pays for the audit?",
        ),
        # A short name may be the topic, and a clause may be half of the question.
        ("Who pays for the audit of Zebra and Motorola?", None),
        ("Does Zebra pay for it, or must Motorola pay the whole audit?", None),
        ("When is it due, and what does Zebra say, and what Motorola?", None),
        ("The fee of Zebra, when is it due and what is it for Motorola?", None),
        (
            "According to the report of Zebra and Motorola for 2022, what was earned in 2022?",
            "what was earned in 2022?",
        ),
        # Too little would be left.
        ("Under the Zebra contract with Motorola, who pays?", None),
    ],
)
def test_names_are_left_out(query: str, without: str | None) -> None:
    uses = {word: use(5, "lease") for word in ("zebra", "motorola")}
    found = hear(query, Evidence(uses, HEADS))
    assert found is not None
    assert found.question == (query if without is None else without)
    assert bool(found.left_out) == (without is not None)


# Limited to a document, or mentioning it


@pytest.mark.parametrize(
    ("query", "is_limited", "asks_twice"),
    [
        ("Under the Zebra contract with Motorola, who pays for the audit?", True, False),
        ("Who pays for the audit, according to the lease between Zebra and Motorola?", True, False),
        ("Zebra and Motorola lease: who pays for the audit? If nobody, why?", True, False),
        ("I work at Zebra and Motorola. Who pays for the audit?", True, False),
        ("Under the Zebra contract with Motorola, who pays, and what does the law of audits say?", True, True),
        ("In the Zebra contract with Motorola, who pays for it? What does the law say of audits?", True, True),
        ("Consider the AUDIT AND LEASE AGREEMENT between Zebra, Inc, and Motorola, LLC; who pays for it?", True, False),
        ("Who pays for the audit of Zebra and Motorola?", False, False),
        ("By when do Zebra and Motorola pay, and what are the penalties?", False, True),
        ("When is the deadline in Zebra and Motorola, and who decides on it?", False, True),
        ("Is the deadline at Zebra and Motorola 30 days, or 40 days?", False, False),
        ("Who pays for the audit in the lease between Zebra and Motorola?", False, False),
        ("When is it due, and what does Zebra say, and what Motorola?", False, True),
    ],
)
def test_a_question_is_limited_to_a_document_or_mentions_it(query: str, is_limited: bool, asks_twice: bool) -> None:
    uses = {word: use(5, "lease") for word in ("zebra", "motorola")}
    found = hear(query, Evidence(uses, HEADS))
    assert found is not None
    assert (found.is_limited, found.asks_twice) == (is_limited, asks_twice)


def test_a_document_that_only_the_rest_names_is_not_one_to_be_limited_to() -> None:
    documents = {name: DocumentNames(name.title(), (f"{name}.md", name)) for name in ("zebra", "motorola")}
    uses = {name: use(9, name) for name in documents}
    found = hear("In zebra.md, which fee is higher than that of Motorola?", evidence(documents, **uses))
    assert found is not None
    assert {each.doc_id for each in found.documents} == {"zebra", "motorola"}
    assert not found.is_limited


@pytest.mark.parametrize(
    ("query", "is_named"),
    [
        ("How many games did Kenny win?", True),
        ("How many games did Kenny Garrett win?", True),
        ("How many US games did Kenny win in FY22?", True),
        ("How many games did Kenny, Paul or Anna win?", True),
        ("How many games did Kenny Rogers win?", False),
        ("How many games did Little Kenny win?", False),
        ("How many games did Kenny-Rogers win?", False),
    ],
)
def test_a_word_of_a_longer_name_is_of_something_else(query: str, is_named: bool) -> None:
    head = {"kenny": DocumentNames("Kenny Garrett, his games and his awards", ("Kenny Garrett - Awards",))}
    assert (hear(query, evidence(head, kenny=use(9, "kenny"))) is not None) == is_named


@pytest.mark.parametrize(("query", "is_named"), [("tool-use", True), ("tool-use.md", True), ("tool_use", False)])
def test_a_file_name_is_written_as_it_is(query: str, is_named: bool) -> None:
    documents = {"tools": DocumentNames("Using tools", ("tool-use.md", "tool-use"))}
    found = hear(f"When is the block {query} sent and what does it hold?", Evidence({}, documents))
    assert (found is not None) == is_named


# Whatever comes


@given(texts)
def test_tokens_are_the_words_of_the_question(query: str) -> None:
    tokens = tokens_of(query)
    assert [query[token.start : token.end].lower() for token in tokens] == [token.word for token in tokens]
    assert all(first.end <= then.start for first, then in pairwise(tokens))


@given(texts)
def test_a_question_without_name_words_is_untouched(query: str) -> None:
    common = {word: WordUse(10, {"lease": 5, "supply": 5}) for word in query_words(query).all}
    assert hear(query, Evidence(common, HEADS)) is None
    assert hear(query, evidence()) is None


@given(texts)
def test_what_is_left_and_what_is_left_out_stand_in_the_question(query: str) -> None:
    uses = {word: use(9, "lease") for word in query_words(query).all}
    head = {"lease": DocumentNames(query, ("lease.md", "Zebra Motorola"))}
    found = hear(query, evidence(head, **uses))
    if found is not None:
        assert all(part in query for part in found.left_out)
        assert (found.question == query) or found.left_out
        kept = [token.word for token in tokens_of(found.question)]
        removed = [token.word for part in found.left_out for token in tokens_of(part)]
        assert sorted(kept + removed) == sorted(token.word for token in tokens_of(query))


@given(texts)
def test_the_order_of_evidence_changes_nothing(query: str) -> None:
    words = {word: use(6, "lease" if at % 2 else "supply") for at, word in enumerate(query_words(query).all)}
    names = {name: DocumentNames(query, (query[:40],)) for name in ("lease", "supply", "third")}
    backward = Evidence(dict(reversed(words.items())), dict(reversed(names.items())))
    assert hear(query, Evidence(words, names)) == hear(query, backward)


def test_a_huge_question_takes_no_time_and_names_nothing() -> None:
    query = "Zebra, " * 20_000
    assert query_words(query).all == ("zebra",)
    assert hear(query, evidence()) is None
    long = "Zebra X " * 4_000
    found = hear(long, evidence(zebra=use(9, "lease"), motorola=use(9, "lease")))
    assert found is not None
    assert found.question == long
