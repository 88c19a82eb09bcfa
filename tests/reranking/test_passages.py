"""Passages of texts that are longer than a model reads."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.reranking.reranker import passages


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def text_of(sizes: list[int]) -> tuple[str, list[tuple[int, int]]]:
    """Sentences of so many words, and their spans."""
    sentences, at = [], 0
    spans = []
    for size in sizes:
        sentence = " ".join(["w"] * (size - 1) + ["w."])
        spans.append((at, at + len(sentence)))
        at += len(sentence) + 1
        sentences.append(sentence)
    return " ".join(sentences), spans


def test_a_hit_has_its_neighbors_on_both_sides_and_the_rest_is_read_too() -> None:
    text, spans = text_of([3] * 7)
    # Three sentences of 3 words, and one more word between them and the next: 3 + 1 + 3 + 1 + 3 = 11.
    found = passages(text, spans, [spans[3]], words, 11)
    assert found == [(spans[0][0], spans[1][1]), (spans[2][0], spans[4][1]), (spans[5][0], spans[6][1])]


def test_hits_that_fit_together_share_a_passage() -> None:
    text, spans = text_of([3] * 7)
    assert (spans[2][0], spans[4][1]) in passages(text, spans, [spans[4], spans[2]], words, 11)
    assert len(passages(text, spans, [spans[0], spans[6]], words, 11)) == 3


def test_a_sentence_too_long_is_cut_between_words() -> None:
    text, spans = text_of([20])
    found = passages(text, spans, spans, words, 5)
    assert [len(text[start:end].split()) for start, end in found] == [5, 5, 5, 5]


def test_nothing_has_no_passages() -> None:
    assert passages(" \n", [], [], words, 5) == []


@given(st.data(), st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 12))
def test_every_word_is_read_and_every_passage_fits(data: st.DataObject, sizes: list[int], most: int) -> None:
    text, spans = text_of(sizes)
    hits = data.draw(st.lists(st.sampled_from(spans), max_size=4))
    found = passages(text, spans, hits, words, most)
    read = set().union(*(range(start, end) for start, end in found))
    assert read >= {i for i, character in enumerate(text) if not character.isspace()}
    assert found == sorted(set(found))
    assert all(len(text[start:end].split()) <= most for start, end in found)
    for hit in hits:
        if len(text[slice(*hit)].split()) <= most:
            assert any(start <= hit[0] and hit[1] <= end for start, end in found)
