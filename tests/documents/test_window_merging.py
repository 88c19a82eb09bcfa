"""Merging windows of several queries: each passage once, exactly as if it had been cut so at first."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from langchain_sentence_window import SentenceSplitter, merge_windows
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.documents.sentence_documents import StoredSentence, as_hit, by_key, read_sentence
from langchain_sentence_window.documents.window_documents import unite_equal, window_document
from langchain_sentence_window.documents.window_runs import read_run
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.windows.geometry import Hit, Window

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


@given(st.lists(cuts(), max_size=12), st.randoms(use_true_random=False))
def test_merged_windows_are_disjoint_and_verbatim_and_cover_all_sentences_in_any_order(
    windows: list[Cut], shuffler: Any
) -> None:
    shuffled = windows.copy()
    shuffler.shuffle(shuffled)
    one, other = (merge_windows(cut(*each) for each in order) for order in (windows, shuffled))
    covered: set[SentenceKey] = set()
    for window in one:
        metadata, doc_id = window.metadata, window.metadata["doc_id"]
        run = {(doc_id, index) for index in range(metadata["sentences"][0], metadata["sentences"][1] + 1)}
        assert not run & covered
        covered |= run
        for place in metadata.get("also_in", []):
            covered |= {
                key
                for key, each in SENTENCES.items()
                if key[0] == place["doc_id"] and place["start_index"] <= each.start and each.end <= place["end_index"]
            }
        if doc_id == "rules":
            assert window.page_content == RULES[metadata["start_index"] : metadata["end_index"]]
        indexes = [hit["sentence_index"] for hit in metadata["hits"]]
        assert indexes == sorted(set(indexes))
        assert metadata["score"] == max(hit["score"] for hit in metadata["hits"])
    assert covered == {(doc_id, index) for doc_id, first, last, _ in windows for index in range(first, last + 1)}
    if not any("also_in" in window.metadata for window in [*one, *other]):
        assert {each.page_content for each in one} == {each.page_content for each in other}
        assert sorted(sentences(one)) == sorted(sentences(other))


def test_the_same_passage_found_twice_is_one_window_with_all_its_hits() -> None:
    one = cut("rules", 1, 3, {2: 0.5, 3: 0.2}, relevance_score=3.0)
    two = cut("rules", 2, 4, {2: 0.4, 4: 0.9}, relevance_score=-1.5)
    [merged] = merge_windows([one, two])
    assert merged == cut("rules", 1, 4, {2: 0.5, 3: 0.2, 4: 0.9}, relevance_score=3.0)
    assert (merged.page_content, merged.metadata["score"]) == ("Some words. And more. A third one. A fourth.", 0.9)
    assert merged.id == merged.metadata["window_id"] not in (one.id, two.id)


def test_a_window_stands_where_the_first_of_its_own_stood_whatever_the_scores() -> None:
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


def test_lead_ins_stay_that_stand_before_the_merged_window() -> None:
    nested = next(each for each in SENTENCES.values() if "annual" in each.text)
    deep = cut("rules", nested.index, nested.index, {nested.index: 0.5})
    assert [each["text"] for each in deep.metadata["lead_ins"]] == ["Never use it for:", "- abuse, such as:"]
    wide = cut("rules", nested.index - 2, nested.index, {nested.index - 2: 0.5})
    assert [each["text"] for each in merge_windows([deep, wide])[0].metadata["lead_ins"]] == ["Never use it for:"]
    whole = cut("rules", nested.index - 4, nested.index, {nested.index - 4: 0.5})
    assert "lead_ins" not in merge_windows([deep, whole])[0].metadata


def test_pages_of_merged_windows_are_joined() -> None:
    last = max(index for doc_id, index in SENTENCES if doc_id == PAGED)
    one, two = cut(PAGED, 1, 3, {1: 0.5}), cut(PAGED, 3, last, {last: 0.9})
    [merged] = merge_windows([one, two])
    assert (one.metadata["pages"], two.metadata["pages"]) == ([0, 1], [1, 2])
    assert merged == cut(PAGED, 1, last, {1: 0.5, last: 0.9})
    assert (merged.metadata["pages"], merged.metadata["page_labels"]) == ([0, 1, 2], ["p. 1", "p. 2", "p. 3"])
    start = merged.metadata["start_index"]
    for part in merged.metadata["parts"]:
        low, high = part["span"]
        text = PAGES[part["page"]][part["start_index"] : part["end_index"]]
        assert merged.page_content[low - start : high - start] == text


def test_windows_that_follow_each_other_in_a_section_are_joined_with_what_stands_between_them() -> None:
    last = SENTENCES["rules", 1].section_end - 1
    listed = next(each.index for each in SENTENCES.values() if "coins" in each.text)
    for doc_id, first, at, end in (("rules", 1, 2, 4), ("rules", 4, listed, last), ("unspaced", 0, 1, 3)):
        one, two = cut(doc_id, first, at, {at: 0.5}), cut(doc_id, at + 1, end, {end: 0.4})
        assert one.metadata["separator"] == SENTENCES[doc_id, at].separator
        for windows in ([one, two], [two, one]):
            [merged] = merge_windows(windows)
            assert merged == cut(doc_id, first, end, {at: 0.5, end: 0.4})
    assert "separator" not in merge_windows([cut("rules", 3, 4, {3: 0.5}), cut("rules", 5, last, {5: 0.5})])[0].metadata


def test_windows_of_sections_that_follow_each_other_are_kept_apart() -> None:
    end = SENTENCES["rules", 1].section_end
    given_ = [cut("rules", end - 1, end - 1, {end - 1: 0.5}), cut("rules", end, end, {end: 0.4})]
    assert "separator" not in given_[0].metadata
    assert merge_windows(given_) == given_


@pytest.mark.parametrize("separator", [None, 7, "\n\n", ""], ids=repr)
def test_windows_that_follow_each_other_otherwise_than_they_say_are_kept_apart(separator: Any) -> None:
    given_ = [cut("rules", 1, 2, {1: 0.5}, separator=separator), cut("rules", 3, 4, {4: 0.4})]
    assert merge_windows(given_) == given_


def test_overlapping_windows_with_other_white_space_after_them_are_kept_apart() -> None:
    one, two = cut("rules", 1, 2, {1: 0.5}), cut("rules", 2, 2, {2: 0.4})
    for other in (two, cut("rules", 2, 3, {2: 0.4})):
        changed = with_metadata(one, separator="\n")
        assert merge_windows([changed, other]) == [changed, other]
        unknown = with_metadata(one, separator=None)
        last = other.metadata["sentences"][1]
        assert merge_windows([unknown, other]) == [cut("rules", 1, last, {1: 0.5, 2: 0.4})]


def of_paged(**changed: Any) -> Document:
    return with_metadata(cut(PAGED, 2, 3, {2: 0.5}), **changed)


def rehit(window: Document, index: int, like: int) -> Document:
    """A window whose only hit has the place of one sentence, and the number of another."""
    found = SENTENCES["rules", like]
    hit = {"sentence_index": index, "start_index": found.start, "end_index": found.end, "score": 0.5}
    return with_metadata(window, hits=[hit])


WINDOW = cut("rules", 1, 3, {2: 0.5})
OTHERS = {
    "another text": cut("rules", 2, 4, {4: 0.5}).model_copy(update={"page_content": "x" * 32}),
    "numbers that don't overlap": with_metadata(rehit(cut("rules", 2, 4, {3: 0.5}), 6, 3), sentences=[5, 7]),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_windows_of_other_versions_are_kept_apart(other: Document) -> None:
    assert read_run(other, 0) is not None
    for given_ in ([WINDOW, other], [other, WINDOW]):
        assert merge_windows(given_) == given_


def test_windows_that_place_their_sentences_otherwise_are_kept_apart() -> None:
    one, two = cut("rules", 1, 3, {1: 0.5}), cut("rules", 2, 4, {4: 0.4})
    spans = one.metadata["sentence_spans"]
    moved = with_metadata(one, sentence_spans=[spans[0], [spans[1][0], spans[1][1] + 1], spans[2]])
    assert read_run(moved, 0) is not None
    assert merge_windows([moved, two]) == [moved, two]


def test_numbers_say_whether_windows_overlap_or_touch() -> None:
    overlapping = [
        cut("rules", 1, 3, {1: 0.5}),
        with_metadata(rehit(cut("rules", 3, 4, {4: 0.5}), 5, 4), sentences=[4, 5]),
    ]
    assert merge_windows(overlapping) == overlapping
    hit = cut("unspaced", 2, 3, {2: 0.5}).metadata["hits"][0] | {"sentence_index": 3}
    touching = [
        cut("unspaced", 0, 1, {1: 0.4}),
        with_metadata(cut("unspaced", 2, 3, {2: 0.5}), sentences=[3, 4], hits=[hit]),
    ]
    assert merge_windows(touching) == touching


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
    assert read_run(given_[1], 0) is not None
    assert merge_windows(given_) == given_
    without = {key: value for key, value in metadata.items() if key != "parts"}
    given_[1] = given_[1].model_copy(update={"metadata": without})
    assert read_run(given_[1], 0) is not None
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


WRONG: dict[str, list[Any]] = {
    "doc_id": [None, 7, ["x"]],
    "start_index": [None, "9", 9.5, -1, True],
    "end_index": [None, 10**9],
    "sentences": [None, [1], [3, 2], "12", [1.5, 2], [7, 8], {1: 2}],
    "hits": [None, [], "x", [7], [{}], {"a": 1}],
    "parts": ["x", [7], [{}], None],
    "sentence_spans": ["x", [[0, 1]], None, [[0, 9**9]], [7]],
}
FORGED: list[dict[str, Any]] = [
    *({key: value} for key, values in WRONG.items() for value in values),
    {"parts": [], "sentence_spans": [[0, 5]]},
    {"parts": []},
    {"sentence_spans": [[28, 69]]},
    {"sentences": [1, 3]},
    {"hits": [{"sentence_index": 1, "start_index": 28, "end_index": 49, "score": 0.5}]},
    {"sentence_spans": [[28, 40], [41, 49], [50, 69]]},
]


@pytest.mark.parametrize("forged", FORGED, ids=str)
def test_what_cannot_be_a_window_passes_through(forged: dict[str, Any]) -> None:
    window, changed = cut(PAGED, 1, 3, {1: 0.4}), of_paged(**forged)
    assert read_run(changed, 0) is None
    assert merge_windows([window, changed, window, changed]) == [window, changed]


@pytest.mark.parametrize(
    "hit",
    [
        *({"score": value} for value in (None, "1", float("nan"))),
        *({"sentence_index": value} for value in (None, -1, 1, 3, 5, 9)),
        *({"start_index": 5}, {"start_index": 23, "end_index": 22}, {"end_index": 10**6}, {"end_index": 15}),
    ],
    ids=str,
)
def test_a_window_with_a_hit_that_cannot_be_passes_through(hit: dict[str, Any]) -> None:
    window, other = cut("rules", 1, 3, {2: 0.5}), cut("rules", 1, 4, {1: 0.5})
    forged = with_metadata(window, hits=[{**window.metadata["hits"][0], **hit}])
    assert read_run(forged, 0) is None
    assert merge_windows([other, forged]) == [other, forged]


def test_a_window_whose_hits_overlap_or_whose_text_is_of_another_length_is_none() -> None:
    window = cut("rules", 1, 3, {1: 0.5, 2: 0.5})
    assert read_run(window, 0) is not None
    first, second = window.metadata["hits"]
    assert read_run(with_metadata(window, hits=[first, second | {"start_index": first["end_index"] - 1}]), 0) is None
    assert read_run(with_metadata(window, hits=[first, first]), 0) is None
    assert read_run(window.model_copy(update={"page_content": window.page_content[:-1]}), 0) is None


def test_a_merged_window_has_the_lead_ins_nearest_to_it() -> None:
    text = "Some words."
    led = [{"kind": "list", "text": text[at], "start_index": 9 + at, "end_index": 10 + at} for at in range(6)]
    one, two = cut("rules", 2, 3, {2: 0.5}, lead_ins=led[1::2]), cut("rules", 3, 4, {4: 0.5}, lead_ins=led[::2])
    assert merge_windows([one, two])[0].metadata["lead_ins"] == led[2:]


def test_lead_ins_and_places_and_relevance_that_cannot_be_are_left_out() -> None:
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


def test_documents_whose_metadata_holds_arrays_come_once() -> None:
    one, same, other = (Document(page_content="A page.", metadata={"state": np.full(3, at)}) for at in (1, 1, 2))
    assert [each is one or each is other for each in merge_windows([one, same, other])] == [True, True]


@pytest.mark.parametrize("text", ["\ud800. It \x00 is. So.", "A\u2028b. C. D.", "x. " * 20_000])
def test_any_text_is_merged(text: str) -> None:
    held = sentences_of(Document(page_content=text, id="a"))
    hits = [as_hit(each, 0.5) for each in held.values()]
    middle = len(hits) // 2
    halves = [hits[: middle + 1], hits[middle:]]
    windows = [window_document(Window("a", half[0].index, half[-1].index, tuple(half)), held) for half in halves]
    assert merge_windows(windows) == [window_document(Window("a", 0, len(hits) - 1, tuple(hits)), held)]


@pytest.mark.slow
def test_a_long_chain_of_windows_is_merged_in_one_go() -> None:
    held = sentences_of(Document(page_content="It is so. " * 5_000, id="a"))
    ordered = [Hit("a", index, 0, len(held), 0.5) for index in range(len(held))]
    windows = [Window("a", at, at + 2, tuple(ordered[at : at + 3])) for at in range(len(held) - 2)]
    [merged] = merge_windows(window_document(each, held) for each in reversed(windows))
    assert merged == window_document(Window("a", 0, len(held) - 1, tuple(ordered)), held)


def test_windows_of_inline_splitters_and_of_stores_agree() -> None:
    """With an inline window the kind of the other sentences isn't known, but their places are."""
    given_ = [replace(SENTENCES[PAGED, index], kind="", lead_in=None) for index in (1, 2)]
    inline = window_document(Window(PAGED, 1, 2, (as_hit(given_[0], 0.5),)), by_key(given_))
    assert merge_windows([inline, cut(PAGED, 2, 3, {3: 0.9})]) == [cut(PAGED, 1, 3, {1: 0.5, 3: 0.9})]


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


