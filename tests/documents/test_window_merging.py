"""Merging windows of several queries: each passage once, exactly as if it had been cut at once."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import SentenceSplitter, merge_windows
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.documents.sentence_documents import StoredSentence, as_hit, by_key, read_sentence
from langchain_sentence_window.documents.window_documents import unite_equal, window_document
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.windows.geometry import Window

RULES = """# Rules

Some words. And more. A third one. A fourth.

Never use it for:

- a refund of
  coins
- abuse, such as:
  - a monthly fee
  - an annual fee
- a seat

| Plan | Price |
|------|-------|
| trial | 0 |
| card | 9 |

## Rest

The end. Really. It is."""
CHAT = """[10:06] Anna: Hello there. The invoice is late. So be it.
[10:07] Bob: Which one? The backup of the page is here.
"""
PAGES = (
    "# Terms\n\nA refund is quick. It takes\ndays, and so",
    "on. A seat is free. Nobody pays for it. So it is",
    "to this day. An end.",
)
UNSPACED = "はい。そうです。いいえ。ちがいます。またね。"

Cut = tuple[str, int, int, dict[int, float]]
"""A window to cut: the document, the first and the last sentence, and the scores of its hits."""


def sentences_of(*documents: Document) -> dict[SentenceKey, StoredSentence]:
    return by_key(map(read_sentence, SentenceSplitter().split_documents(list(documents))))


SENTENCES = sentences_of(
    Document(page_content=RULES, id="rules", metadata={"source": "rules.md"}),
    Document(page_content=CHAT, id="chat"),
    Document(page_content=UNSPACED, id="unspaced"),
    *(
        Document(page_content=text, metadata={"source": "terms.pdf", "page": page, "page_label": f"p. {page + 1}"})
        for page, text in enumerate(PAGES)
    ),
)
TAGGED = {"source": "rules.md", "tags": ["a", "b"]}
SENTENCES |= {key: replace(each, source=TAGGED) for key, each in SENTENCES.items() if key[0] == "rules"}
DOC_IDS = list(dict.fromkeys(doc_id for doc_id, _ in SENTENCES))
PAGED = next(iter({*DOC_IDS} - {"rules", "chat", "unspaced"}))


def cut(doc_id: str, first: int, last: int, scores: dict[int, float], **added: Any) -> Document:
    """Cut a window from a document as the retriever does."""
    hits = [as_hit(SENTENCES[doc_id, index], score) for index, score in sorted(scores.items())]
    window = window_document(Window(doc_id, first, last, tuple(hits)), SENTENCES)
    window.metadata.update(added)
    return window


def with_metadata(window: Document, **changed: Any) -> Document:
    return window.model_copy(update={"metadata": {**window.metadata, **changed}})


def sentences(documents: Sequence[Document]) -> list[list[int]]:
    return [each.metadata["sentences"] for each in documents]


@st.composite
def cuts(draw: st.DrawFn) -> Cut:
    """A window of one section with at least one hit."""
    doc_id = draw(st.sampled_from(DOC_IDS))
    sentence = draw(st.sampled_from([each for key, each in SENTENCES.items() if key[0] == doc_id]))
    first = draw(st.integers(max(sentence.section_start, sentence.index - 4), sentence.index))
    last = draw(st.integers(sentence.index, min(sentence.section_end - 1, sentence.index + 4)))
    hits = draw(st.sets(st.integers(first, last), max_size=3)) | {sentence.index}
    return doc_id, first, last, {index: draw(st.integers(-2, 9)) / 10 for index in sorted(hits)}


def joined_by_hand(windows: Sequence[Cut]) -> list[Document]:
    """The windows that overlap or follow each other in a section as one, cut from the document at once."""
    groups = [[rank] for rank in range(len(windows))]
    while pair := next(
        ((one, other) for one in groups for other in groups if one is not other and meet(windows, one, other)), None
    ):
        pair[0].extend(pair[1])
        groups.remove(pair[1])
    made: list[Document] = []
    for group in sorted(groups, key=min):
        scores: dict[int, float] = {}
        for rank in group:
            for index, score in windows[rank][3].items():
                scores[index] = max(score, scores.get(index, -1.0))
        first, last = min(windows[rank][1] for rank in group), max(windows[rank][2] for rank in group)
        made.append(cut(windows[group[0]][0], first, last, scores))
    return made


def meet(windows: Sequence[Cut], one: Sequence[int], other: Sequence[int]) -> bool:
    for a, b in ((windows[i], windows[j]) for i in one for j in other):
        if a[0] == b[0] and a[1] <= b[2] and b[1] <= a[2]:
            return True
        later = max(a[1], b[1])
        if a[0] == b[0] and later == min(a[2], b[2]) + 1 and SENTENCES[a[0], later].section_start < later:
            return True
    return False


@given(st.lists(cuts(), max_size=12))
def test_merged_windows_are_those_that_are_cut_at_once(windows: list[Cut]) -> None:
    given_ = [cut(*each) for each in windows]
    before = copy.deepcopy(given_)
    merged = merge_windows(given_)
    assert merged == unite_equal(joined_by_hand(windows))
    assert given_ == before
    assert merge_windows(merged) == merged


def test_a_merged_window_takes_the_place_of_its_first() -> None:
    weak, strong, other = cut("rules", 1, 2, {1: 0.1}), cut("rules", 2, 3, {3: 0.9}), cut("chat", 0, 1, {0: 0.5})
    assert [each.metadata["doc_id"] for each in merge_windows([weak, other, strong])] == ["rules", "chat"]
    assert [each.metadata["doc_id"] for each in merge_windows([other, weak, strong])] == ["chat", "rules"]


def test_metadata_is_that_of_the_window_with_the_best_hit_and_no_list_is_shared() -> None:
    one = cut("rules", 1, 3, {2: 0.5}, query="one")
    two = cut("rules", 2, 4, {3: 0.7}, query="two")
    [merged] = merge_windows([one, two])
    assert merged.metadata["query"] == "two"
    merged.metadata["tags"].append("c")
    merged.metadata["hits"][0]["score"] = 7
    assert one.metadata["tags"] == two.metadata["tags"] == ["a", "b"]
    assert one.metadata["score"] == one.metadata["hits"][0]["score"] == 0.5


def test_lead_ins_that_precede_the_merged_window_are_kept() -> None:
    nested = next(each for each in SENTENCES.values() if "annual" in each.text)
    deep = cut("rules", nested.index, nested.index, {nested.index: 0.5})
    assert [each["text"] for each in deep.metadata["lead_ins"]] == ["Never use it for:", "- abuse, such as:"]
    wide = cut("rules", nested.index - 2, nested.index, {nested.index - 2: 0.5})
    assert [each["text"] for each in merge_windows([deep, wide])[0].metadata["lead_ins"]] == ["Never use it for:"]
    whole = cut("rules", nested.index - 4, nested.index, {nested.index - 4: 0.5})
    assert "lead_ins" not in merge_windows([deep, whole])[0].metadata


def test_adjacent_windows_of_a_section_are_joined() -> None:
    last = SENTENCES["rules", 1].section_end - 1
    listed = next(each.index for each in SENTENCES.values() if "coins" in each.text)
    for doc_id, first, at, end in (("rules", 1, 2, 4), ("rules", 4, listed, last), ("unspaced", 0, 1, 3)):
        one, two = cut(doc_id, first, at, {at: 0.5}), cut(doc_id, at + 1, end, {end: 0.4})
        assert one.metadata["separator"] == SENTENCES[doc_id, at].separator
        for windows in ([one, two], [two, one]):
            [merged] = merge_windows(windows)
            assert merged == cut(doc_id, first, end, {at: 0.5, end: 0.4})
    assert "separator" not in merge_windows([cut("rules", 3, 4, {3: 0.5}), cut("rules", 5, last, {5: 0.5})])[0].metadata


def test_adjacent_windows_of_two_sections_are_kept_apart() -> None:
    end = SENTENCES["rules", 1].section_end
    given_ = [cut("rules", end - 1, end - 1, {end - 1: 0.5}), cut("rules", end, end, {end: 0.4})]
    assert "separator" not in given_[0].metadata
    assert merge_windows(given_) == given_


def test_overlapping_windows_with_other_white_space_after_them_are_kept_apart() -> None:
    one, two = cut("rules", 1, 2, {1: 0.5}), cut("rules", 2, 2, {2: 0.4})
    for other in (two, cut("rules", 2, 3, {2: 0.4})):
        changed = with_metadata(one, separator="\n")
        assert merge_windows([changed, other]) == [changed, other]
        unknown = with_metadata(one, separator=None)
        last = other.metadata["sentences"][1]
        assert merge_windows([unknown, other]) == [cut("rules", 1, last, {1: 0.5, 2: 0.4})]


OTHERS = {
    "another text": cut("rules", 2, 4, {4: 0.5}).model_copy(update={"page_content": "x" * 32}),
    "other white space": with_metadata(cut("rules", 2, 2, {2: 0.4}), separator="\n"),
    "other numbers": with_metadata(cut("rules", 3, 4, {4: 0.5}), sentences=[4, 5]),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_windows_of_other_versions_are_kept_apart(other: Document) -> None:
    window = cut("rules", 1, 3, {2: 0.5})
    for windows in ([window, other], [other, window]):
        assert merge_windows(windows) == windows


SECOND = {"page": 1, "page_label": "p. 2", "start_index": 0, "end_index": 19, "span": [50, 69]}


@pytest.mark.parametrize(
    "change",
    [
        {"sentence_spans": [[28, 48], [50, 69]]},
        {"parts": [{"page": 7, "page_label": "p. 1", "start_index": 28, "end_index": 49, "span": [28, 49]}, SECOND]},
        {"parts": [{"page": 0, "page_label": "p. 1", "start_index": 18, "end_index": 39, "span": [28, 49]}, SECOND]},
    ],
    ids=str,
)
def test_windows_whose_parts_differ_are_kept_apart(change: dict[str, Any]) -> None:
    given_ = [cut(PAGED, 1, 2, {1: 0.5}), cut(PAGED, 2, 3, {3: 0.5})]
    assert len(merge_windows(given_)) == 1
    metadata = given_[1].metadata | change
    given_[1] = given_[1].model_copy(update={"metadata": metadata})
    assert merge_windows(given_) == given_
    without = {key: value for key, value in metadata.items() if key != "parts"}
    given_[1] = given_[1].model_copy(update={"metadata": without})
    assert merge_windows(given_) == given_


def test_each_version_is_merged_with_its_own() -> None:
    old = [cut("rules", 1, 2, {1: 0.5}), cut("rules", 2, 4, {4: 0.5})]
    new = [each.model_copy(update={"page_content": each.page_content.upper()}) for each in old]
    # In capitals they would be equal passages.
    new = [each.model_copy(update={"page_content": each.page_content.replace("O", "0")}) for each in new]
    merged = merge_windows([old[0], new[1], new[0], old[1]])
    assert [each.page_content for each in merged] == [
        "Some words. And more. A third one. A fourth.",
        "S0ME W0RDS. AND M0RE. A THIRD 0NE. A F0URTH.",
    ]
    assert merge_windows(merged) == merged


HIT: dict[str, Any] = {"sentence_index": 2, "start_index": 28, "end_index": 49, "score": 0.5}
WRONG: dict[str, list[Any]] = {
    "doc_id": [None, 7],
    "start_index": [None, "9", 9.5, -1, True],
    "end_index": [None, 10**9],
    "sentences": [None, [1], [3, 2], "12", [1.5, 2], [7, 8], [1, 3]],
    "hits": [None, [], "x", [7], [{}], [HIT | {"sentence_index": 1}], [HIT, HIT]],
    "parts": ["x", [7], [{}], None, []],
    "sentence_spans": ["x", [[0, 1]], None, [[0, 9**9]], [7], [[28, 69]], [[28, 40], [41, 49], [50, 69]]],
}
FORGED: list[dict[str, Any]] = [
    *({key: value} for key, values in WRONG.items() for value in values),
    *({"hits": [HIT | {"score": value}]} for value in (None, "1", float("nan"))),
    *({"hits": [HIT | {"end_index": value}]} for value in (27, 48, 10**6)),
]


@pytest.mark.parametrize("forged", FORGED, ids=str)
def test_an_invalid_window_passes_through(forged: dict[str, Any]) -> None:
    window = cut(PAGED, 1, 3, {1: 0.4})
    changed = with_metadata(cut(PAGED, 2, 3, {2: 0.5}), **forged)
    assert merge_windows([window, changed, window, changed]) == [window, changed]


def test_a_merged_window_has_the_lead_ins_nearest_to_it() -> None:
    text = "Some words."
    led = [{"kind": "list", "text": text[at], "start_index": 9 + at, "end_index": 10 + at} for at in range(6)]
    one, two = cut("rules", 2, 3, {2: 0.5}, lead_ins=led[1::2]), cut("rules", 3, 4, {4: 0.5}, lead_ins=led[::2])
    assert merge_windows([one, two])[0].metadata["lead_ins"] == led[2:]


def test_invalid_lead_ins_places_and_relevance_are_left_out() -> None:
    forged = {"lead_ins": [7, {"text": "x"}, {"start_index": 0, "end_index": "1"}], "also_in": [7, {"doc_id": "a"}]}
    one, two = cut("rules", 1, 2, {1: 0.5}, relevance="high"), cut("rules", 2, 3, {2: 0.4}, relevance_score=0.2)
    [merged] = merge_windows([with_metadata(one, **forged), with_metadata(two, lead_ins="x", also_in={})])
    assert merged == cut("rules", 1, 3, {1: 0.5, 2: 0.4}, relevance_score=0.2)


def test_other_documents_pass_through_in_their_place_and_equal_ones_once() -> None:
    plain = Document(page_content="A page.", metadata={"source": "b"})
    named = Document(page_content="A page.", id="x", metadata={"rank": 1})
    again = Document(page_content="A page.", id="x", metadata={"rank": 2})
    same_id = Document(page_content="Another store's.", id="x")
    one, two = cut("rules", 1, 2, {1: 0.5}), cut("rules", 2, 3, {3: 0.5})
    given_ = [plain, one, named, copy.deepcopy(plain), two, again, same_id]
    assert merge_windows(given_) == [plain, cut("rules", 1, 3, {1: 0.5, 3: 0.5}), named, same_id]
    assert merge_windows(given_)[0] is plain


def test_shortened_windows_pass_through_and_equal_ones_once() -> None:
    window = cut("rules", 1, 4, {1: 0.5})
    short = window.model_copy(update={"page_content": "Some words."})
    scored = with_metadata(short, score=0.9).model_copy(update={"id": None})
    other = window.model_copy(update={"page_content": "A fourth."})
    assert merge_windows([short, window, scored, other]) == [short, window, other]


def test_equal_passages_come_once_across_queries() -> None:
    held = {**SENTENCES, **sentences_of(Document(page_content=RULES.replace("# Rules", "# Law"), id="law"))}
    hit = as_hit(held["law", 1], 0.9)
    law = window_document(Window("law", 1, 2, (hit,)), held)
    rules = cut("rules", 1, 2, {1: 0.5})
    [merged] = merge_windows([rules, law])
    place = {key: law.metadata[key] for key in ("doc_id", "start_index", "end_index", "heading")}
    assert merged == with_metadata(rules, also_in=[place])
    [wider] = merge_windows([merged, cut("rules", 2, 3, {3: 0.2})])
    assert wider == with_metadata(cut("rules", 1, 3, {1: 0.5, 3: 0.2}), also_in=[place])


@pytest.mark.parametrize(
    ("windows", "message"),
    [
        (Document("A refund."), r"windows is a single Document; give a list of them: \[window\]"),
        ("A refund.", "windows is 'A refund.'; give a list"),
        ([[Document("A refund.")]], r"windows\[0\] is \[a Document\]; give one list of Documents"),
        ([Document("A refund."), "x"], r"windows\[1\] is 'x'; give a Document, as a retriever returns"),
    ],
)
def test_anything_but_a_list_of_documents_is_refused(windows: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        merge_windows(windows)
