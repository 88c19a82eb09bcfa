"""Signals of a small search, worked out by hand, and what holds for any."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.candidates import CANDIDATES, Candidates, Numbers
from langchain_sentence_window.ranking.signals import (
    MIN_LENGTH,
    SIGNALS,
    is_file_head,
    signals,
)
from langchain_sentence_window.splitting.blocks import CODE, CONTENTS, HEADING, MESSAGE
from tests.ranking.searches import candidates_of, facts, taken

LONG = "The company keeps the records of each audit for ten years, and shows them to the other party on demand."
CONTRACT = [
    ["Audit", "The buyer pays.", LONG, "Is that all?", "No."],
    ["Term\nof 3 years", "It ends in 2031 with the Tribune of New York."],
]
DOCUMENTS = {"contract": CONTRACT, "note": [["The audit costs 12 % in 2031."]]}
FOUND = [("contract", 1), ("contract", 2), ("contract", 6), ("note", 0), ("contract", 0)]
DENSE = [0.5, 0.7, 0.1, 0.3, 0.4]


def values(name: str, query: str = "Who pays the audit?", **columns: object) -> list[float]:
    """A signal of the candidates, without what makes it smaller among few."""
    found = candidates_of(DOCUMENTS, FOUND, **{"dense": DENSE, **columns})  # type: ignore[arg-type]
    return as_in_the_table(name, computed(query, found, name)[:, 0])


def computed(query: str, found: Candidates, *names: str) -> Numbers:
    return signals(facts(query, found), names or tuple(SIGNALS))


def as_in_the_table(name: str, column: Numbers) -> list[float]:
    is_whole = SIGNALS[name].is_standardized or SIGNALS[name].outweighs_others
    share = 1.0 if is_whole else math.log(len(column)) / math.log(CANDIDATES)
    return [round(float(value) / share, 12) for value in column]


def z(numbers: Sequence[float]) -> object:
    mean = sum(numbers) / len(numbers)
    deviation = math.sqrt(sum((number - mean) ** 2 for number in numbers) / len(numbers))
    return pytest.approx([(number - mean) / deviation for number in numbers])


def idf(held: int, total: int) -> float:
    return math.log(1 + (total - held + 0.5) / (held + 0.5))


def test_scores() -> None:
    assert values("dense_rank") == z([-math.log(rank) for rank in (2, 1, 5, 4, 3)])
    ranks = [-math.log(rank) for rank in (4, 1, 4, 2, 2)]  # equal scores have equal ranks
    assert values("dense_rank", dense=[0.0, 3.0, 0.0, 1.0, 1.0]) == z(ranks)


def test_documents_and_sections_count_by_their_three_best() -> None:
    contract, section = (0.7 + 0.5 + 0.4) / 3, (0.7 + 0.5 + 0.4) / 3
    assert values("document") == z([contract, contract, contract, 0.3, contract])
    assert values("section") == z([section, section, 0.1, 0.3, section])
    more = candidates_of(DOCUMENTS, [*FOUND, ("contract", 3)], [*DENSE, 0.6])
    best = (0.7 + 0.6 + 0.5) / 3
    assert computed("", more, "section")[:, 0].tolist() == z([best, best, 0.1, 0.3, best, best])


def test_coverage() -> None:
    # Of the candidates, "who" stands in none, "pays" in one, "the" in four, "audit" in three.
    who, pays, the, audit = (idf(held, 5) for held in (0, 1, 4, 3))
    total = who + pays + the + audit
    assert values("coverage_own") == z([pays + the, the + audit, the, the + audit, audit])
    around = [pays + the + audit, pays + the + audit, the, the + audit, pays + the + audit]
    assert values("coverage") == z([each / total for each in around])
    headings = {("contract", 6): "Audit > Who"}
    assert values("coverage", headings=headings) == z([*around[:2], who + the + audit, *around[3:]])


def test_words_of_the_collection_weigh_by_its_statistics() -> None:
    asked = []

    def document_frequency(words: Sequence[str]) -> tuple[list[int], int]:
        asked.append(list(words))
        return [9, 0, 8, 1], 10

    who, pays, the, audit = (idf(held, 10) for held in (9, 0, 8, 1))
    expected = z([pays + the, the + audit, the, the + audit, audit])
    assert who > 0
    assert values("coverage_own", document_frequency=document_frequency) == expected
    assert asked == [["who", "pays", "the", "audit"]]
    # Counts that are newer or older than the number of sentences don't fail.
    assert np.isfinite(values("coverage", document_frequency=lambda words: ([99, -1, 0, 5], 10))).all()


def test_pairs_of_words() -> None:
    query = "buyer pays the audit costs"
    # "the audit" and "audit costs" stand in the note, "buyer pays" in the contract's sentence 1, and no other pair.
    one = idf(1, 5)
    assert values("bigrams", query) == z([one, 0, 0, 2 * one, 0])


def test_place() -> None:
    places = [math.exp(-1 / 3), math.exp(-2 / 3), math.exp(-1 / 3), 1, 1]
    assert values("place") == pytest.approx(places)
    assert values("early") == pytest.approx([math.exp(-index / 5) for index in (1, 2, 6, 0, 0)])


def test_form() -> None:
    own = [len(text) for text in ("The buyer pays.", LONG, CONTRACT[1][1], "The audit costs 12 % in 2031.", "Audit")]
    # A short sentence and a label open to the next one; the third and the fourth have none in their section.
    windows = [own[0] + 1 + own[1], own[1], own[2], own[3], own[4] + 1 + own[0]]
    assert max(windows) > MIN_LENGTH > min(windows)
    assert values("window_length") == pytest.approx([math.log(max(length, MIN_LENGTH)) - 5 for length in windows])
    texts = ["x" * 300, "y" * MIN_LENGTH, "z" * 60, "z" * 80]  # the third opens to the fourth
    longer = computed("q", candidates_of({"d": [texts]}, [("d", index) for index in range(4)]), "window_length")[:, 0]
    lengths = as_in_the_table("window_length", longer)
    assert lengths == pytest.approx([math.log(length) - 5 for length in (300, MIN_LENGTH, 141, MIN_LENGTH)])
    empty = candidates_of({"d": [["", "Fees"]]}, [("d", 0), ("d", 1)])
    assert computed("q", empty, "window_length")[0, 0] < 0
    assert values("label") == [0, 0, 0, 0, 1]
    assert values("digit_asked") == [0] * 5
    assert values("digit_asked", "How much is it?") == [0, 0, 1, 1, 0]
    kinds = dict(zip(FOUND, (HEADING, CONTENTS, "prose", "", CONTENTS), strict=True))
    assert values("contents", kinds=kinds) == [0, 1, 0, 0, 1]


def test_what_is_equal_in_all_candidates_counts_nothing() -> None:
    one = candidates_of(DOCUMENTS, FOUND[:1], [0.5])
    standardized = [name for name, signal in SIGNALS.items() if signal.is_standardized]
    assert not computed("Who pays?", one, *standardized).any()
    equal = candidates_of(DOCUMENTS, FOUND, [0.3] * 5)
    assert not computed("", equal, *standardized).any()
    nearly = candidates_of(DOCUMENTS, FOUND, [0.1 + 0.2, 0.3, 0.3, 0.3, 0.3])  # equal up to rounding
    assert not computed("", nearly, "document", "section").any()
    nothing = candidates_of(DOCUMENTS, [])
    assert computed("Who pays?", nothing).shape == (0, len(SIGNALS))
    assert signals(facts("Who pays?", equal), ()).shape == (5, 0)


def test_hostile_texts_and_scores() -> None:
    texts = ["\ud800\0", "?" * 100_000, "A b " * 100_000, "", "İ" * 5, "a, B" * 50_000]
    found = candidates_of({"d": [texts]}, [("d", index) for index in range(6)], [1e308, -1e308, 0, 1e308, 5e-324, 1])
    assert np.isfinite(computed("\ud800 İ a? " * 3_000, found)).all()
    for dense, lexical in (([0.0, math.nan], [0.0, 0.0]), ([0.0, 0.0], [math.inf, 0.0])):
        wrong = candidates_of(DOCUMENTS, FOUND[:2], dense, lexical)
        with pytest.raises(InvalidInputError, match="a score of 'Who pays\\?' is not finite; give"):
            facts("Who pays?", wrong)


SENTENCES = st.lists(st.sampled_from(["Audit", "the", "costs", "12", "New York", "?", "\n"]), max_size=6).map(" ".join)
SEARCHES = st.lists(
    st.tuples(SENTENCES, st.sampled_from([0.1, 0.2, 0.3, 0.9]), st.sampled_from([0.0, 1.0, 2.5])), min_size=1
)


@given(SENTENCES, SEARCHES, st.randoms(use_true_random=False))
def test_the_order_of_candidates_changes_no_signal(
    query: str, rows: list[tuple[str, float, float]], random: object
) -> None:
    texts = [text for text, _, _ in rows]
    documents = {"a": [texts[:5], texts[5:]], "b": [texts]}
    keys = [(document, index) for document in documents for index in range(len(texts))]
    random.shuffle(keys)  # type: ignore[attr-defined]
    keys = keys[: len(rows)]
    found = candidates_of(documents, keys, [row[1] for row in rows], [row[2] for row in rows])
    order = list(range(len(keys)))
    random.shuffle(order)  # type: ignore[attr-defined]
    given, moved = computed(query, found), computed(query, taken(found, order))
    assert np.isfinite(given).all()
    np.testing.assert_allclose(moved, given[order], atol=1e-6)


TALK = [f"Anna: Number {index} is it." for index in range(30)]
TALK[3], TALK[14] = "Anna: The price is a problem.", "Ben: What of the remote?"
SAID = "What did Anna say about the price of the remote?"


def passages(query: str, kind: str, found: Sequence[int], **columns: object) -> list[float]:
    keys = [("talk", index) for index in found]
    candidates = candidates_of({"talk": [TALK]}, keys, kinds=dict.fromkeys(keys, kind), **columns)  # type: ignore[arg-type]
    return list(map(float, signals(facts(query, candidates), ["passage"])[:, 0]))


def test_words_of_the_talk_around_count_if_it_asks_what_was_said() -> None:
    found = [3, 9, 14, 28]
    near = passages(SAID, MESSAGE, found)
    # The second is within ten sentences of the first and the third, the fourth of none.
    assert near[1] == max(near)
    assert near[3] == min(near) < near[0]
    assert passages("Who pays the price of the remote?", MESSAGE, found) == [0] * 4
    assert passages(SAID, "prose", found) == [0] * 4


def test_words_of_a_manual_around_count_if_it_asks_how_something_is_done() -> None:
    asked = "How do I see the price of the remote?"
    keys = [("talk", index) for index in (3, 9, 14, 28)]
    headings = dict.fromkeys(keys, "Remote")
    assert any(passages(asked, "prose", [3, 9, 14, 28], headings=headings))
    assert not any(passages(asked, "prose", [3, 9, 14, 28]))  # under no heading
    assert not any(passages("Who sees the price of the remote?", "prose", [3, 9, 14, 28], headings=headings))
    long = {"talk": [[text + " It is a long sentence, as those of a policy are." * 3 for text in TALK]]}
    assert not facts(asked, candidates_of(long, keys, headings=headings)).needs_passage.any()


def complements(query: str, kinds: dict[tuple[str, int], str] | None = None) -> list[float]:
    documents = {
        "one": [["Derrickson is an American director.", "Wood is mentioned here."]],
        "two": [["Wood is an American filmmaker.", "He lived long."]],
    }
    keys = [("one", 0), ("one", 1), ("two", 0), ("two", 1)]

    def frequency(words: Sequence[str]) -> tuple[list[int], int]:
        return [2 if word in ("derrickson", "wood") else 900 for word in words], 1_000

    candidates = candidates_of(documents, keys, [0.9, 0.1, 0.5, 0.2], kinds=kinds, document_frequency=frequency)
    return list(map(float, signals(facts(query, candidates), ["complement"])[:, 0]))


def test_a_rare_word_that_no_better_sentence_holds_counts_in_another_document() -> None:
    asked = "Were Derrickson and Wood of one nationality?"
    found = complements(asked)
    assert found[2] > 0
    assert [found[0], found[1], found[3]] == [0, 0, 0]
    assert complements("were derrickson and wood of one nationality?") == [0] * 4  # it names nothing
    assert complements("Was Derrickson an American director?") == [0] * 4
    assert complements(asked, {("two", 0): CODE}) == [0] * 4
    assert complements(asked, {("two", 0): MESSAGE}) == [0] * 4


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("/*\n * Copyright 2017 Acme.\n *\n * Licensed under the Apache License.\n */\n\npackage com.acme;\n", True),
        ("import re\nfrom typing import (\n    Any,\n    Self,\n)\n", True),
        ('#pragma once\n\n#include "column.h"\n', True),
        ("use std::sync::Arc;\nuse crate::{\n    one,\n    two,\n};", True),
        ("import re\n\nWORD = re.compile('x')\n", False),
        ("/** Reads a file. */\n", False),
        ("const limit = require('./limits').limit * 2 + offset;\nrun(limit);\n", False),
        ("class License:\n    pass\n", False),
        ("/*\nCopyright 2020 Acme.\nAll rights reserved.\n*/\nimport x", True),
        ("```python\nimport re\n```", True),
        ("require 'json'\nrequire_relative \"x\"\n", True),
        ("// Package cache implements an LRU cache.\npackage cache\n", False),
        ("# Use this to reset the cache before a build\n# It deletes everything.\n", False),
        ("-- orders that require approval\nfrom orders\n", False),
        ("// Copyright 2020\nexport function add(a, b) { return a + b }", False),
        ("", False),
    ],
)
def test_the_head_of_a_source_file(code: str, expected: bool) -> None:
    assert is_file_head(code) is expected


def test_a_head_is_marked_in_code_unless_it_is_asked_for() -> None:
    keys = [("a", 0), ("a", 1)]
    documents = {"a": [["import re", "def run(): ..."]]}
    for query, kind, expected in (
        ("What does run do?", CODE, [1, 0]),
        ("Which modules does it import?", CODE, [0, 0]),
        ("What does run do?", "prose", [0, 0]),
    ):
        found = candidates_of(documents, keys, kinds=dict.fromkeys(keys, kind))
        assert computed(query, found, "file_head")[:, 0].tolist() == expected