NOT_WINDOWS: list[tuple[Callable[[], Any], str]] = [
    (lambda: cut("rules", 1, 2, {1: 0.5}), r"windows is a single Document; give a list of them: \[window\]"),
    (lambda: "A refund.", "windows is 'A refund.'; give a list"),
    (lambda: None, "windows is None; give a list"),
    (lambda: {"a": 1}, "windows is {'a': …}; give a list"),
    (
        lambda: [[cut("rules", 1, 2, {1: 0.5})]],
        r"windows\[0\] is \[a Document\]; give one list of Documents",
    ),
    (lambda: [cut("rules", 1, 2, {1: 0.5}), "x"], r"windows\[1\] is 'x'; give a Document, as a retriever returns"),
]


@pytest.mark.parametrize(("make", "message"), NOT_WINDOWS)
def test_what_is_no_list_of_documents_is_named(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        merge_windows(make())


async def test_it_is_a_step_of_a_chain() -> None:
    step: Any = RunnableLambda(merge_windows)
    given_ = [cut("rules", 1, 2, {1: 0.5}), cut("rules", 2, 3, {3: 0.5})]
    assert step.invoke(given_) == await step.ainvoke(given_) == [cut("rules", 1, 3, {1: 0.5, 3: 0.5})]
    assert step.invoke([]) == []
